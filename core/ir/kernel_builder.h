// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/types/aval.h"

namespace jaxscope {

struct Op;

/// A scalar in generated code: an element or an index. Opaque to rules; made and consumed by ElementBuilder alone.
struct KScalar {
    void* handle = nullptr;  ///< the real part of complex values
    void* imag = nullptr;
    DType dtype = DType::S64;  ///< indices are S64
};

/// An element's position, one S64 scalar per dimension.
struct KIndex {
    std::vector<KScalar> at;
};

/// Scalar operations with XLA's semantics at the edges (DESIGN 11.3), on any dtype they make sense for; both operands of one dtype.
/// bf16, f16, f8, int4 are computed in f32/i32 and rounded back by the builder.
enum class KOp : std::uint8_t {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Max,
    Min,
    Pow,
    Atan2,
    NextAfter,
    And,
    Or,
    Xor,
    Shl,
    ShrLogical,
    ShrArithmetic,
    Neg,
    Abs,
    Sign,
    Not,
    Floor,
    Ceil,
    RoundEven,
    RoundAway,
    PopulationCount,
    Clz,
    IsFinite,
    Conj,
    Real,
    Imag,
    Complex,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    LtTotal,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log1p,
    Tanh,
    Logistic,
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Asin,
    Acos,
    Atan,
    Asinh,
    Acosh,
    Atanh,
    Sqrt,
    Rsqrt,
    Erf,
    ErfInv,
};

/// A pure function of one floating number that the C library has (`f` behind the name for f32) or the runtime
/// (jit/codegen/runtime_math.h). `cost`: in additions; decides whether it is computed again or kept.
struct KFunction {
    const char* name;
    int cost = 12;
};

/// What element-wise and index-mapping lowerings write to. The executor's generator implements it; a fused producer is
/// just another `load`.
class ElementBuilder {
public:
    virtual ~ElementBuilder() = default;
    /// The operand's element at `i`, which must lie inside: clamp or mask computed positions first.
    virtual KScalar load(int operand, const KIndex& i) = 0;
    virtual KScalar op(KOp o, KScalar a) = 0;
    virtual KScalar op(KOp o, KScalar a, KScalar b) = 0;
    virtual KScalar call(const KFunction& f, KScalar a) = 0;
    /// What `condition` is wherever the code is for, as far as that is known: of what is never chosen no code need be made.
    virtual std::optional<bool> known(KScalar) const { return std::nullopt; }
    virtual KScalar select(KScalar condition, KScalar if_true, KScalar if_false) = 0;
    virtual KScalar convert(KScalar v, DType to) = 0;  ///< as lax.convert_element_type
    virtual KScalar bitcast(KScalar v, DType to) = 0;  ///< same width
    virtual KScalar constant(DType d, double v) = 0;
    virtual KScalar constant_int(DType d, std::int64_t v) = 0;
    KScalar index(std::int64_t v) { return constant_int(DType::S64, v); }
    /// max(0, min(v, bound - 1)) on S64: every computed position goes through here or through a mask.
    virtual KScalar clamp_index(KScalar v, std::int64_t bound) = 0;
    /// The element of `operand` at `i` where `inside` holds, else `otherwise`; positions are clamped before the load.
    virtual KScalar masked_load(int operand, const KIndex& i, KScalar inside, KScalar otherwise) = 0;
};

// ---- Kernels that are no element-wise loops ---------------------------------------------------------------------------------

enum class ReduceKind : std::uint8_t { Sum, Prod, Max, Min, And, Or, Xor, ArgMax, ArgMin };

/// out[kept...] = reduce over `axes` of in. Accumulates in f32 for bf16/f16.
struct ReduceKernel {
    ReduceKind kind;
    std::vector<int> axes;
};
/// cumsum and kin along one axis.
struct CumulativeKernel {
    ReduceKind kind;
    bool logsumexp = false;
    int axis = 0;
    bool reverse = false;
};
/// out[batch..., lhs free..., rhs free...].
struct DotKernel {
    std::vector<int> lhs_contract, rhs_contract, lhs_batch, rhs_batch;
    bool adds = false;  ///< to a third operand, which lies in memory as the result does
    bool operator==(const DotKernel&) const = default;
};
/// Operands as lax.conv_general_dilated; specs give (batch, feature, spatial...) positions.
struct ConvKernel {
    std::vector<int> lhs_spec, rhs_spec, out_spec;
    Dims window_strides, lhs_dilation, rhs_dilation;
    std::vector<std::pair<std::int64_t, std::int64_t>> padding;
    std::int64_t feature_groups = 1, batch_groups = 1;
};
enum class OutOfBounds : std::uint8_t { Clip, FillOrDrop, PromiseInBounds };
/// lax.scatter*: operand, indices, updates. The update is combined by `kind`, or overwrites.
struct ScatterKernel {
    enum class Kind : std::uint8_t { Set, Add, Mul, Min, Max } kind;
    std::vector<int> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, operand_batching_dims,
        scatter_indices_batching_dims;
    OutOfBounds mode;
};
/// operand, update, start indices...: a copy of operand (in place when it may) with the clamped window replaced.
struct DynamicUpdateSliceKernel {};
/// Several operands sorted together by the first `num_keys`, lexicographically, along `dimension`.
struct SortKernel {
    int dimension = 0;
    int num_keys = 1;
    bool is_stable = true;
};
/// The routine that the runtime has for the primitive (jit/kernels/library.h), with its equation's parameters.
struct RuntimeKernel {
    bool writes = false;  ///< debug_print's text goes to standard output
};
struct KernelSpec {
    std::variant<ReduceKernel, CumulativeKernel, DotKernel, ConvKernel, ScatterKernel, DynamicUpdateSliceKernel, SortKernel, RuntimeKernel>
        kind;
};

}  // namespace jaxscope
