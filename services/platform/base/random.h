#pragma once

#include <cstdint>

namespace winnow {

// 64 random bits, seeded from the system once per thread. For ids and jitter, never for secrets.
uint64_t RandomBits();

}  // namespace winnow
