// A thousand watchers of one feed while articles come at 20 a second: from the call that stores an
// article to its delivery. A tenth of the watchers is cut off on the way and resumes: nobody misses
// an article or gets one twice. The floor is a bare server that writes the same bytes to as many
// streams at the same pace, before and after (A/A).
//
//   bench_newsfeed_watch [WATCHERS] [SECONDS]
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "services/platform/base/timestamp.h"
#include "tests/bench/measure.h"
#include "tests/bench/newsfeed/feed_world.h"
#include "tests/bench/raw_load.h"
#include "tests/support/sync/eventually.h"

namespace winnow::bench {
namespace {

namespace v1 = newsfeed::v1;
using std::chrono::steady_clock;

constexpr int kConnections = 20;
constexpr std::chrono::milliseconds kPace(50);
constexpr int kCutEvery = 10;  // of so many watchers one is cut off

// The pace of a load is a time that has to come.
void Await(steady_clock::time_point time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable never;
  never.wait_until(lock, time, [] { return false; });
}

// When each article was sent, by its id.
class SendTimes {
 public:
  void Note(const std::string& id) {
    const std::lock_guard lock(mutex_);
    times_[id] = steady_clock::now();
  }
  double MillisSince(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = times_.find(id);
    if (found == times_.end()) return 0;
    return std::chrono::duration<double, std::milli>(steady_clock::now() - found->second).count();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, steady_clock::time_point> times_;
};

// One watcher, which goes on with its last token when it is cut off.
class Watcher final : public grpc::ClientReadReactor<v1::WatchArticlesResponse> {
 public:
  Watcher(v1::NewsFeedService::Stub& stub, SendTimes& times) : stub_(stub), times_(times) {
    Begin();
  }

  void Cut() {
    const std::lock_guard lock(mutex_);
    context_->TryCancel();
  }
  void Stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    context_->TryCancel();
    ended_.wait(lock, [this] { return done_; });
  }
  bool ready() const { return ready_; }
  size_t received() {
    const std::lock_guard lock(mutex_);
    return ids_.size();
  }
  std::vector<std::string> ids() {
    const std::lock_guard lock(mutex_);
    return ids_;
  }
  std::vector<double> millis() {
    const std::lock_guard lock(mutex_);
    return millis_;
  }

 private:
  void Begin() {
    v1::WatchArticlesRequest request;
    request.set_resume_token(token_);
    request_ = request;
    context_ = std::make_unique<grpc::ClientContext>();
    stub_.async()->WatchArticles(context_.get(), &request_, this);
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const std::lock_guard lock(mutex_);
      token_ = response_.resume_token();
      if (response_.has_article()) {
        const std::string& id = response_.article().article().id();
        millis_.push_back(times_.MillisSince(id));
        ids_.push_back(id);
      }
    }
    ready_ = true;
    StartRead(&response_);
  }
  void OnDone(const grpc::Status&) override {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      done_ = true;
      ended_.notify_all();
    } else {
      Begin();
    }
  }

  v1::NewsFeedService::Stub& stub_;
  SendTimes& times_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::unique_ptr<grpc::ClientContext> context_;
  v1::WatchArticlesRequest request_;
  v1::WatchArticlesResponse response_;
  std::string token_;
  std::vector<std::string> ids_;
  std::vector<double> millis_;
  std::atomic<bool> ready_ = false;
  bool stopping_ = false;
  bool done_ = false;
};

// The floor: whatever is published is written to every stream.
class BareService final : public v1::NewsFeedService::CallbackService {
 public:
  void Publish(const v1::WatchArticlesResponse& response) {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) stream->Send(response);
  }

 private:
  class Stream final : public grpc::ServerWriteReactor<v1::WatchArticlesResponse> {
   public:
    explicit Stream(BareService& service) : service_(service) {
      const std::lock_guard lock(service.mutex_);
      service.streams_.push_back(this);
      Send({});
    }
    void Send(const v1::WatchArticlesResponse& response) {
      const std::lock_guard lock(mutex_);
      if (finished_) return;
      queue_.push_back(response);
      if (queue_.size() == 1) StartWrite(&queue_.front());
    }

   private:
    void OnWriteDone(bool) override {
      const std::lock_guard lock(mutex_);
      queue_.pop_front();
      if (!queue_.empty() && !finished_) StartWrite(&queue_.front());
    }
    void OnCancel() override {
      {
        const std::lock_guard lock(service_.mutex_);
        service_.streams_.remove(this);
      }
      const std::lock_guard lock(mutex_);
      finished_ = true;
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

    BareService& service_;
    std::mutex mutex_;
    std::list<v1::WatchArticlesResponse> queue_;
    bool finished_ = false;
  };
  grpc::ServerWriteReactor<v1::WatchArticlesResponse>* WatchArticles(
      grpc::CallbackServerContext*, const v1::WatchArticlesRequest*) override {
    return new Stream(*this);
  }

  std::mutex mutex_;
  std::list<Stream*> streams_;
};

