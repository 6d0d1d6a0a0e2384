#pragma once

#include <string>
#include <string_view>

#include "services/dedup/boilerplate.h"
#include "services/dedup/hanja.h"
#include "services/platform/status.h"

namespace winnow::dedup {

// Stage 0: the form in which texts are compared. Entities unescaped, markup, addresses and agency
// boilerplate taken out, NFKC and case folded, hanja shorthand read as Hangul, punctuation to
// space. What is left are letters and digits, single spaces between.
class Normalizer {
 public:
  Normalizer(Boilerplate boilerplate, HanjaTable hanja)
      : boilerplate_(std::move(boilerplate)), hanja_(std::move(hanja)) {}

  std::string Normalize(std::string_view text) const;

 private:
  Boilerplate boilerplate_;
  HanjaTable hanja_;
};

}  // namespace winnow::dedup
