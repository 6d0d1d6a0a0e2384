#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "services/dedup/text/boilerplate.h"
#include "services/dedup/text/hanja_table.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

// Stage 0: the form in which texts are compared. Entities unescaped, markup, addresses and agency
// boilerplate taken out, NFKC and case folded, hanja shorthand read as Hangul, punctuation to
// space. What is left are letters and digits, single spaces between.
class Normalizer {
 public:
  Normalizer(Boilerplate boilerplate, HanjaTable hanja)
      : boilerplate_(std::move(boilerplate)), hanja_(std::move(hanja)) {}

  // The first `most_characters` of it.
  std::string Normalize(std::string_view text,
                        size_t most_characters = std::numeric_limits<size_t>::max()) const;

 private:
  Boilerplate boilerplate_;
  HanjaTable hanja_;
};

}  // namespace winnow::dedup