struct Leg {
  std::vector<double> millis;
  int faulty = 0;  // watchers that missed an article, or got one twice
};

// `send` makes the article of an id known to all watchers.
Leg Run(const std::string& address, int watchers, int articles, bool cut, SendTimes& times,
        const std::function<void(const v1::Article&)>& send) {
  std::vector<std::unique_ptr<v1::NewsFeedService::Stub>> stubs;
  for (const auto& channel : ConnectTo(address, kConnections)) {
    stubs.push_back(v1::NewsFeedService::NewStub(channel));
  }
  std::vector<std::unique_ptr<Watcher>> all;
  for (int i = 0; i < watchers; ++i) {
    all.push_back(std::make_unique<Watcher>(*stubs[static_cast<size_t>(i) % stubs.size()], times));
  }
  for (auto& watcher : all) {
    if (!test::Eventually([&] { return watcher->ready(); })) throw std::runtime_error("no watch");
  }
  static int made = 0;
  std::vector<std::string> sent;
  const std::vector<v1::Article> stories = MakeArticles(articles);
  auto next = steady_clock::now();
  for (v1::Article article : stories) {
    article.set_id("watched-" + std::to_string(made++));
    article.set_url("https://watched.example/" + article.id());
    sent.push_back(article.id());
    Await(next += kPace);
    times.Note(article.id());
    send(article);
    if (!cut || std::ssize(sent) != articles / 2) continue;
    for (size_t i = 0; i < all.size(); i += kCutEvery) all[i]->Cut();
  }
  Leg leg;
  for (size_t i = 0; i < all.size(); ++i) {
    test::Eventually([&] { return all[i]->received() >= sent.size(); });
    all[i]->Stop();
    if (all[i]->ids() != sent) ++leg.faulty;
    if (cut && i % kCutEvery == 0) continue;  // what it got late was late by the cut
    for (const double value : all[i]->millis()) leg.millis.push_back(value);
  }
  return leg;
}

Leg RunBare(int watchers, int articles) {
  BareService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  SendTimes times;
  return Run("127.0.0.1:" + std::to_string(port), watchers, articles, false, times,
             [&](const v1::Article& article) {
               v1::WatchArticlesResponse response;
               *response.mutable_article()->mutable_article() = article;
               response.set_resume_token(std::string(60, 't'));
               service.Publish(response);
             });
}

void Print(const char* name, const Leg& leg) {
  std::printf(
      "%-28s p50 %7.1f ms  p99 %7.1f ms  most %7.1f ms  %zu deliveries, %d watchers wrong\n", name,
      Quantile(leg.millis, 0.5), Quantile(leg.millis, 0.99), Quantile(leg.millis, 1.0),
      leg.millis.size(), leg.faulty);
}

int Main(int watchers, int seconds) {
  const int articles = seconds * 20;
  const Leg floor = RunBare(watchers, articles);
  Leg ours;
  {
    FeedProcess process(NewFeedDatabase());
    process.Store(MakeArticles(1'000));
    SendTimes times;
    ours = Run(process.address(), watchers, articles, true, times,
               [&](const v1::Article& article) { process.Store({article}); });
  }
  const Leg again = RunBare(watchers, articles);
  std::printf(
      "%d watchers, 20 articles a second for %d s, server and watchers in one process; "
      "bar: p99 < 100 ms, nobody wrong\n",
      watchers, seconds);
  Print("bare streams", floor);
  Print("WatchArticles", ours);
  Print("bare streams again (A/A)", again);
  return ours.faulty == 0 ? 0 : 1;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  try {
    const int watchers = argc > 1 ? std::max(10, std::atoi(argv[1])) : 1'000;
    return winnow::bench::Main(watchers, argc > 2 ? std::max(1, std::atoi(argv[2])) : 20);
  } catch (const std::exception& e) {
    std::cerr << "bench_newsfeed_watch: " << e.what() << "\n";
    return 1;
  }
}
