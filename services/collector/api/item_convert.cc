#include "services/collector/api/item_convert.h"

#include <utility>

#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/base/uuid.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::collector {
namespace {

constexpr uint8_t kTokenKind = 1;

std::vector<std::string> ToVector(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return {words.begin(), words.end()};
}

void MoveWords(std::vector<std::string> words,
               google::protobuf::RepeatedPtrField<std::string>& out) {
  out.Reserve(static_cast<int>(words.size()));
  for (std::string& word : words) *out.Add() = std::move(word);
}

std::optional<Time> ReadTime(const google::protobuf::Timestamp& timestamp, std::string field,
                             Violations& violations) {
  const StatusOr<Time> time = FromTimestamp(timestamp);
  if (time.ok()) return *time;
  for (const Violation& violation : ViolationsOf(time.status())) {
    violations.Add(field, violation.description);
  }
  return std::nullopt;
}

// Callers send what their sources deliver, which outlets have escaped once or twice.
std::string PlainText(const std::string& text) {
  return text.find('&') == std::string::npos ? text : UnescapeHtmlLayers(text);
}

// Markup is kept as it was sent, references included: without its layer "&lt;" would become a tag.
std::string PlainSnippet(const std::string& text) {
  const bool has_markup = text.find('<') != std::string::npos && StripHtml(text) != text;
  return has_markup ? text : PlainText(text);
}

uint64_t FilterHash(const ListQuery& query) { return Hash64(query.ns + '\0' + query.channel); }

StatusOr<ListCursor> ReadCursor(const std::string& token, const ListQuery& query) {
  ListCursor cursor;
  int64_t micros = 0;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(token, kTokenKind, FilterHash(query), cursor.snapshot,
                                       cursor.cluster, micros, cursor.id));
  cursor.arrival_time = Time(Micros(micros));
  // A token can be forged: nothing in it may become an error of the store.
  if (!IsUuid(cursor.id) || !IsSnapshot(cursor.snapshot) ||
      !FromTimestamp(ToTimestamp(cursor.arrival_time)).ok()) {
    return InvalidPageToken("it is malformed");
  }
  return cursor;
}

}  // namespace

Item FromProto(const v1::Item& item, std::string_view path, Violations& violations) {
  Item out;
  out.ns = item.namespace_();
  out.channel = item.channel();
  out.external_id = item.external_id();
  out.url = item.url();
  out.title = PlainText(item.title());
  out.snippet = PlainSnippet(item.snippet());
  out.language = item.language();
  out.channel_name = PlainText(item.channel_name());
  out.channel_icon_url = item.channel_icon_url();
  out.image_url = item.image_url();
  out.video_url = item.video_url();
  out.source_categories = ToVector(item.source_categories());
  out.keywords = ToVector(item.keywords());
  out.ai_tags = ToVector(item.ai_tags());
  if (item.has_publish_time()) {
    out.publish_time =
        ReadTime(item.publish_time(), std::string(path) + ".publish_time", violations);
  }
  if (item.has_arrival_time()) {
    out.arrival_time =
        ReadTime(item.arrival_time(), std::string(path) + ".arrival_time", violations);
  }
  return out;
}

v1::Item ToProto(Item item) {
  v1::Item out;
  out.set_id(std::move(item.id));
  out.set_namespace_(std::move(item.ns));
  out.set_channel(std::move(item.channel));
  out.set_external_id(std::move(item.external_id));
  out.set_url(std::move(item.url));
  out.set_canonical_url(std::move(item.canonical_url));
  out.set_title(std::move(item.title));
  out.set_snippet(std::move(item.snippet));
  out.set_language(std::move(item.language));
  out.set_channel_name(std::move(item.channel_name));
  out.set_channel_icon_url(std::move(item.channel_icon_url));
  out.set_image_url(std::move(item.image_url));
  out.set_video_url(std::move(item.video_url));
  MoveWords(std::move(item.source_categories), *out.mutable_source_categories());
  MoveWords(std::move(item.keywords), *out.mutable_keywords());
  MoveWords(std::move(item.ai_tags), *out.mutable_ai_tags());
  if (item.publish_time) *out.mutable_publish_time() = ToTimestamp(*item.publish_time);
  if (item.arrival_time) *out.mutable_arrival_time() = ToTimestamp(*item.arrival_time);
  *out.mutable_create_time() = ToTimestamp(item.create_time);
  out.set_publish_time_assumed(item.publish_time_assumed);
  return out;
}

v1::StoredItem ToStored(PutItem put) {
  v1::StoredItem out;
  out.set_id(std::move(put.item.id));
  out.set_created(put.created);
  out.set_canonical_url(std::move(put.item.canonical_url));
  *out.mutable_create_time() = ToTimestamp(put.item.create_time);
  return out;
}

StatusOr<ListQuery> FromProto(const v1::ListItemsRequest& request) {
  Violations violations;
  ListQuery query;
  query.ns = request.namespace_().empty() ? std::string(kDefaultNamespace) : request.namespace_();
  CheckNamespace(query.ns, "namespace", violations);
  query.channel = request.channel();
  CheckText(query.channel, kMaxChannel, "channel", violations);
  const StatusOr<int> size = PageSize(request.page_size(), kDefaultPageSize, kMaxPageSize);
  if (size.ok()) {
    query.page_size = *size;
  } else {
    for (const Violation& violation : ViolationsOf(size.status())) {
      violations.Add(violation.field, violation.description);
    }
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (!request.page_token().empty()) {
    WINNOW_ASSIGN_OR_RETURN(query.cursor, ReadCursor(request.page_token(), query));
  }
  return query;
}

std::string ToPageToken(const ListQuery& query, const ListCursor& cursor) {
  const int64_t micros = cursor.arrival_time.time_since_epoch().count();
  return MakePageToken(kTokenKind, FilterHash(query), cursor.snapshot, cursor.cluster, micros,
                       cursor.id);
}

}  // namespace winnow::collector
