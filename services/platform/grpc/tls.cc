#include "services/platform/grpc/tls.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace winnow::rpc {
namespace {

struct Files {
  std::string certificate;
  std::string key;
  std::string authorities;  // empty when there is no client_ca_file
};

StatusOr<std::string> ReadPem(const std::string& path, std::string_view field,
                              std::string_view marker) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    return InvalidField(std::string(field), "cannot read " + path + ": " + std::strerror(errno));
  }
  std::string pem = std::move(text).str();
  if (pem.find(marker) == std::string::npos) {
    return InvalidField(std::string(field),
                        path + " holds no PEM block \"" + std::string(marker) + "...\"");
  }
  return pem;
}

StatusOr<Files> ReadFiles(const config::v1::Tls& tls) {
  if (tls.key_file().empty()) {
    return InvalidField("tls.key_file", "is needed with tls.cert_file");
  }
  Files files;
  WINNOW_ASSIGN_OR_RETURN(files.certificate,
                          ReadPem(tls.cert_file(), "tls.cert_file", "-----BEGIN CERTIFICATE"));
  WINNOW_ASSIGN_OR_RETURN(files.key, ReadPem(tls.key_file(), "tls.key_file", "-----BEGIN "));
  if (!tls.client_ca_file().empty()) {
    WINNOW_ASSIGN_OR_RETURN(files.authorities, ReadPem(tls.client_ca_file(), "tls.client_ca_file",
                                                       "-----BEGIN CERTIFICATE"));
  }
  return files;
}

bool IsUnset(const config::v1::Tls& tls) {
  return tls.cert_file().empty() && tls.key_file().empty() && tls.client_ca_file().empty();
}

}  // namespace

StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const config::v1::Tls& tls) {
  if (IsUnset(tls)) return grpc::InsecureServerCredentials();
  WINNOW_ASSIGN_OR_RETURN(Files files, ReadFiles(tls));
  grpc::SslServerCredentialsOptions options(
      files.authorities.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = std::move(files.authorities);
  options.pem_key_cert_pairs.push_back({std::move(files.key), std::move(files.certificate)});
  return grpc::SslServerCredentials(options);
}

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakePeerCredentials(
    const config::v1::Tls& tls) {
  if (IsUnset(tls)) return grpc::InsecureChannelCredentials();
  WINNOW_ASSIGN_OR_RETURN(Files files, ReadFiles(tls));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(files.authorities);
  options.pem_private_key = std::move(files.key);
  options.pem_cert_chain = std::move(files.certificate);
  return grpc::SslCredentials(options);
}

}  // namespace winnow::rpc
