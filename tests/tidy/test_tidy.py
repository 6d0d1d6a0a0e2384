"""The rules find what they are for in bad samples, and leave good ones alone."""

import tempfile
import unittest
from pathlib import Path

import functions
import includes
import layout
import rooms
import text_rules
import tidy
from source import Source, code_of, walk

STORE = "services/dedup/history/decision_store.cc"
DOMAIN = "services/dedup/log/review.cc"


def rules_hit(path: str, text: str) -> set[str]:
    return {finding.rule for finding in tidy.judge(Source(path, text))}


def include_findings(path: str, included: str) -> list[str]:
    return [finding.message for finding in includes.check(Source(path, f"#include {included}\n"))]


class IncludeTable(unittest.TestCase):
    def assert_allowed(self, path: str, *included: str) -> None:
        for header in included:
            self.assertEqual([], include_findings(path, header), f"{path} includes {header}")

    def assert_refused(self, path: str, *included: str) -> None:
        for header in included:
            self.assertTrue(include_findings(path, header), f"{path} includes {header}")

    def test_pure_files_include_pure_files_and_platform_base(self) -> None:
        self.assert_allowed(
            DOMAIN,
            "<vector>",
            '"services/platform/base/status.h"',
            '"services/dedup/index/token_index.h"',
        )
        self.assert_refused(
            DOMAIN,
            "<pqxx/pqxx>",
            '"absl/status/status.h"',
            '"services/platform/postgres/session/session.h"',
            '"winnow/dedup/v1/dedup.pb.h"',
            '"services/dedup/history/decision_store.h"',
        )

    def test_store_knows_postgres_and_its_domain(self) -> None:
        self.assert_allowed(
            STORE, '"services/platform/postgres/session/session.h"', '"services/dedup/log/review.h"'
        )
        self.assert_refused(
            STORE, "<pqxx/pqxx>", '"services/dedup/api/convert.h"', '"winnow/dedup/v1/dedup.pb.h"'
        )

    def test_convert_knows_its_own_messages_and_no_stub(self) -> None:
        path = "services/dedup/api/convert.h"
        self.assert_allowed(
            path, '"winnow/dedup/v1/dedup_service.pb.h"', '"google/rpc/status.pb.h"'
        )
        self.assert_refused(
            path,
            '"winnow/dedup/v1/dedup_service.grpc.pb.h"',
            '"winnow/newsfeed/v1/newsfeed.pb.h"',
            '"services/dedup/history/decision_store.h"',
        )

    def test_handlers_and_workers_know_no_driver_and_no_grpc(self) -> None:
        for path in ("services/dedup/api/handlers.cc", "services/dedup/history/tail_worker.cc"):
            self.assert_allowed(
                path,
                '"services/platform/grpc/call/call_context.h"',
                '"services/platform/postgres/pool/pool.h"',
                '"services/dedup/history/decision_store.h"',
            )
            self.assert_refused(
                path,
                "<grpcpp/grpcpp.h>",
                "<pqxx/pqxx>",
                '"services/platform/grpc/call/bind_methods.h"',
                '"services/platform/grpc/call/binder.h"',
                '"winnow/dedup/v1/dedup_service.grpc.pb.h"',
            )

    def test_service_knows_stubs_of_its_peers_and_not_their_folder(self) -> None:
        path = "services/dedup/service.cc"
        self.assert_allowed(path, '"winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"')
        self.assert_refused(path, '"services/newsfeed/service.h"')

    def test_platform_knows_no_service(self) -> None:
        path = "services/platform/process/log.cc"
        self.assert_allowed(path, "<spdlog/spdlog.h>", '"winnow/events/v1/events.pb.h"')
        self.assert_refused(
            path,
            '"services/dedup/history/decision_store.h"',
            '"winnow/dedup/v1/dedup.pb.h"',
            "<grpcpp/grpcpp.h>",
            "<pqxx/pqxx>",
        )

    def test_app_knows_only_the_service_headers(self) -> None:
        self.assert_allowed("services/app/serve/targets.cc", '"services/dedup/service.h"')
        self.assert_refused(
            "services/app/serve/targets.cc", '"services/dedup/history/decision_store.h"'
        )

    def test_rooms_form_one_direction(self) -> None:
        path = "services/newsfeed/feed/feed_store.cc"
        self.assert_allowed(path, '"services/newsfeed/articles/article_sql.h"')
        self.assert_refused(
            path,
            '"services/newsfeed/write/write_store.h"',
            '"services/newsfeed/api/convert.h"',
            '"services/newsfeed/elsewhere/thing.h"',
        )
        with self.assertRaises(ValueError):
            rooms.closure({"a": {"b"}, "b": {"a"}})

    def test_roles_are_the_words_of_a_name(self) -> None:
        for path, role in (
            ("services/newsfeed/feed/feed_store_count.cc", "store"),
            ("services/newsfeed/feed/feed_prefix.h", "pure"),
            ("services/newsfeed/api/convert_feed.cc", "convert"),
            ("services/newsfeed/api/watch_hub.h", "handlers"),
            ("services/newsfeed/service.cc", "root"),
            ("services/dedup/decide/bulk_turns.h", "worker"),
        ):
            self.assertEqual(role, includes.role_of(path), path)

    def test_platform_base_does_no_io(self) -> None:
        path = "services/platform/base/text.cc"
        self.assert_allowed(path, "<string>", "<unicode/uchar.h>")
        self.assert_refused(path, "<unistd.h>", "<fstream>", '"services/platform/process/log.h"')

    def test_quoted_includes_are_rooted_at_the_repository(self) -> None:
        self.assert_refused(STORE, '"store.h"', '"../platform/status.h"')
        self.assert_refused("tests/unit/x_test.cc", '"helpers.h"')


