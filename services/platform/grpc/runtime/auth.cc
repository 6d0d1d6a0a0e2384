#include "services/platform/grpc/runtime/auth.h"

#include <algorithm>
#include <random>
#include <utility>

#include "services/platform/base/ascii.h"
#include "services/platform/base/hash.h"

namespace winnow::rpc {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr std::string_view kLowerScheme = "bearer ";  // of HTTP, whose schemes have no case
constexpr size_t kMinTokenLength = 16;
constexpr size_t kMaxTokenLength = 512;

// Takes the same time wherever the two differ. Their lengths are not secret.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  volatile unsigned char result = difference;  // keeps the loop from ending early
  return result == 0;
}

bool HasScheme(std::string_view header) {
  return header.size() > kScheme.size() && StartsWithAnyCase(header, kLowerScheme);
}

std::string RandomSecret() {
  std::random_device device;  // the system's generator, not a seeded one
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    const uint32_t word = device();
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xff);
  }
  return Hex(bytes);
}

}  // namespace

Auth::Auth(std::string bearer_token)
    : bearer_(bearer_token.empty() ? "" : std::string(kScheme) + std::move(bearer_token)),
      in_process_(std::string(kScheme) + "inprocess-" + RandomSecret()) {}

std::string_view Auth::CallerOf(std::string_view authorization) const {
  if (!HasScheme(authorization)) return "";
  const std::string_view token = authorization.substr(kScheme.size());
  if (SameSecret(token, std::string_view(in_process_).substr(kScheme.size()))) return "inprocess";
  if (!bearer_.empty() && SameSecret(token, std::string_view(bearer_).substr(kScheme.size()))) {
    return "bearer";
  }
  return "";
}

StatusOr<std::string> CheckBearerToken(std::string token) {
  const bool visible =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (token.size() < kMinTokenLength || token.size() > kMaxTokenLength || !visible) {
    return InvalidField("auth.bearer_token_file",
                        "must hold one line of 16 to 512 visible ASCII characters without spaces; "
                        "make one with: openssl rand -hex 32");
  }
  return token;
}

}  // namespace winnow::rpc
