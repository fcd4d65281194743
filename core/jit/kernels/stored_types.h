// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/types/dtype.h"
#include "jit/kernels/narrow_floats.h"

namespace jaxscope::exec {

/// Real numbers of whole bytes: what loops over memory are made for.
#define JAXSCOPE_EACH_STORED_TYPE(made_for)                                                                                           \
    made_for(float) made_for(double) made_for(Bf16) made_for(F16) made_for(std::int8_t) made_for(std::uint8_t) made_for(std::int16_t) \
        made_for(std::uint16_t) made_for(std::int32_t) made_for(std::uint32_t) made_for(std::int64_t) made_for(std::uint64_t)

/// fn(a number of the type that `dtype` stands for); false: there is none.
template <class Fn>
bool with_stored_type(DType dtype, const Fn& fn) {
    switch (dtype) {
        case DType::F32:
            return fn(float{}), true;
        case DType::F64:
            return fn(double{}), true;
        case DType::BF16:
            return fn(Bf16{}), true;
        case DType::F16:
            return fn(F16{}), true;
        case DType::S8:
            return fn(std::int8_t{}), true;
        case DType::U8:
            return fn(std::uint8_t{}), true;
        case DType::S16:
            return fn(std::int16_t{}), true;
        case DType::U16:
            return fn(std::uint16_t{}), true;
        case DType::S32:
            return fn(std::int32_t{}), true;
        case DType::U32:
            return fn(std::uint32_t{}), true;
        case DType::S64:
            return fn(std::int64_t{}), true;
        case DType::U64:
            return fn(std::uint64_t{}), true;
        default:
            return false;
    }
}

}  // namespace jaxscope::exec
