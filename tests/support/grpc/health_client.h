#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

namespace winnow::test {

enum class Serving { kYes, kNo, kUnknown };

// grpc.health.v1.Health/Check. Throws std::runtime_error when the call fails otherwise than by
// "unknown service".
Serving CheckHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);

// Full service names by server reflection. Throws std::runtime_error when the call fails.
std::vector<std::string> ListServices(const std::shared_ptr<grpc::Channel>& channel);

// The answer to "which file describes this symbol?", as it travels; the file's name is in it.
// Throws std::runtime_error when the call fails.
std::string DescriptionOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& symbol);

}  // namespace winnow::test
