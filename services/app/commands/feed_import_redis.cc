#include <cstdio>
#include <fstream>
#include <iostream>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/commands/feed_operator_commands.h"
#include "services/app/commands/verb.h"
#include "services/app/import/redis/redis_news.h"
#include "services/app/import/redis/redis_source.h"
#include "services/platform/base/hash.h"
#include "services/platform/process/metrics.h"
#include "winnow/newsfeed/v1/newsfeed_service.grpc.pb.h"

namespace winnow::app {
namespace {

using newsfeed::v1::Article;
using newsfeed::v1::NewsFeedService;
using Stub = NewsFeedService::Stub;

constexpr size_t kBatch = 200;

struct Options {
  RemoteOptions remote;
  RedisSource redis;
  std::string item_namespace;
  std::vector<std::string> categories;
  std::string state_file;
  bool create_categories = false;
};

struct Tally {
  int64_t created = 0, updated = 0, unchanged = 0, merged = 0, gone = 0, refused = 0;
  int64_t own = 0;        // written by Winnow, which has them in full
  int64_t differing = 0;  // not in the store as they are in Redis
  Hash128Value in_redis;  // sums over articles, order apart
  Hash128Value in_store;
};

void AddTo(Hash128Value& sum, const Article& article) {
  const Hash128Value hash = Hash128(ComparedText(article));
  sum.high += hash.high;
  sum.low += hash.low;
}

class RedisImport {
 public:
  RedisImport(const Options& options, redis::Client& redis, const Remote& remote)
      : options_(options), redis_(redis), server_(remote) {}

  Status Run(const Interrupt& interrupt) {
    std::vector<std::string> categories = options_.categories;
    if (categories.empty()) {
      WINNOW_ASSIGN_OR_RETURN(categories, FindRedisCategories(redis_));
    }
    RedisFeeds feeds;
    for (const std::string& category : categories) {
      WINNOW_RETURN_IF_ERROR(ReadRedisFeed(redis_, category, feeds));
      if (options_.create_categories) WINNOW_RETURN_IF_ERROR(Create(category));
    }
    for (auto at = feeds.upper_bound(LastDone()); at != feeds.end() && !interrupt.requested();) {
      std::vector<std::string> ids;
      for (; at != feeds.end() && ids.size() < kBatch; ++at) ids.push_back(at->first);
      WINNOW_RETURN_IF_ERROR(Batch(ids, feeds));
      Note(ids.back());
    }
    if (!interrupt.requested() && !options_.state_file.empty()) {
      std::remove(options_.state_file.c_str());
    }
    return OkStatus();
  }

  const Tally& tally() const { return tally_; }

 private:
  // Ids go in order: what is up to this one is done.
  std::string LastDone() const {
    std::string id;
    if (options_.state_file.empty()) return id;
    std::ifstream file(options_.state_file);
    std::getline(file, id);  // none: from the first
    return id;
  }

  void Note(const std::string& id) const {
    if (options_.state_file.empty()) return;
    const std::string next = options_.state_file + ".next";
    std::ofstream(next) << id << '\n';
    std::rename(next.c_str(), options_.state_file.c_str());
  }

  Status Create(const std::string& category) {
    if (category == "all" || category == "uncategorized") return OkStatus();
    newsfeed::v1::CreateCategoryRequest request;
    request.mutable_category()->set_namespace_(options_.item_namespace);
    request.mutable_category()->set_id(category);
    request.mutable_category()->set_display_name(category);
    const Status created = server_.Call(&Stub::CreateCategory, request).status();
    return created.code() == StatusCode::kAlreadyExists ? OkStatus() : created;
  }

  Status Batch(const std::vector<std::string>& ids, const RedisFeeds& feeds) {
    WINNOW_ASSIGN_OR_RETURN(const auto hashes, ReadRedisArticles(redis_, ids));
    newsfeed::v1::BatchUpsertArticlesRequest request;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (IsProjectedByWinnow(hashes[i])) {
        ++tally_.own;
        continue;
      }
      auto article = ToArticle(ids[i], feeds.at(ids[i]), hashes[i]);
      if (!article) {
        ++tally_.gone;
        continue;
      }
      article->set_namespace_(options_.item_namespace);
      *request.add_articles() = *std::move(article);
    }
    if (request.articles().empty()) return OkStatus();
    WINNOW_ASSIGN_OR_RETURN(const auto response, server_.Call(&Stub::BatchUpsertArticles, request));
    std::vector<const Article*> stored;  // those that are in the store under their own id
    for (int i = 0; i < response.results_size(); ++i) {
      if (Count(request.articles(i), response.results(i))) stored.push_back(&request.articles(i));
    }
    return Compare(stored);
  }

