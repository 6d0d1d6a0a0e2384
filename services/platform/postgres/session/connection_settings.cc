#include "services/platform/postgres/session/connection_settings.h"

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

using Keywords = std::map<std::string, std::string>;

struct ParsedUrl {
  Keywords keywords;
  bool transaction_pooling = false;
};

ConnectionSettings ToSettings(const Keywords& keywords, bool transaction_pooling) {
  ConnectionSettings settings;
  for (const auto& [key, value] : keywords) {
    settings.conninfo += (settings.conninfo.empty() ? "" : " ") + key + "=" + Quoted(value);
  }
  settings.transaction_pooling = transaction_pooling;
  return settings;
}

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t comma; (comma = list.find(',', from)) != std::string::npos; from = comma + 1) {
    parts.push_back(list.substr(from, comma - from));
  }
  parts.push_back(list.substr(from));
  return parts;
}

std::string NameOfHost(const Keywords& keywords) {
  const auto value = [&](const char* key) {
    const auto found = keywords.find(key);
    return found == keywords.end() ? std::string() : found->second;
  };
  const std::string host = value("host").empty() ? value("hostaddr") : value("host");
  const std::string port = value("port").empty() ? "5432" : value("port");
  return (host.empty() ? "local" : host) + ":" + port;
}

StatusOr<ParsedUrl> Parse(const std::string& url, const std::string& password,
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
  Keywords keywords = Defaults();
  if (!application_name.empty()) keywords["application_name"] = application_name;
  if (!password.empty()) keywords["password"] = password;
  for (const PQconninfoOption* option = info.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) keywords[option->keyword] = option->val;
  }
  return ParsedUrl{std::move(keywords), pooling == "transaction"};
}

}  // namespace

StatusOr<ConnectionSettings> ParseUrl(const std::string& url, const std::string& password,
                                      const std::string& application_name) {
  WINNOW_ASSIGN_OR_RETURN(const ParsedUrl parsed, Parse(url, password, application_name));
  return ToSettings(parsed.keywords, parsed.transaction_pooling);
}

StatusOr<std::vector<HostSettings>> ParseHosts(const std::string& url, const std::string& password,
                                               const std::string& application_name) {
  WINNOW_ASSIGN_OR_RETURN(const ParsedUrl parsed, Parse(url, password, application_name));
  std::vector<Keywords> each = {parsed.keywords};
  for (const char* key : {"host", "hostaddr", "port"}) {
    const auto found = parsed.keywords.find(key);
    if (found == parsed.keywords.end()) continue;
    const std::vector<std::string> values = SplitList(found->second);
    if (values.size() == 1) continue;  // of all of them
    if (each.size() == 1) each.assign(values.size(), parsed.keywords);
    if (values.size() != each.size() || values.size() > kMaxHosts) {
      return FailedPrecondition(
          "the PostgreSQL URL must name as many ports as hosts, or one, and "
          "at most " +
          std::to_string(kMaxHosts) + " hosts");
    }
    for (size_t i = 0; i < values.size(); ++i) each[i][key] = values[i];
  }
  std::vector<HostSettings> hosts;
  for (Keywords& keywords : each) {
    // Which of several hosts is the primary is not libpq's choice; a name with several addresses
    // leaves it to libpq.
    if (each.size() > 1) keywords.erase("target_session_attrs");
    hosts.push_back({NameOfHost(keywords), ToSettings(keywords, parsed.transaction_pooling)});
  }
  return hosts;
}

}  // namespace winnow::pg
