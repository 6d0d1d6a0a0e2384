#include "services/platform/events/core/dead_letters.h"

#include "services/platform/base/utf8.h"
#include "services/platform/events/core/consumer.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::events {
namespace {

constexpr size_t kMaxReasonBytes = 1'024;

}  // namespace

void DescribeEnvelope(const std::string& envelope, DeadLetterRecord& record) {
  record.size = envelope.size();
  Envelope read;
  if (!read.ParseFromString(envelope)) return;
  record.event_id = read.id();
  record.ns = read.namespace_();
  if (!read.has_occur_time()) return;
  const StatusOr<Time> time = FromTimestamp(read.occur_time());
  if (time.ok()) record.occur_time = *time;
}

std::string KeptReason(std::string reason) {
  if (reason.size() <= kMaxReasonBytes) return ReplaceInvalidUtf8(reason);
  size_t end = kMaxReasonBytes;
  // Not within a character: its other bytes are 10xxxxxx.
  while (end > 0 && (static_cast<unsigned char>(reason[end]) & 0xC0U) == 0x80U) --end;
  std::string kept = ReplaceInvalidUtf8(std::string_view(reason).substr(0, end));
  return kept.size() <= kMaxReasonBytes ? kept : "the reason is not valid text";
}

Gauge& DeadLettersGauge(Metrics& metrics, const std::string& place) {
  return metrics.GetGauge("winnow_dead_letters_events",
                          "Events that wait as dead letters, counted up to 100,000.",
                          {{"place", place}});
}

}  // namespace winnow::events
