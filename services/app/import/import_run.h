#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "services/app/client/interrupt.h"
#include "services/app/client/remote.h"
#include "services/app/import/category_maker.h"
#include "services/app/import/checkpoint.h"
#include "services/app/import/decision_waiter.h"
#include "services/app/import/feed_follower.h"
#include "services/app/import/input/byte_source.h"
#include "services/app/import/input/line_reader.h"
#include "services/app/import/item_parser.h"
#include "services/app/import/item_sender.h"
#include "services/app/import/ledger.h"
#include "services/app/import/progress.h"

namespace winnow::app {

struct ImportSettings {
  std::string title;  // of the progress bar: the file's name
  std::string item_namespace;
  std::string checkpoint_path;  // empty: none
  bool create_categories = false;
  std::chrono::milliseconds decision_limit{60'000};  // without any decision
};

// One import: lines of `source` into the server, until each is settled and decided on.
class ImportRun {
 public:
  ImportRun(ImportSettings settings, const Remote& remote, const Interrupt& interrupt,
            ByteSource& source, const Checkpoint& start);

  // Errors: CANCELLED when it was interrupted; why the server could not take the rest;
  // DEADLINE_EXCEEDED when decisions did not come. What was done stands in books() in any case.
  // At the end the feed has been given a moment to follow.
  Status Run();

  Checkpoint books() const { return ledger_.Snapshot(); }
  // How the file ended: OK, or why the rest of it cannot be read.
  const Status& source_status() const { return reader_.status(); }
  // What became of the fields of the lines that this run read.
  const FieldReport& fields() const { return parser_.fields(); }

 private:
  Status SendLines();
  Status SendLine(const Line& line);
  Status AwaitDecisions(size_t count);
  void OnSettled(int64_t line, const LineResult& result);
  void Tick();
  void SaveCheckpoint();
  void ShowNotes();

  const ImportSettings settings_;
  const Interrupt& interrupt_;
  ByteSource& source_;
  const int64_t skip_to_;  // lines up to here were settled by an earlier run
  LineReader reader_;
  ItemParser parser_;
  Ledger ledger_;
  Progress progress_;
  std::mutex notes_mutex_;
  std::vector<std::string> notes_;  // refusals to show
  size_t noted_ = 0;
  std::chrono::steady_clock::time_point next_tick_;
  std::chrono::steady_clock::time_point next_save_;
  std::optional<CategoryMaker> categories_;
  FeedFollower feed_;
  // Last: their threads use the above.
  DecisionWaiter waiter_;
  ItemSender sender_;
};

}  // namespace winnow::app
