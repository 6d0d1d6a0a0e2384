#include "services/app/import/ledger.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "services/app/import/refusal.h"
#include "tests/support/process/temp_dir.h"

namespace winnow::app {
namespace {

ImportIdentity SomeImport() {
  return {.file = "/data/items.jsonl",
          .file_bytes = 12'345,
          .file_modified_ns = 1'770'000'000'123'456'789,
          .address = "127.0.0.1:7400",
          .item_namespace = "demo"};
}

Checkpoint Fresh() {
  Checkpoint checkpoint;
  checkpoint.identity = SomeImport();
  checkpoint.began = Time(Micros(1'770'000'000'000'001));
  return checkpoint;
}

TEST(Ledger, AddsUp) {
  Ledger ledger(Fresh());
  EXPECT_TRUE(ledger.Settled(1, Stored{"a", true}));
  EXPECT_TRUE(ledger.Settled(2, Stored{"b", true}));
  EXPECT_TRUE(ledger.Settled(3, Stored{"c", true}));
  EXPECT_FALSE(ledger.Settled(4, Stored{"d", false}));
  EXPECT_FALSE(ledger.Settled(6, Refusal{"title", "title: is missing"}));
  ledger.Decided("a", false);
  ledger.Decided("b", true);
  ledger.Decided("b", true);  // reported twice
  const Tally tally = ledger.tally();
  EXPECT_EQ(tally.lines, 5);
  EXPECT_EQ(tally.accepted, 1);
  EXPECT_EQ(tally.duplicates, 1);
  EXPECT_EQ(tally.already_present, 1);
  EXPECT_EQ(tally.refused(), 1);
  EXPECT_EQ(tally.undecided(), 1);
  EXPECT_EQ(ledger.Snapshot().last_line, 6);
}

TEST(Ledger, CountsAnItemOfTwoLinesOnce) {
  Ledger ledger(Fresh());
  EXPECT_TRUE(ledger.Settled(1, Stored{"a", true}));
  ledger.Decided("a", false);
  EXPECT_FALSE(ledger.Settled(2, Stored{"a", true}));
  EXPECT_EQ(ledger.tally().accepted, 1);
  EXPECT_EQ(ledger.tally().already_present, 1);
}

class CheckpointTest : public testing::Test {
 protected:
  test::TempDir dir_{"checkpoint"};
  const std::string path_ = dir_.path() + "/import.json";
};

TEST_F(CheckpointTest, ComesBackAsItWas) {
  Ledger ledger(Fresh());
  ledger.Settled(1, Stored{"a", true});
  ledger.Settled(2, Stored{"b", true});
  ledger.Settled(3, Refusal{"not JSON", "..."});
  ledger.Decided("a", true);
  ASSERT_TRUE(WriteCheckpoint(path_, ledger.Snapshot()).ok());
  const auto read = ReadCheckpoint(path_, SomeImport());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->identity, SomeImport());
  EXPECT_EQ(read->last_line, 3);
  EXPECT_EQ(read->began, Fresh().began);
  EXPECT_EQ(read->undecided, std::set<std::string>{"b"});
  EXPECT_EQ(read->tally.lines, 3);
  EXPECT_EQ(read->tally.duplicates, 1);
  EXPECT_EQ(read->tally.refused_by_reason.at("not JSON"), 1);
  RemoveCheckpoint(path_);
  EXPECT_FALSE(ReadCheckpoint(path_, SomeImport()));
}

TEST_F(CheckpointTest, OfAnotherImportCountsAsNone) {
  ASSERT_TRUE(WriteCheckpoint(path_, Fresh()).ok());
  EXPECT_TRUE(ReadCheckpoint(path_, SomeImport()));
  ImportIdentity changed = SomeImport();
  changed.file_modified_ns += 1;
  EXPECT_FALSE(ReadCheckpoint(path_, changed));
  ImportIdentity elsewhere = SomeImport();
  elsewhere.item_namespace = "other";
  EXPECT_FALSE(ReadCheckpoint(path_, elsewhere));
}

TEST_F(CheckpointTest, ThatIsDamagedCountsAsNone) {
  ASSERT_TRUE(WriteCheckpoint(path_, Fresh()).ok());
  std::ifstream in(path_);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), whole.substr(0, whole.size() / 2),
        std::string(R"({"version":1,"undecided":7})")}) {
    std::ofstream(path_) << text;
    EXPECT_FALSE(ReadCheckpoint(path_, SomeImport())) << text;
  }
}

TEST_F(CheckpointTest, WhoseSumsDoNotAddUpCountsAsNone) {
  Checkpoint wrong = Fresh();
  wrong.tally.lines = 7;
  ASSERT_TRUE(WriteCheckpoint(path_, wrong).ok());
  EXPECT_FALSE(ReadCheckpoint(path_, SomeImport()));
}

TEST_F(CheckpointTest, NeverReplacesAFileThatIsNone) {
  EXPECT_TRUE(CheckMayReplace("").ok());
  EXPECT_TRUE(CheckMayReplace(path_).ok()) << "there is none yet";
  ASSERT_TRUE(WriteCheckpoint(path_, Fresh()).ok());
  EXPECT_TRUE(CheckMayReplace(path_).ok());
  std::ofstream(path_, std::ios::trunc) << "precious notes\n";
  EXPECT_FALSE(CheckMayReplace(path_).ok());
  EXPECT_FALSE(CheckMayReplace(dir_.path()).ok());
}

TEST_F(CheckpointTest, ThatCannotBeWrittenIsToldWithItsPath) {
  const Status status = WriteCheckpoint(dir_.path() + "/no/such/folder/import.json", Fresh());
  EXPECT_NE(Message(status).find("/no/such/folder/import.json"), std::string::npos) << status;
}

TEST(Refusal, OfTheServerIsCountedByItsFirstField) {
  const Refusal refusal =
      ToRefusal(InvalidArgument({{"item.title", "is empty"}, {"item.url", "is no address"}}));
  EXPECT_EQ(refusal.reason, "title");
  EXPECT_EQ(refusal.detail, "title: is empty; url: is no address");
  EXPECT_EQ(ToRefusal(FailedPrecondition("closed")).reason, "refused by the server");
}

}  // namespace
}  // namespace winnow::app
