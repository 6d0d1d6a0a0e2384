#include "services/collector/api/source_convert.h"

#include "services/collector/items/listing.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::collector {
namespace {

constexpr int kMaxPaths = 32;

std::chrono::seconds ReadSeconds(const google::protobuf::Duration& duration,
                                 const std::string& field, Violations& violations) {
  const StatusOr<Micros> micros = FromDuration(duration);
  if (!micros.ok()) {
    violations.Add(field, "is not a valid duration");
    return std::chrono::seconds(0);
  }
  if (*micros % std::chrono::seconds(1) != Micros(0)) {
    violations.Add(field, "must be whole seconds");
  }
  // 0 means the default, and is not to be had by rounding or by a sign.
  if (*micros < std::chrono::seconds(0)) violations.Add(field, "must not be negative");
  return std::chrono::duration_cast<std::chrono::seconds>(*micros);
}

void ReadKind(const v1::Source& from, Source& to) {
  switch (from.kind_case()) {
    case v1::Source::kNaver:
      to.kind = SourceKind::kNaver;
      to.credential = from.naver().credential();
      to.query = from.naver().query();
      to.page_size = from.naver().page_size();
      to.max_pages = from.naver().max_pages();
      to.by_similarity = from.naver().by_similarity();
      return;
    case v1::Source::kNewsdata:
      to.kind = SourceKind::kNewsData;
      to.credential = from.newsdata().credential();
      to.query = from.newsdata().query();
      to.country = from.newsdata().country();
      to.language = from.newsdata().language();
      to.category = from.newsdata().category();
      to.timeframe = from.newsdata().timeframe();
      to.page_size = from.newsdata().page_size();
      to.max_pages = from.newsdata().max_pages();
      return;
    case v1::Source::kFeed:
      to.kind = SourceKind::kFeed;
      to.url = from.feed().url();
      to.channel = from.feed().channel();
      return;
    case v1::Source::KIND_NOT_SET:
      return;
  }
}

void WriteKind(const Source& from, v1::Source& to) {
  if (from.kind == SourceKind::kNaver) {
    v1::NaverSource& naver = *to.mutable_naver();
    naver.set_credential(from.credential);
    naver.set_query(from.query);
    naver.set_page_size(from.page_size);
    naver.set_max_pages(from.max_pages);
    naver.set_by_similarity(from.by_similarity);
  } else if (from.kind == SourceKind::kNewsData) {
    v1::NewsDataSource& newsdata = *to.mutable_newsdata();
    newsdata.set_credential(from.credential);
    newsdata.set_query(from.query);
    newsdata.set_country(from.country);
    newsdata.set_language(from.language);
    newsdata.set_category(from.category);
    newsdata.set_timeframe(from.timeframe);
    newsdata.set_page_size(from.page_size);
    newsdata.set_max_pages(from.max_pages);
  } else if (from.kind == SourceKind::kFeed) {
    to.mutable_feed()->set_url(from.url);
    to.mutable_feed()->set_channel(from.channel);
  }
}

// The settings of its kind alone.
void TakeKind(const Source& from, Source& into) {
  into.credential = from.credential;
  into.query = from.query;
  into.country = from.country;
  into.language = from.language;
  into.category = from.category;
  into.timeframe = from.timeframe;
  into.page_size = from.page_size;
  into.max_pages = from.max_pages;
  into.by_similarity = from.by_similarity;
  if (into.url != from.url) {
    into.feed_etag.clear();
    into.feed_modified.clear();
  }
  into.url = from.url;
  into.channel = from.channel;
}

static_assert(static_cast<int>(Outcome::kBlocked) == v1::RUN_OUTCOME_BLOCKED);
static_assert(static_cast<int>(SourceState::kBlocked) == v1::SOURCE_STATE_BLOCKED);

}  // namespace

Source FromProto(const v1::Source& source, Violations& violations) {
  Source out;
  out.id = source.id();
  out.ns = source.namespace_();
  out.display_name = source.display_name();
  ReadKind(source, out);
  if (source.has_interval()) {
    out.interval = ReadSeconds(source.interval(), "source.interval", violations);
  }
  if (source.has_max_interval()) {
    out.max_interval = ReadSeconds(source.max_interval(), "source.max_interval", violations);
  }
  out.categories = {source.categories().begin(), source.categories().end()};
  out.skip_images = source.skip_images();
  return out;
}

