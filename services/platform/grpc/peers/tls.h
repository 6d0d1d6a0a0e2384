#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "services/platform/base/status.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::rpc {

// What the port speaks: plain text when tls.cert_file is not set. Errors name the field and file.
StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const config::v1::Tls& tls);

// What calls to peers speak: TLS when `tls` or peers.ca_file is set. They are trusted by
// peers.ca_file (default: tls.client_ca_file, else the system's authorities) and shown our own
// certificate, if there is one.
StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakePeerCredentials(
    const config::v1::Config& config);

}  // namespace winnow::rpc