class Layout(unittest.TestCase):
    def findings(self, path: str, text: str) -> list[str]:
        return [finding.message for finding in layout.check(Source(path, text))]

    def test_a_class_is_in_the_file_of_its_name(self) -> None:
        path = "services/newsfeed/feed/feed_store.h"
        self.assertEqual([], self.findings(path, "class FeedStore final : public A {\n};\n"))
        self.assertEqual([], self.findings(path, "struct Plain {\n};\nclass Other;\n"))
        self.assertEqual(1, len(self.findings(path, "class OtherStore {\n};\n")))

    def test_a_name_says_more_than_a_role(self) -> None:
        path = "tests/unit/newsfeed/feed/feed_store_test.cc"
        self.assertEqual([], self.findings(path, "struct PutBatch {\n};\nclass Store;\n"))
        for name in ("Worker", "Store", "Batch", "Lane"):
            self.assertEqual(1, len(self.findings(path, f"struct {name} {{\n}};\n")))

    def test_code_has_a_header_and_tests_a_room(self) -> None:
        tree = [
            "services/newsfeed/feed/feed_store.h",
            "services/newsfeed/feed/feed_store_count.cc",
            "tests/unit/newsfeed/feed/feed_store_test.cc",
            "tests/integration/newsfeed/feed_test.cc",
        ]
        self.assertEqual([], list(layout.check_tree(tree)))
        for path in (
            "services/newsfeed/feed/page_store.cc",
            "tests/unit/newsfeed/feed_store_test.cc",
            "tests/unit/newsfeed/nowhere/feed_store_test.cc",
            "tests/integration/feed_test.cc",
        ):
            self.assertEqual(1, len(list(layout.check_tree([*tree, path]))), path)

    def test_folders_are_bounded(self) -> None:
        tree = [f"services/newsfeed/feed/a{i}.h" for i in range(30)]
        self.assertEqual([], list(layout.check_tree(tree)))
        self.assertEqual(1, len(list(layout.check_tree([*tree, "services/newsfeed/feed/b.h"]))))


