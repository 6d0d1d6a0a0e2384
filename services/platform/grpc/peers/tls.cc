#include "services/platform/grpc/peers/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "services/platform/process/file.h"

namespace winnow::rpc {
namespace {

constexpr size_t kMaxPemBytes = size_t{1} << 20;

struct Files {
  std::string certificate;
  std::string key;
  std::string authorities;  // empty when there is no client_ca_file
};

StatusOr<std::string> ReadPem(const std::string& path, std::string_view field,
                              std::string_view marker) {
  StatusOr<std::string> pem = ReadFile(path, kMaxPemBytes);
  if (!pem.ok()) {
    return InvalidField(std::string(field), "cannot read " + path + ": " + Message(pem.status()));
  }
  if (pem->find(marker) == std::string::npos) {
    return InvalidField(std::string(field),
                        path + " contains no PEM block \"" + std::string(marker) + "...\"");
  }
  return pem;
}

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;

Bio BioOf(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// In place of OpenSSL's own, which asks the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

std::unique_ptr<X509, Free> CertificateOf(const std::string& pem) {
  const Bio bio = BioOf(pem);
  return std::unique_ptr<X509, Free>(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
}

// Of what does not fit together gRPC says no more than that it cannot listen.
Status CheckFit(const config::v1::Tls& tls, const Files& files) {
  const auto certificate = CertificateOf(files.certificate);
  if (!certificate) {
    return InvalidField("tls.cert_file", tls.cert_file() + " begins with no readable certificate");
  }
  const Bio bio = BioOf(files.key);
  const std::unique_ptr<EVP_PKEY, Free> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (!key) {
    return InvalidField("tls.key_file", tls.key_file() +
                                            " contains no readable private key (one with a "
                                            "password cannot)");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return InvalidField("tls.key_file", tls.key_file() + " is not the key of the certificate in " +
                                            tls.cert_file() +
                                            ": give the two that belong together");
  }
  return OkStatus();
}

StatusOr<std::string> ReadAuthorities(const std::string& path, std::string_view field) {
  WINNOW_ASSIGN_OR_RETURN(std::string pem, ReadPem(path, field, "-----BEGIN CERTIFICATE"));
  const bool readable = CertificateOf(pem) != nullptr;
  ERR_clear_error();  // of this thread, for the next caller
  if (!readable) {
    return InvalidField(std::string(field), path + " begins with no readable certificate");
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
    WINNOW_ASSIGN_OR_RETURN(files.authorities,
                            ReadAuthorities(tls.client_ca_file(), "tls.client_ca_file"));
  }
  const Status fit = CheckFit(tls, files);
  ERR_clear_error();  // of this thread, for the next caller
  WINNOW_RETURN_IF_ERROR(fit);
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
    const config::v1::Config& config) {
  const std::string& ca_file = config.peers().ca_file();
  if (IsUnset(config.tls()) && ca_file.empty()) return grpc::InsecureChannelCredentials();
  Files files;
  if (!IsUnset(config.tls())) {
    WINNOW_ASSIGN_OR_RETURN(files, ReadFiles(config.tls()));
  }
  if (!ca_file.empty()) {
    WINNOW_ASSIGN_OR_RETURN(files.authorities, ReadAuthorities(ca_file, "peers.ca_file"));
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(files.authorities);
  options.pem_private_key = std::move(files.key);
  options.pem_cert_chain = std::move(files.certificate);
  return grpc::SslCredentials(options);
}

}  // namespace winnow::rpc
