// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json_writer.h"
#include "ir/types/attr.h"

namespace jaxscope {

/// Writes the fields that describe an array's contents into the open object: `values` (nested lists) up to 128 elements, else
/// `sum`, `abs_sum`, `wsum` (sum of x[i]*((i*7919)%1009)/1009 over the flat index) and `first16`, summed in float64. Non-finite floats
/// are strings, complex numbers [re, im], PRNG keys their key data.
void write_array_fields(JsonWriter& w, const ArrayConst& array);

/// Element `i` (flat) of an array as a complex number; integers and bools in the real part. Keys: word `i` of the key data.
std::complex<double> element(const ArrayConst& array, std::int64_t i);

}  // namespace jaxscope
