#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/embedded_file.h"
#include "services/platform/base/status.h"
#include "services/platform/base/version.h"

namespace winnow::pg {

// A migration as its file declares it. The file begins with its declarations, one a line:
//
//   -- oldest-compatible: 0.2.0      Required: the oldest binary that works on the schema after it.
//   -- transaction: none             Each statement runs by itself (CREATE INDEX CONCURRENTLY); all
//                                    of them must be safe to run again.
//   -- former-checksum: <hex>        A database where this former text was applied is accepted.
//   -- contract: <text>              For people and tests/tidy: what it takes away, and since when
//                                    no binary uses it.
//
// The checksum is of what follows them, so that a declaration may be corrected later.
struct MigrationFile {
  int version = 0;  // the number that its name begins with
  std::string name;
  Version oldest_compatible;
  std::vector<std::string> former_checksums;
  std::string checksum;
  std::string_view sql;
  // Of a file with "transaction: none"; empty otherwise: `sql` is one transaction.
  std::vector<std::string> statements;
};

// The files in order. INTERNAL: they are not numbered 0001, 0002, ..., or a declaration is missing
// or wrong. Numbers have no gaps, so that two branches cannot both add a version unnoticed.
StatusOr<std::vector<MigrationFile>> ReadMigrationFiles(const std::string& schema,
                                                        std::span<const embedded::File> files);

}  // namespace winnow::pg
