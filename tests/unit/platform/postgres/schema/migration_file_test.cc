#include "services/platform/postgres/schema/migration_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/platform/postgres/schema/index_build.h"

namespace winnow::pg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StatusOr<MigrationFile> Read(std::string_view text, std::string_view name = "0001_init.sql") {
  const embedded::File files[] = {{name, text}};
  WINNOW_ASSIGN_OR_RETURN(const std::vector<MigrationFile> read, ReadMigrationFiles("shop", files));
  return read[0];
}

TEST(VersionTest, IsThreeNumbersComparedOneAfterTheOther) {
  EXPECT_LT(*ParseVersion("0.2.9"), *ParseVersion("0.10.0"));
  EXPECT_LT(*ParseVersion("0.10.1"), *ParseVersion("1.0.0"));
  EXPECT_EQ(ParseVersion("12.0.345")->ToString(), "12.0.345");
  for (const char* bad : {"", "1", "1.2", "1.2.3.4", "1.2.", "v1.2.3", "1.2.3-rc1", " 1.2.3",
                          "01.2.3", "1.-2.3", "1.2.9999999"}) {
    EXPECT_FALSE(ParseVersion(bad)) << bad;
  }
}

TEST(VersionTest, OfTheBinaryIsThatOfTheProject) {
  EXPECT_GE(BuildVersion(), (Version{{0, 2, 0}}));
}

TEST(MigrationFileTest, MustDeclareTheOldestCompatibleBinary) {
  EXPECT_THAT(Message(Read("SELECT 1;\n").status()), HasSubstr("-- oldest-compatible: X.Y.Z"));
  for (const char* bad : {"-- oldest-compatible: soon\n", "-- oldest-compatable: 0.2.0\n",
                          "SELECT 1;\n-- oldest-compatible: 0.2.0\n", "-- oldest-compatible:\n",
                          "-- oldest-compatible: 0.2.0\n-- oldest-compatible: 0.2.0\n",
                          "-- oldest-compatible: 0.2.0\n-- transaction: some\n",
                          "-- oldest-compatible: 0.2.0\n-- former-checksum: 12\n"}) {
    EXPECT_EQ(Read(bad).status().code(), StatusCode::kInternal) << bad;
  }
  const auto read = Read("-- contract: a.b\n-- oldest-compatible: 0.12.3\n-- A: b\nSELECT 1;\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->oldest_compatible, (Version{{0, 12, 3}}));
  EXPECT_EQ(read->sql, "-- A: b\nSELECT 1;\n");
  EXPECT_TRUE(read->statements.empty());
}

TEST(MigrationFileTest, TheChecksumIsOfWhatFollowsTheDeclarations) {
  const std::string before = Read("-- oldest-compatible: 0.2.0\nSELECT 1;\n")->checksum;
  EXPECT_EQ(before.size(), 32);
  EXPECT_EQ(Read("-- contract: a\n-- oldest-compatible: 0.3.0\nSELECT 1;\n")->checksum, before);
  EXPECT_NE(Read("-- oldest-compatible: 0.2.0\nSELECT 2;\n")->checksum, before);
}

TEST(MigrationFileTest, WithoutATransactionItsStatementsAreSplit) {
  const auto read = Read(
      "-- oldest-compatible: 0.2.0\n-- transaction: none\n-- Why; because.\n"
      "CREATE INDEX CONCURRENTLY i\n  ON shop.a (x);\n\nALTER TABLE shop.a\n  ADD z int");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->statements, ElementsAre("CREATE INDEX CONCURRENTLY i\n  ON shop.a (x)",
                                            "ALTER TABLE shop.a\n  ADD z int"));
  for (const char* bad : {"-- Nothing.\n", "DO $$\nSELECT 1;\n$$;\n"}) {
    EXPECT_FALSE(
        Read("-- oldest-compatible: 0.2.0\n-- transaction: none\n" + std::string(bad)).ok())
        << bad;
  }
}

TEST(MigrationFileTest, FilesAreNumberedWithoutAGap) {
  for (const char* bad : {"0002_init.sql", "init.sql", "0000_init.sql"}) {
    EXPECT_THAT(Message(Read("-- oldest-compatible: 0.2.0\n", bad).status()),
                HasSubstr("out of order"));
  }
}

TEST(IndexBuildTest, IsReadFromItsStatement) {
  const auto build = ParseIndexBuild("CREATE UNIQUE INDEX CONCURRENTLY i\n  ON shop.a(x, y)");
  ASSERT_TRUE(build.ok() && *build);
  EXPECT_EQ((*build)->schema + " " + (*build)->table + " " + (*build)->index, "shop a i");
  EXPECT_EQ(WithoutConcurrently("CREATE INDEX CONCURRENTLY i ON shop.a (x)"),
            "CREATE INDEX i ON shop.a (x)");
  EXPECT_EQ(*ParseIndexBuild("DROP INDEX CONCURRENTLY IF EXISTS shop.i"), std::nullopt);
  for (const char* bad : {"CREATE INDEX CONCURRENTLY ON shop.a (x)", "CREATE INDEX i ON shop.a (x)",
                          "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON shop.a (x)",
                          "CREATE INDEX CONCURRENTLY i ON a (x)", "CREATE INDEX CONCURRENTLY",
                          "CREATE INDEX CONCURRENTLY i ON ONLY shop.a (x)"}) {
    EXPECT_EQ(ParseIndexBuild(bad).status().code(), StatusCode::kInternal) << bad;
  }
}

}  // namespace
}  // namespace winnow::pg