class Functions(unittest.TestCase):
    def lengths_over(self, text: str, path: str = DOMAIN) -> list[str]:
        return [finding.message for finding in functions.check(Source(path, text))]

    def test_a_long_function_is_named(self) -> None:
        body = "  Step();\n" * 60
        found = self.lengths_over(
            f"namespace a {{\nint Store::Long(int x) const {{\n{body}}}\n}}\n"
        )
        self.assertEqual(["Store::Long has 62 lines, the limit is 60"], found)

    def test_a_template_is_a_function_whatever_follows_its_parameters(self) -> None:
        body = "  Step();\n" * 60
        head = "template <class T, typename U>\n[[nodiscard]] T Long(U u) const noexcept override"
        self.assertEqual(1, len(self.lengths_over(f"{head} {{\n{body}}}\n")))

    def test_scopes_are_not_functions(self) -> None:
        many = "  void Short() {}\n" * 90
        self.assertEqual(
            [], self.lengths_over(f"namespace {{\nclass A final : public B {{\n{many}}};}}")
        )
        self.assertEqual([], self.lengths_over("enum class E : int {\n" + "  kA,\n" * 90 + "};\n"))
        self.assertEqual([], self.lengths_over("const int kTable[] = {\n" + "  1,\n" * 90 + "};\n"))

    def test_a_method_after_member_initialisers_is_measured(self) -> None:
        body = "  Step();\n" * 60
        found = self.lengths_over(f"class A {{\n  A(int a) : a_{{a}}, b_{{1}} {{\n{body}}}\n}};\n")
        self.assertEqual(1, len(found))

    def test_braces_in_strings_and_comments_do_not_count(self) -> None:
        text = 'void A() {\n  P("{");  // {\n  P(R"sql({{{)sql");\n  P(\'{\');\n}\nvoid B() {}\n'
        self.assertEqual([], self.lengths_over(text + "\n" * 90))

    def test_tests_may_be_longer(self) -> None:
        text = "TEST(Suite, Fact) {\n" + "  Step();\n" * 70 + "}\n"
        self.assertEqual([], self.lengths_over(text, "tests/unit/a_test.cc"))
        longer = "TEST(Suite, Fact) {\n" + "  Step();\n" * 90 + "}\n"
        self.assertEqual(1, len(self.lengths_over(longer, "tests/unit/a_test.cc")))

    def test_python_functions_are_measured(self) -> None:
        text = "def long():\n" + "  step()\n" * 61
        self.assertEqual(1, len(self.lengths_over(text, "clients/python/a.py")))


