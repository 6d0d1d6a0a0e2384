#include "services/platform/postgres/url.h"

#include <libpq-fe.h>

#include <map>
#include <memory>
#include <optional>

namespace winnow::pg {
namespace {

constexpr char kPooling[] = "pooling";

struct InfoFree {
  void operator()(PQconninfoOption* info) const { PQconninfoFree(info); }
};

// Cuts `pooling=value` out of the text and answers the value. `separators`: what may stand around.
std::optional<std::string> TakePooling(std::string& text, size_t from, const char* separators) {
  const std::string key = std::string(kPooling) + "=";
  const std::string around(separators);
  for (size_t at = text.find(key, from); at != std::string::npos; at = text.find(key, at + 1)) {
    if (at != 0 && around.find(text[at - 1]) == std::string::npos) continue;
    const size_t value_at = at + key.size();
    const size_t end = std::min(text.find_first_of(around, value_at), text.size());
    const std::string value = text.substr(value_at, end - value_at);
    const bool last = end == text.size();
    // With it goes one separator, so that neither "?&" nor a trailing "&" is left.
    text.erase(at, end - at + (last ? 0 : 1));
    if (last && at > 0) text.erase(at - 1, 1);
    return value;
  }
  return std::nullopt;
}

bool IsUrl(const std::string& text) {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

std::string Quoted(const std::string& value) {
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

// A dead peer is noticed in some 20 s although nothing is sent.
const std::map<std::string, std::string>& Defaults() {
  static const std::map<std::string, std::string> defaults = {
      {"connect_timeout", "5"},
      {"keepalives_idle", "10"},
      {"keepalives_interval", "3"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "15000"},
      {"client_encoding", "UTF8"},
      {"fallback_application_name", "winnow"}};
  return defaults;
}

}  // namespace

StatusOr<ConnectionSettings> ParseUrl(const std::string& url, const std::string& password,
                                      const std::string& application_name) {
  std::string text = url;
  std::optional<std::string> pooling;
  if (!IsUrl(text)) {
    pooling = TakePooling(text, 0, " \t\n");
  } else if (const size_t query = text.find('?'); query != std::string::npos) {
    pooling = TakePooling(text, query, "?&");
  }
  if (pooling && *pooling != "transaction" && *pooling != "session") {
    return FailedPrecondition("pooling in the PostgreSQL URL must be `transaction` or `session`");
  }
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, InfoFree> info(PQconninfoParse(text.c_str(), &error));
  if (!info) {
    PQfreemem(error);  // quotes the URL
    return FailedPrecondition(
        "the PostgreSQL URL cannot be read: it must look like "
        "postgres://user@host:5432/database?sslmode=verify-full");
  }
  std::map<std::string, std::string> keywords = Defaults();
  if (!application_name.empty()) keywords["application_name"] = application_name;
  if (!password.empty()) keywords["password"] = password;
  for (const PQconninfoOption* option = info.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) keywords[option->keyword] = option->val;
  }
  ConnectionSettings settings;
  for (const auto& [key, value] : keywords) {
    settings.conninfo += (settings.conninfo.empty() ? "" : " ") + key + "=" + Quoted(value);
  }
  settings.transaction_pooling = pooling == "transaction";
  return settings;
}

}  // namespace winnow::pg
