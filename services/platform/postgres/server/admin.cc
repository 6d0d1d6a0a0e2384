#include "services/platform/postgres/server/admin.h"

#include <libpq-fe.h>

#include <cctype>
#include <memory>

namespace winnow::pg {
namespace {

struct ConnectionCloser {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct ResultCloser {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, ConnectionCloser>;
using Result = std::unique_ptr<PGresult, ResultCloser>;

std::string PercentEncode(const std::string& text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : text) {
    if (std::isalnum(c) || c == '-' || c == '_' || c == '.') {
      out += static_cast<char>(c);
    } else {
      out += {'%', kHex[c >> 4], kHex[c & 15]};
    }
  }
  return out;
}

std::string Quoted(PGconn* connection, const std::string& name) {
  char* quoted = PQescapeIdentifier(connection, name.data(), name.size());
  const std::string text = quoted == nullptr ? "" : quoted;
  PQfreemem(quoted);
  return text;
}

Status Failed(const std::string& what, PGconn* connection) {
  return Internal(what + ": " + PQerrorMessage(connection));
}

}  // namespace

std::string SocketUrl(const std::string& socket_dir, const std::string& user,
                      const std::string& database) {
  return "postgresql://" + PercentEncode(user) + "@/" + PercentEncode(database) +
         "?host=" + PercentEncode(socket_dir) +
         "&port=5432&hostaddr=&options=&sslmode=disable&gssencmode=disable&channel_binding=disable";
}

Ping PingServer(const std::string& url) {
  const PGPing answer = PQping(url.c_str());
  if (answer == PQPING_OK) return Ping::kAccepts;
  return answer == PQPING_REJECT ? Ping::kStarting : Ping::kNoAnswer;
}

Status CreateDatabase(const std::string& url, const std::string& name,
                      const std::string& template_name) {
  const Connection connection(PQconnectdb(url.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return Failed("cannot connect to the private PostgreSQL", connection.get());
  }
  const char* values[] = {name.c_str()};
  const Result found(PQexecParams(connection.get(), "SELECT 1 FROM pg_database WHERE datname = $1",
                                  1, nullptr, values, nullptr, nullptr, 0));
  if (PQresultStatus(found.get()) != PGRES_TUPLES_OK) {
    return Failed("cannot list databases", connection.get());
  }
  if (PQntuples(found.get()) > 0) return OkStatus();
  std::string sql = "CREATE DATABASE " + Quoted(connection.get(), name);
  if (!template_name.empty()) sql += " TEMPLATE " + Quoted(connection.get(), template_name);
  const Result created(PQexec(connection.get(), sql.c_str()));
  if (PQresultStatus(created.get()) != PGRES_COMMAND_OK) {
    return Failed("cannot create database " + name, connection.get());
  }
  return OkStatus();
}

}  // namespace winnow::pg
