#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>

#include "services/app/client/canceller.h"
#include "services/app/client/interrupt.h"
#include "services/app/client/remote.h"

namespace winnow::app {

// The stub of a service, and the connection that it uses.
template <class Service>
class Client {
 public:
  using Stub = typename Service::Stub;
  template <class Request, class Response>
  using Unary = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);
  template <class Request, class Response>
  using Stream = std::unique_ptr<grpc::ClientReader<Response>> (Stub::*)(grpc::ClientContext*,
                                                                         const Request&);

  explicit Client(const Remote& remote)
      : remote_(remote), stub_(Service::NewStub(remote.channel())) {}
  // Errors: those of Remote::Connect().
  static StatusOr<Client> Connect(const RemoteOptions& options) {
    WINNOW_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(options));
    return Client(remote);
  }

  template <class Request, class Response>
  StatusOr<Response> Call(Unary<Request, Response> method, const Request& request) const {
    Response response;
    grpc::ClientContext context;
    remote_.PrepareCall(context);
    WINNOW_RETURN_IF_ERROR(ToStatus((stub_.get()->*method)(&context, request, &response)));
    return response;
  }

  // Reads a stream until it ends, `take` returns false or a signal comes. OK if `take` ended it;
  // CANCELLED after a signal.
  template <class Request, class Response, class Take>
  Status Follow(Stream<Request, Response> method, const Request& request,
                const Interrupt& interrupt, Take take) const {
    grpc::ClientContext context;
    remote_.PrepareStream(context);
    const auto stream = (stub_.get()->*method)(&context, request);
    bool wants_more = true;
    {
      const Canceller canceller(interrupt, context);
      for (Response response; wants_more && stream->Read(&response);) wants_more = take(response);
    }
    if (!wants_more) context.TryCancel();
    const Status ended = ToStatus(stream->Finish());
    return wants_more ? ended : OkStatus();
  }

  const Remote& remote() const { return remote_; }
  Stub& stub() const { return *stub_; }

 private:
  Remote remote_;
  std::unique_ptr<Stub> stub_;
};

// One call over a connection of its own.
template <class Service, class Request, class Response>
StatusOr<Response> CallOnce(const RemoteOptions& options,
                            grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                            const Request& request) {
  WINNOW_ASSIGN_OR_RETURN(const auto client, Client<Service>::Connect(options));
  return client.Call(method, request);
}

}  // namespace winnow::app
