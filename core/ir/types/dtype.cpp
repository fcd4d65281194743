// SPDX-License-Identifier: Apache-2.0
#include "ir/types/dtype.h"

#include <iterator>

#include "base/error.h"

namespace jaxscope {

namespace {

// In the order of the enum. Widths of floats are those of jnp.finfo (nexp, nmant).
constexpr DTypeInfo kTable[] = {
    {DType::Bool, "bool", "bool", 1, 0, 0},
    {DType::S2, "int2", "i2", 1, 0, 0},
    {DType::S4, "int4", "i4", 1, 0, 0},
    {DType::S8, "int8", "i8", 1, 0, 0},
    {DType::S16, "int16", "i16", 2, 0, 0},
    {DType::S32, "int32", "i32", 4, 0, 0},
    {DType::S64, "int64", "i64", 8, 0, 0},
    {DType::U2, "uint2", "u2", 1, 0, 0},
    {DType::U4, "uint4", "u4", 1, 0, 0},
    {DType::U8, "uint8", "u8", 1, 0, 0},
    {DType::U16, "uint16", "u16", 2, 0, 0},
    {DType::U32, "uint32", "u32", 4, 0, 0},
    {DType::U64, "uint64", "u64", 8, 0, 0},
    {DType::F4E2M1FN, "float4_e2m1fn", "f4_e2m1fn", 1, 2, 1},
    {DType::F8E3M4, "float8_e3m4", "f8_e3m4", 1, 3, 4},
    {DType::F8E4M3, "float8_e4m3", "f8_e4m3", 1, 4, 3},
    {DType::F8E4M3B11FNUZ, "float8_e4m3b11fnuz", "f8_e4m3b11fnuz", 1, 4, 3},
    {DType::F8E4M3FN, "float8_e4m3fn", "f8_e4m3fn", 1, 4, 3},
    {DType::F8E4M3FNUZ, "float8_e4m3fnuz", "f8_e4m3fnuz", 1, 4, 3},
    {DType::F8E5M2, "float8_e5m2", "f8_e5m2", 1, 5, 2},
    {DType::F8E5M2FNUZ, "float8_e5m2fnuz", "f8_e5m2fnuz", 1, 5, 2},
    {DType::F8E8M0FNU, "float8_e8m0fnu", "f8_e8m0fnu", 1, 8, 0},
    {DType::BF16, "bfloat16", "bf16", 2, 8, 7},
    {DType::F16, "float16", "f16", 2, 5, 10},
    {DType::F32, "float32", "f32", 4, 8, 23},
    {DType::F64, "float64", "f64", 8, 11, 52},
    {DType::C64, "complex64", "c64", 8, 8, 23},
    {DType::C128, "complex128", "c128", 16, 11, 52},
    {DType::Float0, "float0", "float0", 0, 0, 0},
    {DType::KeyFry, "key<fry>", "key<fry>", 8, 0, 0},
    {DType::KeyRbg, "key<rbg>", "key<rbg>", 16, 0, 0},
    {DType::KeyUnsafeRbg, "key<urbg>", "key<urbg>", 16, 0, 0},
};
constexpr bool in_enum_order() {
    for (std::size_t i = 0; i < std::size(kTable); ++i)
        if (kTable[i].dtype != static_cast<DType>(i)) return false;
    return true;
}
static_assert(in_enum_order());

}  // namespace

const DTypeInfo& info(DType d) {
    JAXSCOPE_ASSERT(static_cast<std::size_t>(d) < std::size(kTable));
    return kTable[static_cast<std::size_t>(d)];
}

std::optional<DType> dtype_from_name(std::string_view name) {
    for (const DTypeInfo& t : kTable)
        if (name == t.name) return t.dtype;
    if (name == "key<unsafe_rbg>") return DType::KeyUnsafeRbg;
    return std::nullopt;
}

std::optional<DType> dtype_from_short_name(std::string_view name) {
    for (const DTypeInfo& t : kTable)
        if (name == t.short_name) return t.dtype;
    return std::nullopt;
}

bool is_float(DType d) { return d >= DType::F4E2M1FN && d <= DType::F64; }
bool is_complex(DType d) { return d == DType::C64 || d == DType::C128; }
bool is_signed_int(DType d) { return d >= DType::S2 && d <= DType::S64; }
bool is_unsigned_int(DType d) { return d >= DType::U2 && d <= DType::U64; }
bool is_key(DType d) { return d >= DType::KeyFry; }

}  // namespace jaxscope
