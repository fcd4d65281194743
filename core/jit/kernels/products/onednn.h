// SPDX-License-Identifier: Apache-2.0
#pragma once
// What kernels by oneDNN share. Its header is heavy: for their .cpp files alone.
#include <optional>

#include <dnnl.hpp>

#include "ir/types/dtype.h"

namespace jaxscope::exec {

/// The process's engine. It lives for ever: primitives that are destroyed at the end refer to it.
inline dnnl::engine& cpu_engine() {
    static auto& e = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
    return e;
}

/// The types that Debian's oneDNN computes with; f16 isn't one of them on CPUs.
inline std::optional<dnnl::memory::data_type> library_type(DType d) {
    switch (d) {
        case DType::F32:
            return dnnl::memory::data_type::f32;
        case DType::BF16:
            return dnnl::memory::data_type::bf16;
        case DType::S8:
            return dnnl::memory::data_type::s8;
        case DType::U8:
            return dnnl::memory::data_type::u8;
        case DType::S32:
            return dnnl::memory::data_type::s32;
        default:
            return std::nullopt;
    }
}

/// Are its products of bytes exact? Without VNNI it adds pairs of products in 16 bits, which saturate.
bool multiplies_bytes_exactly();

}  // namespace jaxscope::exec
