#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/redis/client.h"

// Which program a key in Redis belongs to (docs/adr/0018). Published key names are shared with
// other programs, so a projection changes a key only in a script that first proves that Winnow
// wrote it. The proof is a record in a sibling key, "{news:feed:ai}:owner", in the same slot:
//   winnow N   Winnow wrote the key, which expires at N (ms since the epoch; 0: never)
//   adopted    an operator gave the key to Winnow; the next write replaces this record
//   foreign    the key, which does not expire, was another program's once: also when it is absent
//              now, it is not taken, because that program may create it again
// No record: the key is free when it is absent, and otherwise another program's, unless it carries
// the evidence of a build that kept no records.
namespace winnow::redis {

// A key under a published name, and how to recognise its owner.
struct PublishedKey {
  std::string name;
  std::string type;  // "zset", as TYPE answers
  // Zero: it never expires.
  std::chrono::milliseconds ttl{0};
  // A hash in the same slot (possibly the key itself) with a field that only Winnow writes, not
  // empty; it expires no earlier than the key. Recognises keys of builds before the records.
  std::string evidence_key;
  std::string evidence_field;
};

// The sibling with the record, in the slot of `name`.
std::string OwnerKeyOf(std::string_view name);

// A script that works on one published key. `body` is Lua, after functions that it may use:
//   owned()    whether the key is Winnow's to write (true also while it is free)
//   refuse()   for a key that is not: leaves it unchanged and returns -1, which `body` returns
//   make_room() removes what an adopted key of another type held
//   own()      after each write: sets the time to live of the key and writes its record
// and the locals K (the key), EXTRA_KEYS and EXTRA (first index of the call's own keys, arguments).
Script OwnershipScript(std::string_view body);
inline constexpr int64_t kForeign = -1;

// A call of such a script.
struct ScriptCall {
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};
ScriptCall CallOn(const PublishedKey& key, std::vector<std::string> extra_keys = {},
                  std::vector<std::string> extra_arguments = {});
// All calls in one pipeline; the integer that each script returned.
StatusOr<std::vector<int64_t>> EvalAll(Client& client, Deadline deadline, const Script& script,
                                       std::span<const ScriptCall> calls);
StatusOr<int64_t> EvalOn(Client& client, Deadline deadline, const Script& script,
                         const ScriptCall& call);

// The names of those keys that belong to another program. Changes no published key.
StatusOr<std::vector<std::string>> FindForeign(Client& client, Deadline deadline,
                                               std::span<const PublishedKey> keys);

// Gives Winnow the keys of other programs among these. Changes no published key: the next write of
// the projection does. Answers how many there were.
StatusOr<size_t> Adopt(Client& client, Deadline deadline, std::span<const PublishedKey> keys);

// Removes a key, and its record, unless it is another program's. Returns kForeign then.
const Script& RemoveScript();
// Sets the time to live anew of a key that is Winnow's and exists.
const Script& ExtendScript();

}  // namespace winnow::redis
