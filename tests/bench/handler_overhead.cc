// What the binder costs a unary call above a bare callback echo: CPU of the server process, by its
// process clock. The bare server, the same again as the A/A control, a bare one that hands each
// call to another thread, and a bound one whose handler runs inline or on a pool are in one child
// process and are called in turns; the client is the parent. Prints medians over the rounds.
//
//   bench_handler_overhead [--rounds N] [--calls N]
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/child_server.h"
#include "tests/bench/measure.h"
#include "tests/support/grpc/echo_server.h"

namespace winnow::bench {
namespace {

using test::EchoOptions;
using test::EchoServer;
namespace echo = test::echo;

// The least that a change of threads can cost: one other thread, a queue, a wake-up.
class OtherThread {
 public:
  OtherThread() : thread_([this] { Run(); }) {}
  ~OtherThread() {
    Push({});
    thread_.join();
  }
  // An empty one ends the thread.
  void Push(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

 private:
  void Run() {
    while (true) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!job) return;
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::thread thread_;
};

class BareEcho final : public echo::EchoService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context,
                                 const echo::PingRequest* request,
                                 echo::PingResponse* response) override {
    response->set_text(request->text());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* Store(grpc::CallbackServerContext* context,
                                  const echo::StoreRequest* request,
                                  echo::StoreResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    other_.Push([request, response, reactor] {
      response->set_text(request->text());
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

 private:
  OtherThread other_;
};

struct BareServer {
  BareServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
  }
  BareEcho service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

int Serve() {
  const BareServer first;
  const BareServer second;
  EchoServer bound{EchoOptions()};
  ServeUntilInputEnds({first.port, second.port, bound.server().port()});
  return 0;
}

struct PingCall {
  echo::PingRequest request;
  echo::PingResponse response;
  void Start(echo::EchoService::Stub& stub, grpc::ClientContext& context,
             std::function<void(grpc::Status)> done) {
    stub.async()->Ping(&context, &request, &response, std::move(done));
  }
};

struct StoreCall {
  echo::StoreRequest request;
  echo::StoreResponse response;
  void Start(echo::EchoService::Stub& stub, grpc::ClientContext& context,
             std::function<void(grpc::Status)> done) {
    stub.async()->Store(&context, &request, &response, std::move(done));
  }
};

// `calls` calls, `in_flight` at a time.
template <class Call>
class Load {
 public:
  Load(echo::EchoService::Stub& stub, int calls, int in_flight)
      : stub_(stub), left_(calls), running_(in_flight), slots_(static_cast<size_t>(in_flight)) {}

  void Run() {
    for (Slot& slot : slots_) Next(slot);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    if (failed_ != 0) throw std::runtime_error("calls failed");
  }

 private:
  struct Slot {
    std::unique_ptr<grpc::ClientContext> context;
    Call call;
  };

  void Next(Slot& slot) {
    if (left_.fetch_sub(1) <= 0) {
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) done_.notify_all();
      return;
    }
    slot.context = std::make_unique<grpc::ClientContext>();
    slot.context->set_wait_for_ready(true);
    slot.call.request.set_text("what is said is what is heard, over and over and over again");
    slot.call.Start(stub_, *slot.context, [this, &slot](const grpc::Status& status) {
      if (!status.ok()) ++failed_;
      Next(slot);
    });
  }

  echo::EchoService::Stub& stub_;
  std::atomic<int> left_;
  std::mutex mutex_;
  std::condition_variable done_;
  int running_;
  std::atomic<int> failed_ = 0;
  std::vector<Slot> slots_;
};

struct Variant {
  const char* name;
  std::unique_ptr<echo::EchoService::Stub> stub;
  bool pooled = false;
  std::vector<double> micros;

  void Run(int calls, int in_flight) {
    if (pooled) {
      Load<StoreCall>(*stub, calls, in_flight).Run();
    } else {
      Load<PingCall>(*stub, calls, in_flight).Run();
    }
  }
};

std::unique_ptr<echo::EchoService::Stub> StubOf(int port) {
  return echo::EchoService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
}

void Measure(const ChildServer& child, int in_flight, int calls, int rounds) {
  std::array<Variant, 5> variants = {{{"bare", StubOf(child.ports()[0]), false, {}},
                                      {"bare again", StubOf(child.ports()[1]), false, {}},
                                      {"bare, other thread", StubOf(child.ports()[0]), true, {}},
                                      {"bound, inline", StubOf(child.ports()[2]), false, {}},
                                      {"bound, pool", StubOf(child.ports()[2]), true, {}}}};
  for (Variant& variant : variants) variant.Run(calls / 4, in_flight);  // warm
  for (int round = 0; round < rounds; ++round) {
    for (Variant& variant : variants) {
      const double before = child.CpuMicros();
      variant.Run(calls, in_flight);
      variant.micros.push_back((child.CpuMicros() - before) / calls);
    }
  }
  const double bare = Median(variants[0].micros);
  for (const Variant& variant : variants) {
    const double cost = Median(variant.micros);
    std::printf("%4d in flight, %-18s %7.2f us  %5.2fx  %+7.2f us\n", in_flight, variant.name, cost,
                cost / bare, cost - bare);
  }
}

int Main(const std::vector<std::string>& arguments) {
  int rounds = 7;
  int calls = 20'000;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--rounds") rounds = std::stoi(arguments[i + 1]);
    if (arguments[i] == "--calls") calls = std::stoi(arguments[i + 1]);
  }
  const ChildServer child(3);
  std::printf("server CPU a call, medians of %d rounds of %d calls\n", rounds, calls);
  Measure(child, 64, calls, rounds);
  Measure(child, 1, calls, rounds);
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
    std::cerr << "bench_handler_overhead: " << e.what() << "\n";
    return 1;
  }
}
