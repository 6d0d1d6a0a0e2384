#include "tests/bench/collector/ingest_rows.h"

#include <random>
#include <string>

#include "services/collector/api/item_convert.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/uuid.h"

namespace winnow::bench {
namespace {

constexpr pg::Statement kInsert{
    "bench.insert",
    "INSERT INTO bench_items (id, identity, namespace, channel, external_id, url, canonical_url,"
    "   title, snippet, language, channel_name, image_url, video_url, source_categories, keywords,"
    "   publish_time, arrival_time, create_time)"
    " SELECT id, identity, namespace, channel, external_id, url, canonical_url, title, snippet,"
    "   language, channel_name, image_url, video_url, source_categories::text[], keywords::text[],"
    "   publish_time, arrival_time, create_time"
    " FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],"
    "   $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],"
    "   $14::text[], $15::text[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[])"
    "   AS i(id, identity, namespace, channel, external_id, url, canonical_url, title, snippet,"
    "     language, channel_name, image_url, video_url, source_categories, keywords, publish_time,"
    "     arrival_time, create_time)"};

// Hangul syllables with a space now and then, about as long as real ones.
std::string Hangul(std::mt19937& random, int syllables) {
  std::string text;
  for (int i = 0; i < syllables; ++i) {
    if (i > 0 && random() % 4 == 0) text += ' ';
    const unsigned code = 0xAC00 + random() % 11'172;
    text += static_cast<char>(0xE0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
  return text;
}

std::string ToLiteral(const std::vector<std::string>& words) {
  pg::Array array;
  for (const std::string& word : words) array.Add(word);
  return array.ToString();
}

std::string ToUuid(const Hash128Value& hash) {
  char text[33];
  std::snprintf(text, sizeof(text), "%016lx%016lx", hash.high, hash.low);
  return text;
}

}  // namespace

std::vector<collector::Item> MakeRows(int seed, int count) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const Time now = SystemClock().Now();
  std::vector<collector::Item> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) {
    collector::Item& item = rows[i];
    item.channel = "outlet-" + std::to_string(random() % 11);
    item.channel_name = Hangul(random, 5);
    item.title = Hangul(random, 30);
    if (random() % 4 != 0) item.snippet = Hangul(random, 150);
    item.url = "https://www.example.com/news/articleView.html?idxno=" + std::to_string(seed) + "-" +
               std::to_string(i) + "&utm_source=rss";
    item.source_categories = {"finance"};
    item.publish_time = now - std::chrono::minutes(random() % 10'000);
    Violations violations;
    collector::Accept(item, now, "item", violations);
    item.id = NewUuidV7(now);
  }
  return rows;
}

std::vector<grpc::ByteBuffer> ToRequests(const std::vector<collector::Item>& rows) {
  std::vector<grpc::ByteBuffer> requests;
  for (const collector::Item& row : rows) {
    collector::v1::IngestItemsRequest request;
    collector::v1::Item& item = *request.mutable_item();
    item = collector::ToProto(row);
    item.clear_id();
    item.clear_canonical_url();
    item.clear_language();
    item.clear_create_time();
    item.clear_arrival_time();
    item.clear_namespace_();
    const grpc::Slice slice(request.SerializeAsString());
    requests.emplace_back(&slice, 1);
  }
  return requests;
}

Status MakeBareTable(pg::Pool& pool, Deadline deadline) {
  return pool.Transaction(deadline, [](pg::Session& session) {
    session.ExecuteText("CREATE TABLE bench_items (LIKE collector.items INCLUDING ALL)");
    return OkStatus();
  });
}

Status InsertBare(pg::Pool& pool, std::span<const collector::Item> rows, Deadline deadline) {
  pg::Array arrays[18];
  for (const collector::Item& item : rows) {
    arrays[0].Add(item.id);
    arrays[1].Add(ToUuid(collector::IdentityOf(item)));
    int column = 2;
    for (const std::string* text :
         {&item.ns, &item.channel, &item.external_id, &item.url, &item.canonical_url, &item.title,
          &item.snippet, &item.language, &item.channel_name, &item.image_url, &item.video_url}) {
      arrays[column++].Add(*text);
    }
    arrays[13].Add(ToLiteral(item.source_categories));
    arrays[14].Add(ToLiteral(item.keywords));
    arrays[15].Add(item.publish_time);
    arrays[16].Add(item.arrival_time);
    arrays[17].Add(item.create_time);
  }
  pg::Parameters parameters;
  for (const pg::Array& array : arrays) parameters.Add(array);
  return pool.Transaction(deadline, [&](pg::Session& session) {
    session.Run(kInsert, parameters);
    return OkStatus();
  });
}

}  // namespace winnow::bench
