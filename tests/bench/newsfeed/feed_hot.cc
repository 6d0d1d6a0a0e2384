// The hot page, 20 articles, against a raw-method echo of the same bytes: CPU of the server process
// a request, by its process clock. The echo, the same again (the A/A control) and the service are
// in one child process, with a thousand articles in memory, and are called in turns; the client is
// the parent and parses nothing. Medians over the rounds.
//
//   bench_newsfeed_hot [--rounds N] [--calls N]
#include <grpcpp/grpcpp.h>

#include <array>
#include <cstdio>
#include <iostream>

#include "tests/bench/child_server.h"
#include "tests/bench/measure.h"
#include "tests/bench/newsfeed/feed_world.h"
#include "tests/bench/raw_load.h"
#include "tests/support/postgres/postgres.h"

namespace winnow::bench {
namespace {

namespace v1 = newsfeed::v1;

constexpr int kArticles = 1'000;
constexpr double kBar = 1.3;

// Answers every call with the same bytes.
class Echo final : public v1::NewsFeedService::WithRawCallbackMethod_ListArticles<
                       v1::NewsFeedService::CallbackService> {
 public:
  explicit Echo(const std::string& bytes) : slice_(bytes) {}

 private:
  grpc::ServerUnaryReactor* ListArticles(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer*,
                                         grpc::ByteBuffer* response) override {
    *response = grpc::ByteBuffer(&slice_, 1);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const grpc::Slice slice_;
};

struct EchoServer {
  explicit EchoServer(const std::string& bytes) : service(bytes) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
  }
  Echo service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

v1::ListArticlesRequest FirstPage() {
  v1::ListArticlesRequest request;
  request.set_page_size(20);
  return request;
}

int Serve() {
  FeedProcess process(NewFeedDatabase());
  process.Store(MakeArticles(kArticles));
  const std::string page = process.AwaitHotPage(FirstPage());
  const EchoServer first(page);
  const EchoServer second(page);
  const std::string& address = process.address();
  ServeUntilInputEnds({first.port, second.port, std::stoi(address.substr(address.rfind(':') + 1))});
  return 0;
}

struct Variant {
  const char* name;
  int port;
  std::vector<double> micros{};
};

void Measure(const ChildServer& child, int in_flight, int channels, int calls, int rounds) {
  std::array<Variant, 3> variants = {{{"raw echo of the same bytes", child.ports()[0]},
                                      {"the same again (A/A)", child.ports()[1]},
                                      {"ListArticles out of memory", child.ports()[2]}}};
  std::vector<RawLoad> loads;
  for (const Variant& variant : variants) {
    loads.emplace_back(ConnectTo("127.0.0.1:" + std::to_string(variant.port), channels),
                       kListMethod, FirstPage().SerializeAsString());
    if (loads.back().Run(calls / 4, in_flight).failed > 0) throw std::runtime_error("calls failed");
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < variants.size(); ++i) {
      const double before = child.CpuMicros();
      if (loads[i].Run(calls, in_flight).answered != calls) {
        throw std::runtime_error("calls failed");
      }
      variants[i].micros.push_back((child.CpuMicros() - before) / calls);
    }
  }
  std::printf("%d in flight over %d connections\n", in_flight, channels);
  const double floor = Median(variants[0].micros);
  for (const Variant& variant : variants) {
    const double cost = Median(variant.micros);
    std::printf("  %-28s %7.2f us %6.2fx\n", variant.name, cost, cost / floor);
  }
}

int Main(const std::vector<std::string>& arguments) {
  int rounds = 9;
  int calls = 30'000;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--rounds") rounds = std::stoi(arguments[i + 1]);
    if (arguments[i] == "--calls") calls = std::stoi(arguments[i + 1]);
  }
  const ChildServer child(3);
  RawLoad ours(ConnectTo("127.0.0.1:" + std::to_string(child.ports()[2]), 1), kListMethod,
               FirstPage().SerializeAsString());
  v1::ListArticlesResponse page;
  if (!page.ParseFromString(ours.Ask()) || page.articles_size() != 20) {
    throw std::runtime_error("no page of 20");
  }
  std::printf(
      "a hot page of %d articles, %zu bytes: server CPU a request, medians of %d rounds of "
      "%d; bar <= %.2fx\n",
      page.articles_size(), page.ByteSizeLong(), rounds, calls, kBar);
  Measure(child, 64, 4, calls, rounds);
  Measure(child, 1, 1, calls / 6, rounds);
  return 0;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments == std::vector<std::string>{"--serve"}) return winnow::bench::Serve();
    return winnow::bench::Main(arguments);
  } catch (const std::exception& e) {
    std::cerr << "bench_newsfeed_hot: " << e.what() << "\n";
    return 1;
  }
}
