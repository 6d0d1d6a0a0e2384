#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/collector/quota/quota.h"
#include "services/collector/sources/source.h"

namespace winnow::collector {

enum class Vendor { kNaver, kNaverHub, kNewsData };
const char* NameOf(Vendor vendor);  // "naver", "naver-hub", "newsdata"

// A vendor's key, by the configuration. Never in the store, never in a log.
struct Credential {
  std::string name;
  Vendor vendor = Vendor::kNaver;
  std::string base_url;
  std::string id;  // of Naver
  std::string key;
  QuotaLimits limits;
  int64_t key_hash = 0;  // identifies the key
};

// Whether sources of this kind may use it.
bool Serves(const Credential& credential, SourceKind kind);

// The one of that name; null if there is none.
const Credential* FindCredential(const std::vector<Credential>& credentials,
                                 const std::string& name);

}  // namespace winnow::collector
