#include "services/platform/redis/reply_reader.h"

#include <hiredis/read.h>

#include <utility>

#include "services/platform/process/log.h"
#include "services/platform/redis/errors.h"

namespace winnow::redis {
namespace {

// hiredis hands over parts of a reply as it meets them: the outermost is made on the heap, others
// take their place in the array above them, which has its final size already.
void* Keep(const redisReadTask* task, Reply reply) {
  if (task->parent == nullptr) return std::make_unique<Reply>(std::move(reply)).release();
  Reply& place = (*static_cast<Reply*>(task->parent->obj)->items())[static_cast<size_t>(task->idx)];
  place = std::move(reply);
  return &place;
}

void* MakeString(const redisReadTask* task, char* bytes, size_t size) {
  std::string text(bytes, size);
  if (task->type == REDIS_REPLY_ERROR) return Keep(task, Reply(Reply::Error{std::move(text)}));
  return Keep(task, Reply(std::move(text)));
}

// Null makes the parser stop with an error. All arrays of a reply count: a few bytes announce one.
void* MakeArray(const redisReadTask* task, int items) {
  int64_t& kept = *static_cast<int64_t*>(task->privdata);
  kept += items;
  if (kept > kMaxReplyItems) return nullptr;
  return Keep(task, Reply(Reply::Array(static_cast<size_t>(items))));
}

void* MakeInteger(const redisReadTask* task, long long value) {
  return Keep(task, Reply(int64_t{value}));
}

void* MakeNil(const redisReadTask* task) { return Keep(task, Reply()); }

void Free(void* reply) { const std::unique_ptr<Reply> owned(static_cast<Reply*>(reply)); }

redisReplyObjectFunctions kFunctions = {MakeString, MakeArray, MakeInteger, MakeNil, Free};

}  // namespace

struct ReplyReader::State {
  State() : reader(redisReaderCreateWithFunctions(&kFunctions)) { reader->privdata = &items; }
  ~State() { redisReaderFree(reader); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  redisReader* reader;
  int64_t items = 0;  // announced by arrays of the reply that is being read
  size_t unread = 0;  // bytes since the last whole reply
};

ReplyReader::ReplyReader() : state_(std::make_unique<State>()) {}
ReplyReader::~ReplyReader() = default;

Status ReplyReader::Feed(std::string_view bytes) {
  state_->unread += bytes.size();
  if (state_->unread > kMaxReplyBytes) return Away("a reply of Redis was too large");
  if (redisReaderFeed(state_->reader, bytes.data(), bytes.size()) != REDIS_OK) {
    return Away("a reply of Redis could not be kept");
  }
  return OkStatus();
}

StatusOr<std::optional<Reply>> ReplyReader::Next() {
  void* made = nullptr;
  if (redisReaderGetReply(state_->reader, &made) != REDIS_OK) {
    log::Warn("the server that answered is not Redis",
              {{"why", redisReaderGetError(state_->reader)}});
    return Away("what answers at the address of Redis does not speak its protocol");
  }
  if (made == nullptr) return std::optional<Reply>();
  state_->unread = 0;
  state_->items = 0;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(made));
  return std::optional<Reply>(std::move(*reply));
}

}  // namespace winnow::redis
