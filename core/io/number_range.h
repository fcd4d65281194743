#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/dtype.h"

namespace jaxscope {

/// Is `value` one of `dtype`'s (an integer, bool or key dtype)? `beyond_int64`: it is 2^64 more than it seems.
bool fits(DType dtype, std::int64_t value, bool beyond_int64);

/// "nan", "inf", "-inf" or digits as Python writes them; nothing where it is none, or a number that no double holds (1e999, 1e-999).
std::optional<double> float_from_digits(std::string_view digits);

}  // namespace jaxscope
