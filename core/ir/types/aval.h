// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/inline_vector.h"
#include "base/sym.h"
#include "ir/types/dtype.h"

namespace jaxscope {

using Dims = std::vector<std::int64_t>;

enum class MemorySpace : std::uint8_t { Device, Host };

/// Type of a value: dtype, shape, weak type, memory space. What JAX calls ShapedArray; tokens, Refs and types that jaxscope
/// doesn't know keep their text in `other`, have no shape and can't be computed with.
struct Aval {
    DType dtype = DType::F32;
    bool weak_type = false;
    MemorySpace space = MemorySpace::Device;
    Sym sharding;  ///< of an explicitly sharded type, as captures write it: "P('x', None)", "vma=x", both with a space between; empty for
                   ///< none
    Sym other;     ///< nonempty: not an array; its text
    Dims shape;

    bool is_array() const { return other.empty(); }
    int rank() const { return static_cast<int>(shape.size()); }
    std::int64_t size() const;   ///< number of elements; throws Error{BadInput} beyond 2^63
    std::int64_t bytes() const;  ///< in a buffer; 0 for float0 and what is no array
    friend bool operator==(const Aval&, const Aval&) = default;
};

/// An interned Aval: 4 bytes, equal avals have equal refs.
class AvalRef {
public:
    AvalRef() = default;
    AvalRef(const Aval& aval);  // NOLINT(google-explicit-constructor)
    AvalRef(DType dtype, Dims shape, bool weak = false);
    const Aval& operator*() const;
    const Aval* operator->() const { return &**this; }
    std::uint32_t id() const { return id_; }
    static AvalRef from_id(std::uint32_t id) {
        AvalRef r;
        r.id_ = id;
        return r;
    }
    friend bool operator==(AvalRef a, AvalRef b) { return a.id_ == b.id_; }

private:
    std::uint32_t id_ = 0;  ///< 0 is f32[]
};
using Avals = InlineVector<AvalRef, 4>;

/// `f32[3,4]`, `bf16[]`, `key<fry>[2]`, `f32<host>[2]`, `f32[8@x,4]{V:y}`: as JAX prints avals in jaxprs and residual lists (weak types
/// unmarked).
std::string to_text(const Aval& aval);
inline std::string to_text(AvalRef aval) { return to_text(*aval); }

AvalRef with_dtype(AvalRef aval, DType dtype);
AvalRef with_shape(AvalRef aval, Dims shape);
AvalRef strong(AvalRef aval);        ///< the same without weak type
AvalRef tangent_aval(AvalRef aval);  ///< same shape, tangent_dtype
/// Product of dimensions; throws Error{BadInput} when it exceeds 2^63 or a dimension is negative.
std::int64_t element_count(const Dims& shape);

}  // namespace jaxscope

template <>
struct std::hash<jaxscope::AvalRef> {
    std::size_t operator()(jaxscope::AvalRef a) const noexcept { return a.id() * 0x9E3779B97F4A7C15ull; }
};