class Text(unittest.TestCase):
    def test_lines_are_100_columns_and_clean_at_the_end(self) -> None:
        self.assertEqual(set(), rules_hit(STORE, "//" + "x" * 98 + "\n"))
        self.assertEqual({"line-length"}, rules_hit(STORE, "//" + "x" * 99 + "\n"))
        self.assertEqual(set(), rules_hit(STORE, "//" + "가" * 98 + "\n"))
        self.assertEqual(set(), rules_hit(STORE, "// https://example.com/" + "x" * 99 + "\n"))
        for bad in ("int a; \n", "\tint a;\n", "int a;\r\n", "int a;"):
            self.assertEqual({"whitespace"}, rules_hit(STORE, bad), repr(bad))

    def test_files_are_short(self) -> None:
        self.assertEqual(set(), rules_hit(STORE, "int a;\n" * 400))
        self.assertEqual({"file-length"}, rules_hit(STORE, "int a;\n" * 401))
        self.assertEqual(set(), rules_hit("tests/unit/a_test.cc", "int a;\n" * 600))

    def test_headers_begin_with_pragma_once_and_names_are_snake_case(self) -> None:
        self.assertEqual({"pragma-once"}, rules_hit("services/dedup/a.h", "int a;\n"))
        self.assertEqual(set(), rules_hit("services/dedup/a.h", "// Why.\n#pragma once\n"))
        self.assertEqual({"file-name"}, rules_hit("services/dedup/Store.cc", "int a;\n"))

    def test_messages_are_plain_english(self) -> None:
        for bad in (
            "as many calls wait as may",
            "is no item id",
            "nobody is told",
            "Redis is away",
        ):
            self.assertEqual({"message"}, rules_hit(STORE, f'P("{bad}");\n'), bad)
        for good in ('P("is no longer leased");', 'P("is not an id");'):
            self.assertEqual(set(), rules_hit(STORE, f"{good}\n"), good)

    def test_comments_and_documents_are_plain_english(self) -> None:
        for bad in ("a reader is told", "an operator mends it", "what is no item id", "who waits"):
            self.assertEqual({"idiom"}, rules_hit(STORE, f"F();  // {bad}\n"), bad)
            self.assertEqual({"idiom"}, rules_hit("docs/a.md", f"{bad}\n"), bad)
        for good in ("there is no reader", "it is no longer leased", "recommended, amended"):
            self.assertEqual(set(), rules_hit(STORE, f"F();  // {good}\n"), good)

    def test_sleeping_is_banned_outside_the_polling_helper(self) -> None:
        for call in ("std::this_thread::sleep_for(1s);", "usleep(5);", "sleep(5);"):
            self.assertEqual(
                {"call"}, rules_hit("tests/unit/a_test.cc", f"void F() {{ {call} }}\n")
            )
        sleep = "void F() { std::this_thread::sleep_for(1s); }\n"
        self.assertEqual(set(), rules_hit("tests/support/poll.cc", sleep))
        self.assertEqual({"call"}, rules_hit("tests/e2e/test_a.py", "time.sleep(1)\n"))

    def test_ownership_is_not_by_hand(self) -> None:
        for bad in ("auto* a = new Foo();", "delete a;", "delete[] a;"):
            self.assertEqual({"call"}, rules_hit(STORE, f"void F() {{ {bad} }}\n"), bad)
        for good in (
            "A(const A&) = delete;",
            "static auto* a = new Foo();",
            "auto a = std::unique_ptr<Foo>(new Foo());",
            "std::unique_ptr<Foo> a(new Foo());",
            "int new_head = 1; // a new one",
            'P("delete it");',
        ):
            self.assertEqual(set(), rules_hit(STORE, f"{good}\n"), good)
        self.assertEqual(
            set(), rules_hit("services/platform/grpc/a.cc", "void F() { delete this; }\n")
        )

    def test_printing_is_for_app(self) -> None:
        text = 'void F() { std::cout << "a"; }\n'
        self.assertEqual({"call"}, rules_hit(STORE, text))
        self.assertEqual(set(), rules_hit("services/app/main.cc", text))

    def test_errors_are_not_swallowed(self) -> None:
        text = "void F() {\n  try {\n  } catch (...) {\n    // nothing\n  }\n}\n"
        self.assertEqual({"call"}, rules_hit(STORE, text))
        self.assertEqual(
            {"call"}, rules_hit("clients/python/a.py", "try:\n  a()\nexcept:\n  pass\n")
        )

    def test_time_comes_from_the_clock_in_services(self) -> None:
        text = "auto a = std::chrono::system_clock::now();\n"
        self.assertEqual({"call"}, rules_hit(STORE, text))
        self.assertEqual(set(), rules_hit("services/platform/clock.cc", text))

    def test_sql_names_its_columns(self) -> None:
        for bad in ("SELECT * FROM a", "select  a.* from a", "SELECT\n  * FROM a"):
            self.assertEqual({"sql"}, rules_hit(STORE, f'auto q = R"({bad})";\n'), bad)
            self.assertEqual({"sql"}, rules_hit("services/dedup/1.sql", f"{bad};\n"), bad)
        self.assertEqual(set(), rules_hit(STORE, 'auto q = "SELECT count(*) FROM a";\n'))
        self.assertEqual(set(), rules_hit(STORE, "// SELECT * breaks\n"))

    def test_words_that_do_not_belong(self) -> None:
        root, later, index = "/" + "root/x", "TO" + "DO", "py" + "pi.org"
        for word in (root, later, index):
            self.assertEqual({"words"}, rules_hit("docs/a.md", f"see {word}\n"), word)
            self.assertEqual({"words"}, rules_hit("samples/a.jsonl", f"see {word}\n"), word)
        self.assertEqual(set(), rules_hit("docs/a.md", "the network/working/rooted tree\n"))

    def test_only_tests_of_real_data_may_be_skipped(self) -> None:
        skip = "void F() { GTEST_SKIP(); }\n"
        self.assertEqual({"skip"}, rules_hit("tests/unit/a_test.cc", skip))
        self.assertEqual(
            set(), rules_hit("tests/unit/a_test.cc", f"// WINNOW_DATA is unset\n{skip}")
        )

    def test_a_silenced_check_says_which_and_why(self) -> None:
        self.assertEqual({"skip"}, rules_hit(STORE, "int a;  // NOLINT\n"))
        self.assertEqual(set(), rules_hit(STORE, "int a;  // NOLINT(bugprone-x): the API's type\n"))


