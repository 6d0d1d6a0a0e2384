#include "services/platform/proto/timestamp.h"
#include "tests/integration/classification/fixture.h"

// What people say: overrides, appeals, policies.
namespace winnow::classification {
namespace {

using testing::ElementsAre;

TEST_F(ClassificationTest, AnOverrideStandsAboveEveryRunAndTellsConflicts) {
  Import(Comments(4));
  Override("c0", v1::COMMENT_STATUS_FILTERED);
  EXPECT_EQ(Read("c0").source(), v1::VERDICT_SOURCE_OVERRIDE) << "also before any run";
  EXPECT_EQ(Count().filtered(), 1);
  const v1::Run first = ExternalRun(4, v1::COMMENT_STATUS_NORMAL);
  Activate(first.id());
  EXPECT_EQ(Count().filtered(), 1);
  EXPECT_EQ(Count().normal(), 3);
  v1::ListOverrideConflictsRequest conflicts;
  conflicts.set_video_id("v");
  auto listed = Do(&Handlers::ListOverrideConflicts, conflicts);
  ASSERT_EQ(listed.conflicts_size(), 1);
  EXPECT_EQ(listed.conflicts(0).overridden_status(), v1::COMMENT_STATUS_NORMAL);
  const v1::Run second = ExternalRun(4, v1::COMMENT_STATUS_FILTERED);
  Activate(second.id());
  EXPECT_EQ(Read("c0").status(), v1::COMMENT_STATUS_FILTERED);
  EXPECT_EQ(Read("c0").actor(), "mina");
  EXPECT_EQ(Read("c0").run_id(), second.id()) << "the run's own verdict is returned beside it";
  EXPECT_EQ(FromTimestamp(Read("c0").override_time()).value(), clock_.Now());
  EXPECT_EQ(Do(&Handlers::ListOverrideConflicts, conflicts).conflicts_size(), 0);

  v1::UndoOverrideRequest undo;
  undo.set_video_id("v");
  undo.set_comment_id("c0");
  EXPECT_EQ(Do(&Handlers::UndoOverride, undo).undone_count(), 1);
  EXPECT_EQ(Do(&Handlers::UndoOverride, undo).undone_count(), 0);
  EXPECT_EQ(Read("c0").source(), v1::VERDICT_SOURCE_EXTERNAL);
  ExpectCountsHold();
}

TEST_F(ClassificationTest, OverridesInBulkTogetherAndBack) {
  Import(Comments(6));
  Activate(ExternalRun(6, v1::COMMENT_STATUS_NORMAL).id());
  v1::BulkOverrideClassificationsRequest bulk;
  bulk.set_video_id("v");
  bulk.set_status(v1::COMMENT_STATUS_FILTERED);
  bulk.set_request_id("once");
  for (const char* id : {"c0", "c1", "c2", "nobody"}) bulk.add_comment_ids(id);
  EXPECT_EQ(handlers_.BulkOverrideClassifications(Call(), bulk).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(Count().filtered(), 0) << "all or none";
  bulk.mutable_comment_ids()->RemoveLast();
  bulk.set_dry_run(true);
  auto result = Do(&Handlers::BulkOverrideClassifications, bulk);
  EXPECT_EQ(result.changed_count(), 3);
  EXPECT_EQ(Count().filtered(), 0);
  bulk.set_dry_run(false);
  result = Do(&Handlers::BulkOverrideClassifications, bulk);
  EXPECT_EQ(Count().filtered(), 3);
  const auto again = Do(&Handlers::BulkOverrideClassifications, bulk);
  EXPECT_EQ(again.bulk_id(), result.bulk_id()) << "sent again";
  EXPECT_EQ(again.changed_count(), 3);
  Override("c0", v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  v1::UndoOverrideRequest undo;
  undo.set_video_id("v");
  undo.set_bulk_id(result.bulk_id());
  EXPECT_EQ(Do(&Handlers::UndoOverride, undo).undone_count(), 2) << "c0 was changed since";
  EXPECT_EQ(Count().content_suggestion(), 1);
  EXPECT_EQ(Count().normal(), 5);
  ExpectCountsHold();
}

TEST_F(ClassificationTest, AnswersAppealsOnce) {
  Import(Comments(2));
  Activate(ExternalRun(2, v1::COMMENT_STATUS_FILTERED).id());
  v1::CreateAppealRequest create;
  create.set_video_id("v");
  create.set_comment_id("c0");
  create.set_note("this is praise");
  create.set_request_id("r1");
  const v1::Appeal appeal = Do(&Handlers::CreateAppeal, create).appeal();
  EXPECT_EQ(appeal.state(), v1::APPEAL_STATE_OPEN);
  EXPECT_EQ(Do(&Handlers::CreateAppeal, create).appeal().id(), appeal.id());
  v1::ResolveAppealRequest resolve;
  resolve.set_appeal_id(appeal.id());
  resolve.set_state(v1::APPEAL_STATE_GRANTED);
  resolve.set_status(v1::COMMENT_STATUS_NORMAL);
  resolve.set_actor("mina");
  resolve.set_note("it is");
  const v1::Appeal granted = Do(&Handlers::ResolveAppeal, resolve).appeal();
  EXPECT_EQ(granted.state(), v1::APPEAL_STATE_GRANTED);
  EXPECT_EQ(granted.resolver() + ": " + granted.resolve_note(), "mina: it is");
  EXPECT_EQ(FromTimestamp(granted.resolve_time()).value(), clock_.Now());
  EXPECT_EQ(Read("c0").status(), v1::COMMENT_STATUS_NORMAL);
  EXPECT_EQ(handlers_.ResolveAppeal(Call(), resolve).status().code(),
            StatusCode::kFailedPrecondition);
  v1::ListAuditEntriesRequest audit;
  audit.set_video_id("v");
  std::vector<std::string> actions;
  EXPECT_EQ(Do(&Handlers::ListAuditEntries, audit).entries(0).appeal_id(), appeal.id());
  const auto listed = Do(&Handlers::ListAuditEntries, audit);
  for (const v1::AuditEntry& entry : listed.entries()) actions.push_back(entry.action());
  EXPECT_THAT(actions, ElementsAre("appeal_granted", "appeal", "activate"));
  ExpectCountsHold();
}

TEST_F(ClassificationTest, PreviewsAPolicyWithoutChangingAnything) {
  Import(Comments(9));
  v1::PreviewPolicyRequest preview;
  preview.set_video_id("v");
  preview.mutable_policy()->set_name("strict");
  v1::TextRule& rule = *preview.mutable_policy()->add_text_rules();
  rule.set_contains("캠핑");
  rule.set_status(v1::COMMENT_STATUS_FILTERED);
  preview.mutable_update_mask()->add_paths("text_rules");
  const auto previewed = Do(&Handlers::PreviewPolicy, preview);
  EXPECT_EQ(previewed.counts().filtered(), 3);
  EXPECT_EQ(previewed.counts().normal(), 6);
  EXPECT_EQ(Count().unclassified(), 9);
}

// Also of those that it leaves as they are.
TEST_F(ClassificationTest, AuditsEachCommentOfABulkAndOfItsUndo) {
  Import(Comments(3));
  Activate(ExternalRun(3, v1::COMMENT_STATUS_NORMAL).id());
  Override("c1", v1::COMMENT_STATUS_FILTERED);
  v1::BulkOverrideClassificationsRequest bulk;
  bulk.set_video_id("v");
  bulk.set_status(v1::COMMENT_STATUS_FILTERED);
  bulk.set_actor("mina");
  bulk.set_note("a wave");
  bulk.set_request_id("bulk");
  for (const char* id : {"c0", "c1"}) bulk.add_comment_ids(id);
  v1::UndoOverrideRequest undo;
  undo.set_video_id("v");
  undo.set_bulk_id(Do(&Handlers::BulkOverrideClassifications, bulk).bulk_id());
  undo.set_note("none");
  Do(&Handlers::UndoOverride, undo);
  v1::ListAuditEntriesRequest audit;
  audit.set_video_id("v");
  audit.set_page_size(4);
  std::set<std::string> entries;
  const auto listed = Do(&Handlers::ListAuditEntries, audit);
  for (const v1::AuditEntry& one : listed.entries()) {
    entries.insert(one.action() + " " + one.comment_id() + " " + one.before() + " " + one.after() +
                   " " + one.note());
  }
  EXPECT_THAT(entries,
              ElementsAre("bulk_override c0 normal filtered a wave",
                          "bulk_override c1 filtered filtered a wave",
                          "undo c0 filtered normal none", "undo c1 filtered filtered none"));
}

// Bulks lie above each other and above what single comments were given; each is taken back alone.
TEST_F(ClassificationTest, ABulkTakenBackLeavesWhatWasBeforeIt) {
  Import(Comments(3));
  Activate(ExternalRun(3, v1::COMMENT_STATUS_NORMAL).id());
  const auto bulk = [&](v1::CommentStatus status) {
    v1::BulkOverrideClassificationsRequest request;
    request.set_video_id("v");
    request.set_status(status);
    request.set_request_id(NewId());
    for (const char* id : {"c0", "c1"}) request.add_comment_ids(id);
    return Do(&Handlers::BulkOverrideClassifications, request).bulk_id();
  };
  const auto undo = [&](const std::string& id) {
    v1::UndoOverrideRequest request;
    request.set_video_id("v");
    request.set_bulk_id(id);
    return Do(&Handlers::UndoOverride, request);
  };
  Override("c0", v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  const std::string lower = bulk(v1::COMMENT_STATUS_FILTERED);
  const std::string upper = bulk(v1::COMMENT_STATUS_NORMAL);
  EXPECT_EQ(undo(lower).undone_count(), 0) << "another one lies above it";
  const auto undone = undo(upper);
  EXPECT_EQ(undone.undone_count(), 2);
  EXPECT_EQ(undone.restored_count(), 1) << "the lower one was taken back before";
  EXPECT_EQ(Read("c0").status(), v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  EXPECT_EQ(Read("c0").actor(), "mina");
  EXPECT_EQ(Read("c1").source(), v1::VERDICT_SOURCE_EXTERNAL);
  ExpectCountsHold();

  const std::string third = bulk(v1::COMMENT_STATUS_FILTERED);
  bulk(v1::COMMENT_STATUS_NORMAL);
  Override("c0", v1::COMMENT_STATUS_FILTERED);
  v1::UndoOverrideRequest single;
  single.set_video_id("v");
  single.set_comment_id("c0");
  EXPECT_EQ(Do(&Handlers::UndoOverride, single).restored_count(), 0);
  EXPECT_EQ(Read("c0").source(), v1::VERDICT_SOURCE_EXTERNAL) << "all of it is taken back";
  EXPECT_EQ(undo(third).undone_count(), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.covered_overrides"), 0);
  const Status unknown = [&] {
    single.set_bulk_id("nothing");
    return handlers_.UndoOverride(Call(), single).status();
  }();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  for (int i = 0; i < 15; ++i) bulk(v1::COMMENT_STATUS_FILTERED);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.covered_overrides"), 20) << "10 of each";
  ExpectCountsHold();
}

TEST_F(ClassificationTest, ListsAppealsByNamespaceVideoAndState) {
  Import(Comments(5));
  Import(Comments(1), "w");
  const auto appeal = [&](const std::string& video, const std::string& comment) {
    v1::CreateAppealRequest create;
    create.set_video_id(video);
    create.set_comment_id(comment);
    create.set_note("look again");
    create.set_request_id(NewId());
    return Do(&Handlers::CreateAppeal, create).appeal().id();
  };
  std::vector<std::string> made;
  for (int i = 0; i < 5; ++i) made.insert(made.begin(), appeal("v", "c" + std::to_string(i)));
  const std::string other = appeal("w", "c0");
  v1::ResolveAppealRequest resolve;
  resolve.set_appeal_id(made[0]);
  resolve.set_state(v1::APPEAL_STATE_REJECTED);
  resolve.set_request_id("once");
  EXPECT_EQ(Do(&Handlers::ResolveAppeal, resolve).appeal().state(), v1::APPEAL_STATE_REJECTED);
  EXPECT_EQ(Do(&Handlers::ResolveAppeal, resolve).appeal().state(), v1::APPEAL_STATE_REJECTED)
      << "sent again";
  const auto listed = [&](const std::string& video, v1::AppealState state) {
    v1::ListAppealsRequest list;
    list.set_video_id(video);
    list.set_state(state);
    list.set_page_size(2);
    std::vector<std::string> ids;
    do {
      const auto page = Do(&Handlers::ListAppeals, list);
      for (const v1::Appeal& one : page.appeals()) ids.push_back(one.id());
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty() && !HasFailure());
    return ids;
  };
  EXPECT_EQ(listed("v", v1::APPEAL_STATE_UNSPECIFIED), made);
  EXPECT_EQ(listed("", v1::APPEAL_STATE_UNSPECIFIED).size(), 6u);
  EXPECT_EQ(listed("", v1::APPEAL_STATE_OPEN).front(), other);
  EXPECT_EQ(listed("", v1::APPEAL_STATE_OPEN).size(), 5u);
  EXPECT_THAT(listed("v", v1::APPEAL_STATE_REJECTED), ElementsAre(made[0]));
  v1::GetAppealRequest get;
  get.set_appeal_id(other);
  EXPECT_EQ(Do(&Handlers::GetAppeal, get).appeal().video_id(), "w");
  get.set_namespace_("elsewhere");
  EXPECT_EQ(handlers_.GetAppeal(Call(), get).status().code(), StatusCode::kNotFound);
}

TEST_F(ClassificationTest, APolicyChangesByFieldAndEtag) {
  v1::GetPolicyRequest get;
  const v1::Policy first = Do(&Handlers::GetPolicy, get).policy();
  EXPECT_EQ(first.namespace_(), "default");
  EXPECT_FALSE(first.has_create_time()) << "it is built in";
  v1::UpdatePolicyRequest update;
  update.mutable_policy()->set_etag(first.etag());
  update.mutable_policy()->set_max_failed_share(0.25);
  update.mutable_update_mask()->add_paths("max_failed_share");
  update.set_request_id("once");
  const v1::Policy second = Do(&Handlers::UpdatePolicy, update).policy();
  EXPECT_EQ(second.version(), 2);
  EXPECT_EQ(second.head_rules_size(), first.head_rules_size()) << "only what the mask names";
  EXPECT_EQ(FromTimestamp(second.create_time()).value(), clock_.Now());
  EXPECT_EQ(Do(&Handlers::UpdatePolicy, update).policy().version(), 2) << "sent again";
  update.set_request_id("another");
  EXPECT_EQ(ReasonOf(handlers_.UpdatePolicy(Call(), update).status()), Reason::kStaleEtag);
  update.mutable_policy()->clear_etag();
  update.clear_request_id();
  EXPECT_EQ(Do(&Handlers::UpdatePolicy, update).policy().version(), 2) << "nothing changed";

  update.mutable_policy()->set_name("strict");
  EXPECT_EQ(handlers_.UpdatePolicy(Call(), update).status().code(), StatusCode::kNotFound);
  update.set_allow_missing(true);
  const v1::Policy made = Do(&Handlers::UpdatePolicy, update).policy();
  EXPECT_EQ(made.version(), 1);
  EXPECT_EQ(made.head_rules_size(), 0);
  get.set_policy_name("strict");
  EXPECT_EQ(Do(&Handlers::GetPolicy, get).policy().etag(), made.etag());
}

}  // namespace
}  // namespace winnow::classification
