#include "services/platform/redis/ownership.h"

#include <algorithm>

namespace winnow::redis {
namespace {

// Keys and records checked in one pipeline.
constexpr size_t kKeysPerPipeline = 5'000;

// KEYS: the key, its record, the evidence, then the call's own. ARGV: type, evidence field, time to
// live in ms, then the call's own. A key that another program created after ours was deleted or
// expired has a later expiry than the record says, which identifies it. A build without records
// may have written it since (a rollback): then the evidence decides.
constexpr char kPreamble[] = R"(
local K, O, E, EXTRA_KEYS, EXTRA = KEYS[1], KEYS[2], KEYS[3], 4, 4
local SLACK_MS = 1000
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function expiry(key)
  local left = redis.call('PTTL', key)
  return left < 0 and math.huge or now_ms() + left
end
local function record()
  local text = redis.pcall('GET', O)
  if type(text) == 'table' then return 'foreign' end
  return text
end
local function owned()
  local text = record()
  if text == 'foreign' then return false end
  local kind = redis.call('TYPE', K).ok
  if kind == 'none' or text == 'adopted' then return true end
  if kind ~= ARGV[1] then return false end
  if text then
    local recorded = tonumber(string.match(text, '^winnow (%d+)$') or '')
    if not recorded then return false end
    if recorded == 0 or expiry(K) <= recorded + SLACK_MS then return true end
  end
  if ARGV[2] == '' or redis.call('TYPE', E).ok ~= 'hash' then return false end
  local evidence = redis.call('HGET', E, ARGV[2])
  return evidence and evidence ~= '' and expiry(K) <= expiry(E) + SLACK_MS
end
local function refuse()
  if ARGV[3] == '0' then redis.call('SET', O, 'foreign') end
  return -1
end
local function make_room()
  local kind = redis.call('TYPE', K).ok
  if kind ~= 'none' and kind ~= ARGV[1] then redis.call('DEL', K) end
end
local function own()
  local ttl = tonumber(ARGV[3])
  if redis.call('EXISTS', K) == 0 then
    redis.call('DEL', O)
  elseif ttl == 0 then
    redis.call('PERSIST', K)
    redis.call('SET', O, 'winnow 0')
  else
    redis.call('PEXPIRE', K, ttl)
    redis.call('SET', O, 'winnow ' .. string.format('%.0f', now_ms() + ttl), 'PX', ttl + 3600000)
  end
end
)";

const Script& CheckScript() {
  static const Script kScript = OwnershipScript("if owned() then return 1 end return refuse()");
  return kScript;
}

// The claim on a key that was adopted and never written expires after a week.
const Script& AdoptScript() {
  static const Script kScript = OwnershipScript(R"(
if owned() then return 0 end
if redis.call('EXISTS', K) == 0 then
  redis.call('DEL', O)
else
  redis.call('SET', O, 'adopted', 'PX', 604800000)
end
return 1
)");
  return kScript;
}

std::vector<ScriptCall> CallsOn(std::span<const PublishedKey> keys) {
  std::vector<ScriptCall> calls;
  calls.reserve(keys.size());
  for (const PublishedKey& key : keys) calls.push_back(CallOn(key));
  return calls;
}

Command ToCommand(const ScriptCall& call, const char* verb, const std::string& script) {
  Command command{verb, script, std::to_string(call.keys.size())};
  command.insert(command.end(), call.keys.begin(), call.keys.end());
  command.insert(command.end(), call.arguments.begin(), call.arguments.end());
  return command;
}

bool IsUnknownScript(const Reply& reply) {
  return reply.error() != nullptr && reply.error()->text.starts_with("NOSCRIPT");
}

// Redis Cluster places a key by the part in its first braces, or by the whole of it.
bool HasHashTag(std::string_view name) {
  const size_t open = name.find('{');
  if (open == std::string_view::npos) return false;
  const size_t close = name.find('}', open);
  return close != std::string_view::npos && close > open + 1;
}

}  // namespace

