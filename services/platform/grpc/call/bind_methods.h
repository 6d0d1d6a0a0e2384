#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>

#include "services/platform/grpc/call/binder.h"

// Overrides the methods of a generated CallbackService, each by the handler of the same name:
//
//   #define WINNOW_SERVICE "winnow.collector.v1.CollectorService"
//   class Service final : public v1::CollectorService::CallbackService {
//     ...
//     WINNOW_UNARY(GetItem, kRead, handlers_)
//    private:
//     rpc::Binder binder_;
//     Handlers& handlers_;
//   };
//
// The handlers' signatures are documented at the functions of rpc::Binder. Used by service.cc files
// and dead_letter_target.cc only.

// The full name of a method, and its lane.
#define WINNOW_METHOD(Name, lane)                             \
  static constexpr ::winnow::rpc::Method k##Name {            \
    WINNOW_SERVICE "/" #Name, ::winnow::rpc::MethodPool::lane \
  }

#define WINNOW_UNARY(Name, lane, handlers)                                                         \
  WINNOW_METHOD(Name, lane);                                                                       \
  ::grpc::ServerUnaryReactor* Name(::grpc::CallbackServerContext* context,                         \
                                   const v1::Name##Request* request, v1::Name##Response* response) \
      override {                                                                                   \
    return binder_.Unary(                                                                          \
        context, request, response, k##Name,                                                       \
        [this](const ::winnow::rpc::CallContext& call, const v1::Name##Request& received) {        \
          return handlers.Name(call, received);                                                    \
        });                                                                                        \
  }

#define WINNOW_DEFERRED(Name, lane, handlers)                                                      \
  WINNOW_METHOD(Name, lane);                                                                       \
  ::grpc::ServerUnaryReactor* Name(::grpc::CallbackServerContext* context,                         \
                                   const v1::Name##Request* request, v1::Name##Response* response) \
      override {                                                                                   \
    return binder_.Deferred(                                                                       \
        context, request, response, k##Name,                                                       \
        [this](const ::winnow::rpc::CallContext& call, const v1::Name##Request& received,          \
               ::winnow::rpc::Completion<v1::Name##Response> done) {                               \
          handlers.Name(call, received, std::move(done));                                          \
        });                                                                                        \
  }

#define WINNOW_WATCH(Name, lane, handlers)                                                 \
  WINNOW_METHOD(Name, lane);                                                               \
  ::grpc::ServerWriteReactor<v1::Name##Response>* Name(                                    \
      ::grpc::CallbackServerContext* context, const v1::Name##Request* request) override { \
    return binder_.Watch<v1::Name##Request, v1::Name##Response>(                           \
        context, request, k##Name,                                                         \
        [this](const ::winnow::rpc::CallContext& call, const v1::Name##Request& received,  \
               const ::winnow::rpc::Subscriber<v1::Name##Response>& subscriber) {          \
          return handlers.Name(call, received, subscriber);                                \
        });                                                                                \
  }

#define WINNOW_INGEST(Name, lane, handlers)                                               \
  WINNOW_METHOD(Name, lane);                                                              \
  ::grpc::ServerBidiReactor<v1::Name##Request, v1::Name##Response>* Name(                 \
      ::grpc::CallbackServerContext* context) override {                                  \
    return binder_.Ingest<v1::Name##Request, v1::Name##Response>(                         \
        context, k##Name, [this](const ::winnow::rpc::CallContext& call, auto requests) { \
          return handlers.Name(call, requests);                                           \
        });                                                                               \
  }

#define WINNOW_INGEST_AHEAD(Name, lane, handlers)                         \
  WINNOW_METHOD(Name, lane);                                              \
  ::grpc::ServerBidiReactor<v1::Name##Request, v1::Name##Response>* Name( \
      ::grpc::CallbackServerContext* context) override {                  \
    return binder_.IngestAhead<v1::Name##Request, v1::Name##Response>(    \
        context, k##Name,                                                 \
        [this](const ::winnow::rpc::CallContext& call, auto requests,     \
               const std::function<void()>& ready) {                      \
          return handlers.Name(call, requests, ready);                    \
        });                                                               \
  }
