#pragma once

#include "absl/functional/function_ref.h"

namespace winnow {

// A callable passed down for the duration of a call: neither owned nor stored.
template <class Signature>
using FunctionRef = absl::FunctionRef<Signature>;

}  // namespace winnow
