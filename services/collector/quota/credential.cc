#include "services/collector/quota/credential.h"

#include <algorithm>

namespace winnow::collector {

const char* NameOf(Vendor vendor) {
  constexpr const char* kNames[] = {"naver", "naver-hub", "newsdata"};
  return kNames[static_cast<size_t>(vendor)];
}

bool Serves(const Credential& credential, SourceKind kind) {
  return (kind == SourceKind::kNewsData) == (credential.vendor == Vendor::kNewsData) &&
         kind != SourceKind::kFeed;
}

const Credential* FindCredential(const std::vector<Credential>& credentials,
                                 const std::string& name) {
  const auto found = std::find_if(credentials.begin(), credentials.end(),
                                  [&](const Credential& one) { return one.name == name; });
  return found == credentials.end() ? nullptr : &*found;
}

}  // namespace winnow::collector
