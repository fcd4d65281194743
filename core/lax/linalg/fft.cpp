// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ir/kernel_builder.h"
#include "lax/families.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {

namespace {

Avals fft_eval(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<FftParams>();
    const DType dtype = op.in[0]->dtype;
    const std::size_t n = p.fft_lengths.size();
    if (n == 0 || n > op.in[0]->shape.size()) type_mismatch(op, "a length for some of the last dimensions", shape_text(p.fft_lengths));
    const bool real_input = p.fft_type == FftType::Rfft, real_output = p.fft_type == FftType::Irfft;
    if (real_input ? (dtype != DType::F32 && dtype != DType::F64) : !is_complex(dtype))
        type_mismatch(op, real_input ? "float32 or float64" : "complex64 or complex128", info(dtype).name);
    Dims shape = op.in[0]->shape;
    Dims last(shape.end() - static_cast<std::ptrdiff_t>(n), shape.end()), lengths = p.fft_lengths;
    if (real_output) last.back() = lengths.back();  // half of it is given; the other half mirrors it
    if (last != lengths) type_mismatch(op, "last dimensions of the lengths " + shape_text(lengths), shape_text(shape));
    shape.back() = real_input ? lengths.back() / 2 + 1 : lengths.back();
    const DType out = real_input    ? (dtype == DType::F32 ? DType::C64 : DType::C128)
                      : real_output ? (dtype == DType::C64 ? DType::F32 : DType::F64)
                                    : dtype;
    Aval a = *op.in[0];
    a.dtype = out;
    a.shape = shape;
    return {a};
}

Value transform(Builder& b, Value x, FftType type, const Dims& lengths) {
    return jitted(b, "fft", std::to_string(static_cast<int>(type)) + shape_text(lengths), {x}, [&](Builder& inner, const Values& v) {
        return inner.bind1(kFft, v, make_params(FftParams{lengths, type}));
    });
}

/// 1 at the elements of half a spectrum that stand for themselves (the first, and the last of even lengths), 2 at those that stand for
/// their mirror image too.
Value redundancy(Builder& b, DType dtype, std::int64_t size, std::int64_t length) {
    Value mask = lax::full(b, AvalRef(dtype, {size}), 2.0);
    const auto set_one = [&](std::int64_t at) {
        const Value one = lax::full(b, AvalRef(dtype, {1}), 1.0);
        mask =
            b.bind1(kDynamicUpdateSlice, {mask, one, make_literal(AvalRef(DType::S32, {}), at)}, make_params(DynamicUpdateSliceParams{}));
    };
    set_one(0);
    if (length % 2 == 0) set_one(size - 1);
    return mask;
}

Value rfft_transpose(Builder& b, Value ct, const Dims& lengths, double total) {
    const AvalRef t = b.aval(ct);
    const Value mask = lax::expand_dims(b, redundancy(b, t->dtype, t->shape.back(), lengths.back()), iota_dims(t->rank() - 1));
    const Value scaled = lax::div(b, lax::conj(b, ct), mask);
    const Value out = transform(b, scaled, FftType::Irfft, lengths);
    return lax::mul(b, make_literal(AvalRef(b.aval(out)->dtype, {}), total), out);
}

void fft_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const auto& p = op.as<FftParams>();
    double total = 1;
    for (const std::int64_t length : p.fft_lengths) total *= static_cast<double>(length);
    if (p.fft_type == FftType::Rfft)
        return sink.add(0, jitted(b, "_rfft_transpose", shape_text(p.fft_lengths), {ct[0]},
                                  [&](Builder& inner, const Values& v) { return rfft_transpose(inner, v[0], p.fft_lengths, total); }));
    if (p.fft_type != FftType::Irfft) return sink.add(0, transform(b, ct[0], p.fft_type, p.fft_lengths));
    const Value spectrum = transform(b, ct[0], FftType::Rfft, p.fft_lengths);
    const AvalRef s = b.aval(spectrum);
    const Value mask = lax::expand_dims(b, redundancy(b, s->dtype, s->shape.back(), p.fft_lengths.back()), iota_dims(s->rank() - 1));
    const Value scale = lax::mul(b, make_literal(AvalRef(s->dtype, {}), 1 / total), mask);
    sink.add(0, lax::conj(b, lax::mul(b, scale, spectrum)));
}

BatchResult fft_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    const auto& p = op.as<FftParams>();
    return {{transform(b, moveaxis(b, x[0], dims[0], 0), p.fft_type, p.fft_lengths)}, {0}};
}

/// 5 n log2 n for each transform of n elements.
Cost fft_cost(const Op& op) {
    double n = 1;
    for (const std::int64_t length : op.as<FftParams>().fft_lengths) n *= static_cast<double>(length);
    const double elements = static_cast<double>(std::max(op.in[0]->size(), op.out[0]->size()));
    return {.flops = 5 * elements * std::log2(std::max(n, 2.0)), .bytes = total_bytes(op)};
}

}  // namespace

// Rules of fft.py, JAX 0.10.2.
constinit const Primitive kFft{
    .name = "fft",
    .abstract_eval = fft_eval,
    .jvp = jvp_linear,
    .transpose = fft_transpose,
    .batch = fft_batch,
    .lower = kRunsAsRoutine,
    .kernel = routine_kernel,
    .cost = fft_cost,
};

std::span<const Primitive* const> fft_primitives() {
    static constexpr const Primitive* all[] = {&kFft};
    return all;
}

}  // namespace jaxscope
