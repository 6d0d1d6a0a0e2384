#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace winnow::bench {

// What became of a number of calls.
struct LoadResult {
  int answered = 0;
  int refused = 0;               // RESOURCE_EXHAUSTED: come back later
  int failed = 0;                // anything else
  std::string error;             // the first of these
  std::vector<double> millis{};  // of the answered ones, in the order they ended
};

// Unary calls of one method with one request, whose answers nobody parses.
class RawLoad {
 public:
  RawLoad(std::vector<std::shared_ptr<grpc::Channel>> channels, std::string method,
          const std::string& request);
  ~RawLoad();

  // `calls` calls, `in_flight` at a time, spread over the channels; returns when all have ended.
  LoadResult Run(int calls, int in_flight,
                 std::chrono::milliseconds deadline = std::chrono::seconds(60));
  // The answer to one call. Ends the program when it fails.
  std::string Ask();

 private:
  class Calls;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  const std::string method_;
  const std::string request_;
};

// `count` connections of their own.
std::vector<std::shared_ptr<grpc::Channel>> ConnectTo(const std::string& address, int count);

// The value below which `share` of the values are.
double Quantile(std::vector<double> values, double share);

}  // namespace winnow::bench
