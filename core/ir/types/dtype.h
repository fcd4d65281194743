// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace jaxscope {

/// Element types of JAX. Key* are typed PRNG keys (`key<fry>`), whose data are uint32 words; Float0 is the tangent type of integers.
enum class DType : std::uint8_t {
    Bool,
    S2,
    S4,
    S8,
    S16,
    S32,
    S64,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    F4E2M1FN,
    F8E3M4,
    F8E4M3,
    F8E4M3B11FNUZ,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0FNU,
    BF16,
    F16,
    F32,
    F64,
    C64,
    C128,
    Float0,
    KeyFry,
    KeyRbg,
    KeyUnsafeRbg,
};

/// Facts of a dtype. One table (dtype.cpp) holds them all.
struct DTypeInfo {
    DType dtype;
    const char* name;                           ///< NumPy's: "float32", "bfloat16", "key<fry>"
    const char* short_name;                     ///< as avals print: "f32", "bf16", "key<fry>"
    std::uint8_t bytes;                         ///< in a jaxscope buffer; int2/int4 take one byte each as in NumPy; a key its words
    std::uint8_t exponent_bits, mantissa_bits;  ///< of floats (as jnp.finfo's nexp, nmant), else 0
};

const DTypeInfo& info(DType d);
std::optional<DType> dtype_from_name(std::string_view name);        ///< "float32"
std::optional<DType> dtype_from_short_name(std::string_view name);  ///< "f32"

bool is_float(DType d);
bool is_complex(DType d);
inline bool is_inexact(DType d) { return is_float(d) || is_complex(d); }
bool is_signed_int(DType d);
bool is_unsigned_int(DType d);
inline bool is_integer(DType d) { return is_signed_int(d) || is_unsigned_int(d); }
bool is_key(DType d);
inline std::int64_t byte_size(DType d) { return info(d).bytes; }
/// The dtype of a value's tangent: itself for inexact types, Float0 for all others.
inline DType tangent_dtype(DType d) { return is_inexact(d) ? d : DType::Float0; }

}  // namespace jaxscope
