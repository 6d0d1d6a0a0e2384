#include "services/platform/grpc/server/unparsed_request.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <utility>

#include "services/platform/base/status.h"
#include "services/platform/grpc/errors/error_exit.h"

namespace winnow::rpc {
namespace {

using google::protobuf::DescriptorPool;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// "/package.Service/Method"
bool HasMethod(const std::set<std::string>& services, std::string path) {
  path.erase(0, 1);
  std::replace(path.begin(), path.end(), '/', '.');
  const auto* method = DescriptorPool::generated_pool()->FindMethodByName(path);
  return method != nullptr && services.contains(method->service()->full_name());
}

class Teller final : public grpc::experimental::Interceptor {
 public:
  Teller(const std::set<std::string>& services, const ServerRpcInfo& call)
      : services_(services), call_(call) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::Status status = methods->GetSendStatus();
      // No handler of ours answers so.
      if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED &&
          status.error_message().empty() && HasMethod(services_, call_.method())) {
        methods->ModifySendStatus(
            ToGrpcStatus(InvalidField("",
                                      "the bytes are not a message of this method's request type: "
                                      "texts must be UTF-8, fields of the types of this API"),
                         ""));
      }
    }
    methods->Proceed();
  }

 private:
  const std::set<std::string>& services_;
  const ServerRpcInfo& call_;
};

class TellerFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit TellerFactory(std::set<std::string> services) : services_(std::move(services)) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* call) override {
    return new Teller(services_, *call);  // gRPC owns it
  }

 private:
  const std::set<std::string> services_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
UnparsedRequestTellers(std::set<std::string> services) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> tellers;
  tellers.push_back(std::make_unique<TellerFactory>(std::move(services)));
  return tellers;
}

}  // namespace winnow::rpc
