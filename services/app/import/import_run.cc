#include "services/app/import/import_run.h"

#include "services/app/client/terminal.h"

namespace winnow::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTick{100};
constexpr seconds kSaveInterval{1};
// After Ctrl-C: for answers that are under way.
constexpr seconds kLastAnswersLimit{10};
// How long the feed may take to follow; what comes later comes all the same.
constexpr seconds kFeedLimit{3};
// The books of what is not decided yet are kept in memory and in every checkpoint.
constexpr size_t kMaxUndecided = 20'000;
// Refusals that are shown one by one; all are counted.
constexpr size_t kMaxNotes = 10;

Refusal ToRefusal(Line::Problem problem) {
  if (problem == Line::Problem::kTooLong) {
    return {"over 4 MiB", "is longer than 4 MiB, more than any item may be"};
  }
  return {"cut off", "is cut off: the file ends early within it"};
}

}  // namespace

ImportRun::ImportRun(ImportSettings settings, const Remote& remote, const Interrupt& interrupt,
                     ByteSource& source, const Checkpoint& start)
    : settings_(std::move(settings)),
      interrupt_(interrupt),
      source_(source),
      skip_to_(start.last_line),
      reader_(source),
      parser_(settings_.item_namespace, start.began),
      ledger_(start),
      progress_(settings_.title),
      next_save_(std::chrono::steady_clock::now() + kSaveInterval),
      feed_(remote, settings_.item_namespace),
      waiter_(remote, settings_.item_namespace,
              [this](const std::string& id, bool duplicate) { ledger_.Decided(id, duplicate); }),
      sender_(remote, interrupt,
              [this](int64_t line, const LineResult& result) { OnSettled(line, result); }) {
  if (settings_.create_categories) categories_.emplace(remote, settings_.item_namespace);
  for (const std::string& id : start.undecided) waiter_.Add(id);
}

Status ImportRun::Run() {
  Status status = SendLines();
  const bool interrupted = interrupt_.requested();
  if (status.ok() || interrupted) {
    const Status finished = interrupted ? sender_.Finish(kLastAnswersLimit) : sender_.Finish();
    status = interrupted ? Status(StatusCode::kCancelled, "interrupted") : finished;
  }
  if (status.ok()) status = AwaitDecisions(0);
  if (status.ok() && !ledger_.last_accepted().empty()) {
    feed_.Has(ledger_.last_accepted(), kFeedLimit);
  }
  ShowNotes();
  progress_.End();
  const bool complete = status.ok() && ledger_.tally().undecided() == 0;
  if (complete && !settings_.checkpoint_path.empty()) {
    RemoveCheckpoint(settings_.checkpoint_path);
  } else {
    SaveCheckpoint();
  }
  return status;
}

Status ImportRun::SendLines() {
  while (!interrupt_.requested()) {
    const std::optional<Line> line = reader_.Next();
    if (!line) break;
    if (line->number <= skip_to_) continue;
    WINNOW_RETURN_IF_ERROR(SendLine(*line));
    Tick();
    WINNOW_RETURN_IF_ERROR(AwaitDecisions(kMaxUndecided));
  }
  return OkStatus();
}

Status ImportRun::SendLine(const Line& line) {
  if (line.problem != Line::Problem::kNone) {
    return sender_.Refuse(line.number, ToRefusal(line.problem));
  }
  auto parsed = parser_.Parse(line.text);
  for (const std::string& note : parser_.fields().TakeNotes()) {
    progress_.Note("line " + std::to_string(line.number) + ": " + note);
  }
  if (auto* refusal = std::get_if<Refusal>(&parsed)) {
    return sender_.Refuse(line.number, std::move(*refusal));
  }
  auto& item = std::get<collector::v1::Item>(parsed);
  if (categories_) WINNOW_RETURN_IF_ERROR(categories_->Ensure(item));
  return sender_.Send(line.number, std::move(item));
}

void ImportRun::OnSettled(int64_t line, const LineResult& result) {
  if (ledger_.Settled(line, result)) {
    waiter_.Add(std::get<Stored>(result).id);
  } else if (const auto* refusal = std::get_if<Refusal>(&result)) {
    const std::lock_guard lock(notes_mutex_);
    if (noted_++ >= kMaxNotes) return;
    notes_.push_back("line " + std::to_string(line) + ": " + Printable(refusal->detail));
    if (noted_ == kMaxNotes) notes_.emplace_back("further refusals are counted, not shown");
  }
}

// Until at most `count` items wait for their decision.
Status ImportRun::AwaitDecisions(size_t count) {
  while (!waiter_.WaitUntilAtMost(count, kTick)) {
    Tick();
    if (interrupt_.requested()) return Status(StatusCode::kCancelled, "interrupted");
    if (waiter_.idle() > settings_.decision_limit) {
      return DeadlineExceeded(WithCommas(static_cast<int64_t>(waiter_.waiting())) +
                              " items are stored and not decided on, and no decision came for " +
                              std::to_string(settings_.decision_limit.count() / 1000) +
                              " s: is the dedup target running? See its log");
    }
  }
  return waiter_.error();
}

void ImportRun::Tick() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_tick_) return;
  next_tick_ = now + kTick;
  ShowNotes();
  progress_.Update(ledger_.tally(), source_.bytes_read(), source_.bytes_total());
  if (now >= next_save_) SaveCheckpoint();
}

void ImportRun::ShowNotes() {
  const std::lock_guard lock(notes_mutex_);
  for (const std::string& note : notes_) progress_.Note(note);
  notes_.clear();
}

void ImportRun::SaveCheckpoint() {
  next_save_ = std::chrono::steady_clock::now() + kSaveInterval;
  if (settings_.checkpoint_path.empty()) return;
  const Status saved = WriteCheckpoint(settings_.checkpoint_path, ledger_.Snapshot());
  if (!saved.ok()) {
    progress_.Note("no checkpoint: " + Message(saved));
    next_save_ += std::chrono::hours(24);  // said once
  }
}

}  // namespace winnow::app
