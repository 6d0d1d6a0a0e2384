#include "services/app/commands/remote_options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

namespace winnow::app {
namespace {

constexpr double kMaxTimeoutSeconds = 3600;

}  // namespace

void AddRemoteOptions(CLI::App& command, RemoteOptions& options) {
  command.add_option("--address", options.address, "HOST:PORT of the server")
      ->capture_default_str()
      ->envname("WINNOW_ADDRESS")
      ->group("Server");
  command.add_option("--token-file", options.token_file, "file of the bearer token")
      ->group("Server");
  command.add_flag("--tls", options.tls, "speak TLS, trusting the system's authorities")
      ->group("Server");
  command.add_option("--ca-file", options.ca_file, "speak TLS, trusting this PEM file")
      ->group("Server");
  auto* cert = command.add_option("--cert-file", options.cert_file, "own certificate (mTLS)");
  auto* key = command.add_option("--key-file", options.key_file, "its private key");
  cert->needs(key)->group("Server");
  key->needs(cert)->group("Server");
  command.add_option("--timeout", options.timeout_seconds, "seconds a call may take")
      ->capture_default_str()
      ->check(CLI::Range(0.001, kMaxTimeoutSeconds))
      ->group("Server");
}

void AddRedisOptions(CLI::App& command, RedisSource& source) {
  command.add_option("--redis", source.url, "redis://HOST:PORT/DB or redis+unix:///PATH")
      ->required();
  command.add_option("--redis-password-file", source.password_file, "file of its password");
}

}  // namespace winnow::app