v1::Source ToProto(const Source& source) {
  v1::Source out;
  out.set_id(source.id);
  out.set_namespace_(source.ns);
  out.set_display_name(source.display_name);
  WriteKind(source, out);
  *out.mutable_interval() = ToDuration(source.interval);
  *out.mutable_max_interval() = ToDuration(source.max_interval);
  for (const std::string& category : source.categories) out.add_categories(category);
  out.set_skip_images(source.skip_images);
  out.set_state(static_cast<v1::SourceState>(source.state));
  out.set_etag(EtagOf(source));
  *out.mutable_create_time() = ToTimestamp(source.create_time);
  *out.mutable_update_time() = ToTimestamp(source.update_time);
  *out.mutable_next_run_time() = ToTimestamp(source.next_run_time);
  if (source.success_time) *out.mutable_last_success_time() = ToTimestamp(*source.success_time);
  out.set_failures(source.failures);
  out.set_active_run_id(source.run_id);
  out.set_unread_pages(source.unread_pages);
  return out;
}

v1::Run ToProto(const Run& run) {
  v1::Run out;
  out.set_id(run.id);
  out.set_source_id(run.source_id);
  out.set_namespace_(run.ns);
  out.set_requested(run.requested);
  out.set_outcome(static_cast<v1::RunOutcome>(run.outcome));
  out.set_code(run.code);
  *out.mutable_begin_time() = ToTimestamp(run.begin_time);
  *out.mutable_end_time() = ToTimestamp(run.end_time);
  out.set_calls(run.calls);
  out.set_new_items(run.new_items);
  out.set_known_items(run.known_items);
  out.set_refused_items(run.refused_items);
  out.set_fetched_pages(run.fetched_pages);
  out.set_found_images(run.found_images);
  return out;
}

v1::Quota ToProto(const Credential& credential, const QuotaState& state, Time now) {
  v1::Quota out;
  out.set_credential(credential.name);
  out.set_vendor(NameOf(credential.vendor));
  const QuotaLimits& limits = credential.limits;
  const bool same_day = DayBegin(limits, now) <= state.day_begin;
  out.set_day_used(same_day ? state.day_used : 0);
  out.set_day_limit(limits.per_day);
  *out.mutable_reset_time() = ToTimestamp(NextReset(limits, now));
  int64_t quarter = 0;
  for (const Time call : state.recent) quarter += call > now - kQuarterWindow ? 1 : 0;
  out.set_quarter_used(limits.per_quarter > 0 ? quarter : 0);
  out.set_quarter_limit(limits.per_quarter);
  out.set_second_limit(limits.per_second);
  if (state.blocked_until > now) {
    *out.mutable_blocked_until() = ToTimestamp(state.blocked_until);
    out.set_blocked_by(static_cast<v1::RunOutcome>(state.blocked_by));
  }
  return out;
}

std::string EtagOf(const Source& source) {
  return std::to_string(source.create_time.time_since_epoch().count()) + "-" +
         std::to_string(source.revision);
}

void ApplyMask(const google::protobuf::FieldMask& mask, const Source& from, Source& into,
               Violations& violations) {
  if (mask.paths().empty() || mask.paths_size() > kMaxPaths) {
    return violations.Add("update_mask", "must name 1 to 32 fields");
  }
  for (const std::string& path : mask.paths()) {
    if (path == "display_name") {
      into.display_name = from.display_name;
    } else if (path == "interval") {
      into.interval = from.interval;
    } else if (path == "max_interval") {
      into.max_interval = from.max_interval;
    } else if (path == "categories") {
      into.categories = from.categories;
    } else if (path == "skip_images") {
      into.skip_images = from.skip_images;
    } else if (path == NameOf(into.kind)) {
      if (from.kind == into.kind) {
        TakeKind(from, into);
      } else {
        violations.Add("source." + path, "is required: update_mask names it");
      }
    } else {
      violations.Add("update_mask", "names " + path.substr(0, kMaxWord) +
                                        ", which does not exist or cannot be changed");
    }
  }
}

StatusOr<KeyPage> ReadKeyPage(uint8_t kind, const std::string& filter, int page_size,
                              const std::string& page_token) {
  KeyPage page;
  WINNOW_ASSIGN_OR_RETURN(page.page_size, PageSize(page_size, kDefaultPageSize, kMaxPageSize));
  WINNOW_RETURN_IF_ERROR(ReadPageToken(page_token, kind, Hash64(filter), page.after));
  return page;
}

std::string ToWatchToken(const std::string& source_id, const RunsHead& reached) {
  return MakePageToken(kWatchToken, Hash64(source_id), reached.position, reached.epoch);
}

StatusOr<RunsHead> ReadWatchToken(const std::string& source_id, const std::string& token) {
  RunsHead reached;
  WINNOW_RETURN_IF_ERROR(
      ReadPageToken(token, kWatchToken, Hash64(source_id), reached.position, reached.epoch));
  if (reached.position < 0) return InvalidPageToken("it is malformed");
  return reached;
}

Status HistoryGone() {
  return InvalidPageToken(
      "it refers to a database history that no longer exists (a failover or restore): list again "
      "without a token");
}

std::string ToKeyToken(uint8_t kind, const std::string& filter, const std::string& key) {
  return MakePageToken(kind, Hash64(filter), key);
}

}  // namespace winnow::collector
