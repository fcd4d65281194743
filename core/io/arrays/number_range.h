// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/types/dtype.h"

namespace jaxscope {

/// Is `value` one of `dtype`'s (an integer, bool or key dtype)? `beyond_int64`: it is 2^64 more than it seems.
bool fits(DType dtype, std::int64_t value, bool beyond_int64);

/// A NaN as captures write it, bit for bit: `nan` for the usual one of `dtype` (positive, only the first bit of the payload set), else
/// `nan:` and the element's bits in hexadecimal digits (`nan:ffc00000`); for a complex dtype those of a part.
std::string nan_text(DType dtype, double nan);
/// The other way round; nothing where `text` is no NaN of `dtype`. Keeps sign and payload, as load_element does (ir/types/element.h).
std::optional<double> nan_from_text(DType dtype, std::string_view text);

/// "nan", "inf", "-inf" or digits as Python writes them; nothing where it is none, or a number that no double holds (1e999, 1e-999).
std::optional<double> float_from_digits(std::string_view digits);

}  // namespace jaxscope