std::string OwnerKeyOf(std::string_view name) {
  if (HasHashTag(name)) return std::string(name) + ":owner";
  return "{" + std::string(name) + "}:owner";
}

Script OwnershipScript(std::string_view body) { return Script(kPreamble + std::string(body)); }

ScriptCall CallOn(const PublishedKey& key, std::vector<std::string> extra_keys,
                  std::vector<std::string> extra_arguments) {
  ScriptCall call;
  call.keys = {key.name, OwnerKeyOf(key.name),
               key.evidence_key.empty() ? key.name : key.evidence_key};
  call.arguments = {key.type, key.evidence_field, std::to_string(key.ttl.count())};
  std::move(extra_keys.begin(), extra_keys.end(), std::back_inserter(call.keys));
  std::move(extra_arguments.begin(), extra_arguments.end(), std::back_inserter(call.arguments));
  return call;
}

StatusOr<std::vector<int64_t>> EvalAll(Client& client, Deadline deadline, const Script& script,
                                       std::span<const ScriptCall> calls) {
  std::vector<int64_t> results;
  if (calls.empty()) return results;
  std::vector<Command> commands;
  for (const ScriptCall& call : calls) {
    commands.push_back(ToCommand(call, "EVALSHA", script.sha1()));
  }
  WINNOW_ASSIGN_OR_RETURN(std::vector<Reply> replies, client.Pipeline(deadline, commands));
  // Each node of a cluster learns the script by itself.
  std::vector<size_t> again;
  commands.clear();
  for (size_t i = 0; i < replies.size(); ++i) {
    if (!IsUnknownScript(replies[i])) continue;
    again.push_back(i);
    commands.push_back(ToCommand(calls[i], "EVAL", script.text()));
  }
  if (!again.empty()) {
    WINNOW_ASSIGN_OR_RETURN(std::vector<Reply> late, client.Pipeline(deadline, commands));
    for (size_t i = 0; i < again.size(); ++i) replies[again[i]] = std::move(late[i]);
  }
  for (const Reply& reply : replies) {
    WINNOW_ASSIGN_OR_RETURN(const int64_t result, reply.Integer());
    results.push_back(result);
  }
  return results;
}

StatusOr<int64_t> EvalOn(Client& client, Deadline deadline, const Script& script,
                         const ScriptCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const auto results,
                          EvalAll(client, deadline, script, std::span(&call, 1)));
  return results.front();
}

StatusOr<std::vector<std::string>> FindForeign(Client& client, Deadline deadline,
                                               std::span<const PublishedKey> keys) {
  std::vector<std::string> foreign;
  for (size_t done = 0; done < keys.size(); done += kKeysPerPipeline) {
    const auto part = keys.subspan(done, std::min(kKeysPerPipeline, keys.size() - done));
    WINNOW_ASSIGN_OR_RETURN(const auto results,
                            EvalAll(client, deadline, CheckScript(), CallsOn(part)));
    for (size_t i = 0; i < part.size(); ++i) {
      if (results[i] == kForeign) foreign.push_back(part[i].name);
    }
  }
  return foreign;
}

StatusOr<size_t> Adopt(Client& client, Deadline deadline, std::span<const PublishedKey> keys) {
  size_t adopted = 0;
  for (size_t done = 0; done < keys.size(); done += kKeysPerPipeline) {
    const auto part = keys.subspan(done, std::min(kKeysPerPipeline, keys.size() - done));
    WINNOW_ASSIGN_OR_RETURN(const auto results,
                            EvalAll(client, deadline, AdoptScript(), CallsOn(part)));
    adopted += static_cast<size_t>(std::count(results.begin(), results.end(), 1));
  }
  return adopted;
}

const Script& RemoveScript() {
  static const Script kScript =
      OwnershipScript("if not owned() then return refuse() end return redis.call('DEL', K, O)");
  return kScript;
}

const Script& ExtendScript() {
  static const Script kScript = OwnershipScript(
      "if not owned() then return refuse() end "
      "if redis.call('EXISTS', K) == 1 then own() end return 1");
  return kScript;
}

}  // namespace winnow::redis
