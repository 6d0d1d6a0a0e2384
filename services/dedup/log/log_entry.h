#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/dedup/index/vector_field.h"
#include "services/platform/base/clock.h"

namespace winnow::dedup {

// A document as the log of its namespace keeps it.
struct LogEntry {
  int64_t seq = 0;
  std::string document_id;
  std::string channel;
  std::string title;  // normalised
  std::string lead;   // normalised
  std::string canonical_url;
  std::optional<Time> publish_time;
  Time arrival_time;
  int64_t root_seq = 0;  // first of its story; seq itself when it is the first
  // Of the first of its story, where that is another document.
  std::string root_channel;
  std::string root_title;
  std::string root_lead;
  // Of the titles' meanings, where they were made by the model that is asked for; else empty.
  index::Vector vector;
  index::Vector root_vector;

  bool is_root() const { return root_seq == seq; }
};

// What describes a document, without its text.
struct EntryName {
  std::string document_id;
  std::string channel;
};

}  // namespace winnow::dedup