  bool Count(const Article& article, const newsfeed::v1::UpsertArticleResult& result) {
    if (result.has_error()) {
      ++tally_.refused;
      std::cerr << article.id() << ": " << result.error().message() << '\n';
      return false;
    }
    switch (result.upserted().outcome()) {
      case newsfeed::v1::UPSERT_OUTCOME_CREATED:
        ++tally_.created;
        return true;
      case newsfeed::v1::UPSERT_OUTCOME_UPDATED:
        ++tally_.updated;
        return true;
      case newsfeed::v1::UPSERT_OUTCOME_MERGED:
        ++tally_.merged;
        return false;
      default:
        ++tally_.unchanged;
        return true;
    }
  }

  // Reads back what was stored, and sums up both sides.
  Status Compare(const std::vector<const Article*>& sent) {
    if (sent.empty()) return OkStatus();
    newsfeed::v1::BatchGetArticlesRequest request;
    request.set_namespace_(options_.item_namespace);
    for (const Article* article : sent) request.add_ids(article->id());
    WINNOW_ASSIGN_OR_RETURN(const auto response, server_.Call(&Stub::BatchGetArticles, request));
    for (int i = 0; i < response.results_size(); ++i) {
      const Article& mine = *sent[static_cast<size_t>(i)];
      AddTo(tally_.in_redis, mine);
      if (response.results(i).has_article()) AddTo(tally_.in_store, response.results(i).article());
      if (response.results(i).has_article() &&
          ComparedText(mine) == ComparedText(response.results(i).article())) {
        continue;
      }
      ++tally_.differing;
      std::cerr << mine.id() << ": differs from what is stored\n";
    }
    return OkStatus();
  }

  const Options& options_;
  redis::Client& redis_;
  const Client<NewsFeedService> server_;
  Tally tally_;
};

void Print(const Tally& tally) {
  std::cout << tally.created << " created, " << tally.updated << " updated, " << tally.unchanged
            << " there already, " << tally.merged << " merged by url, " << tally.gone
            << " gone from Redis, " << tally.refused << " refused";
  if (tally.own > 0) std::cout << ", " << tally.own << " written by Winnow (skipped)";
  std::cout << '\n';
  char sums[80];
  std::snprintf(sums, sizeof(sums), "checksum %016llx in Redis, %016llx in the store",
                static_cast<unsigned long long>(tally.in_redis.high ^ tally.in_redis.low),
                static_cast<unsigned long long>(tally.in_store.high ^ tally.in_store.low));
  std::cout << sums << (tally.differing == 0 ? ": equal\n" : ": NOT equal\n");
}

StatusOr<int> RunImport(const Options& options, const Interrupt& interrupt) {
  Metrics metrics;
  WINNOW_ASSIGN_OR_RETURN(const auto redis, OpenRedis(options.redis, metrics));
  WINNOW_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(options.remote));
  RedisImport import(options, *redis, remote);
  const Status done = import.Run(interrupt);
  Print(import.tally());
  WINNOW_RETURN_IF_ERROR(done);
  if (interrupt.requested()) return kInterrupted;
  const Tally& tally = import.tally();
  if (tally.differing > 0) return kFailed;
  return tally.refused > 0 ? kPartlyRefused : kOk;
}

}  // namespace

void AddFeedImportRedis(CLI::App& feed, Command& chosen) {
  auto [command, options] = AddRemoteVerb(feed, chosen, "import-redis",
                                          "articles of a Redis in the published layout", RunImport);
  command.footer(
      "Reads news:feed:{category} and news:article:{id}, stores each article, reads it back and\n"
      "compares checksums. May be run again: what is there already stays as it is. Articles that\n"
      "Winnow itself wrote to that Redis are skipped: the store has more of them.\n"
      "Example:\n  winnow feed import-redis --redis redis://127.0.0.1:6379 --create-categories");
  AddRedisOptions(command, options.redis);
  AddNamespace(command, options.item_namespace);
  command.add_option("--category", options.categories,
                     "only this category; may be repeated (default: all that have a feed)");
  command.add_option("--state", options.state_file,
                     "file that stores the progress, from which an interrupted run resumes");
  command.add_flag("--create-categories", options.create_categories,
                   "create the categories that have a feed");
}

}  // namespace winnow::app