class Migrations(unittest.TestCase):
    TOP = "-- oldest-compatible: 0.2.0\n"

    def hits(self, text: str, number: int = 99) -> set[str]:
        return rules_hit(f"services/dedup/migrations/{number:04}_a.sql", text)

    def test_the_oldest_compatible_binary_is_declared_at_the_top(self) -> None:
        self.assertEqual(set(), self.hits(f"{self.TOP}SELECT 1;\n"))
        self.assertEqual(set(), self.hits(f"-- contract: a.b\n{self.TOP}SELECT 1;\n"))
        for bad in (
            "",
            "SELECT 1;\n",
            f"SELECT 1;\n{self.TOP}",
            f"-- Why.\n{self.TOP}",
            "-- oldest-compatible: 0.2\n",
            self.TOP * 2,
        ):
            self.assertEqual({"migration"}, self.hits(bad), bad)

    def test_what_running_processes_use_is_taken_away_by_a_declared_contract(self) -> None:
        for bad in (
            "ALTER TABLE dedup.a RENAME COLUMN b TO c;",
            "ALTER TABLE dedup.a DROP COLUMN b;",
            "DROP TABLE dedup.a;",
            "ALTER TABLE dedup.a ALTER COLUMN b TYPE bigint;",
            "ALTER TABLE dedup.a\n  alter column b drop default;",
        ):
            for number in (1, 99):
                self.assertEqual({"migration"}, self.hits(f"{self.TOP}{bad}\n", number), bad)
            self.assertEqual(set(), self.hits(f"-- contract: a.b\n{self.TOP}{bad}\n"), bad)

    def test_indexes_of_existing_tables_are_built_concurrently(self) -> None:
        alone = f"{self.TOP}-- transaction: none\n"
        bad = "CREATE INDEX i ON dedup.a (b);\n"
        self.assertEqual({"migration"}, self.hits(self.TOP + bad))
        self.assertEqual(set(), self.hits(self.TOP + bad, number=1))  # before the first release
        self.assertEqual(
            {"migration"}, self.hits(f"{alone}CREATE UNIQUE INDEX i ON dedup.a (b);\n")
        )
        self.assertEqual(set(), self.hits(f"{self.TOP}CREATE TABLE dedup.a (b int);\n{bad}"))
        good = "CREATE INDEX CONCURRENTLY i ON dedup.a (b);\n"
        self.assertEqual(set(), self.hits(alone + good))
        self.assertEqual({"migration"}, self.hits(self.TOP + good))
        self.assertEqual({"migration"}, self.hits(f"{alone}DROP INDEX CONCURRENTLY dedup.i;\n"))
        self.assertEqual(set(), self.hits(f"{alone}DROP INDEX CONCURRENTLY IF EXISTS dedup.i;\n"))

    def test_constraints_of_existing_tables_are_not_validated_under_a_lock(self) -> None:
        for bad in (
            "ADD CHECK (b > 0)",
            "ADD CONSTRAINT k FOREIGN KEY (b) REFERENCES dedup.c",
            "ADD CONSTRAINT k UNIQUE (b)",
            "ALTER COLUMN b SET NOT NULL",
        ):
            text = f"{self.TOP}ALTER TABLE dedup.a {bad};\n"
            self.assertEqual({"migration"}, self.hits(text), bad)
            made = f"{self.TOP}CREATE TABLE dedup.a (b int);\nALTER TABLE dedup.a {bad};\n"
            self.assertEqual(set(), self.hits(made), bad)
        for good in (
            "ADD CHECK (b > 0) NOT VALID",
            "VALIDATE CONSTRAINT k",
            "ADD CONSTRAINT k UNIQUE USING INDEX i",
            "ADD COLUMN b text NOT NULL DEFAULT ''",
        ):
            text = f"{self.TOP}ALTER TABLE dedup.a {good};\n"
            self.assertEqual(set(), self.hits(text), good)


class Tree(unittest.TestCase):
    def test_positions_survive_blanking(self) -> None:
        text = (
            "int a; // one\nauto s = \"// {\";\nauto r = R\"(a\nb)\"; char c = '\\'';\n1'000'000;\n"
        )
        code = code_of(text)
        self.assertEqual(len(text), len(code))
        self.assertEqual(text.count("\n"), code.count("\n"))
        self.assertNotIn("one", code)
        self.assertNotIn("{", code)
        self.assertIn("1'000'000;", code)

    def test_builds_and_caches_are_no_sources(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path in (
                "build/a.cc",
                ".tools/b.cc",
                "services/c.cc",
                ".ci/run",
                "a/__pycache__/d.py",
            ):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("int a;\n", encoding="utf-8")
            self.assertEqual([".ci/run", "services/c.cc"], sorted(walk(root)))

    def test_what_is_not_utf8_is_told_and_the_rest_is_judged(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.md").write_bytes(b"\xff\n")
            (Path(folder) / "b.md").write_text("end ", encoding="utf-8")
            found = {(finding.path, finding.rule) for finding in tidy.judge_tree(Path(folder))}
            self.assertEqual({("a.md", "utf-8"), ("b.md", "whitespace")}, found)

    def test_every_text_rule_is_a_row_that_compiles(self) -> None:
        self.assertTrue(
            all(call.message for call in text_rules.CPP_CALLS + text_rules.PYTHON_CALLS)
        )


if __name__ == "__main__":
    unittest.main()
