// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/random.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "lax/rule_support.h"

// Random bits and typed keys (prng.py). Values come from the executor's routines, bit-equal to JAX's. Derivatives
// are zero but for random_gamma's, whose samples depend on their parameter.
namespace jaxscope {

namespace {

struct RandomBitsParams {
    std::int64_t bit_width = 32;
    Dims shape;
    static constexpr auto kFields = std::tuple(field("bit_width", &RandomBitsParams::bit_width), field("shape", &RandomBitsParams::shape));
};
struct RandomSplitParams {
    Dims shape;
    static constexpr auto kFields = std::tuple(field("shape", &RandomSplitParams::shape));
};
struct RandomImplParams {
    Attr impl;
    static constexpr auto kFields = std::tuple(field("impl", &RandomImplParams::impl));
};

/// finfo.tiny of a dtype.
double smallest_normal(DType d) { return std::ldexp(1.0, 2 - (1 << (info(d).exponent_bits - 1))); }

void expect_key(const Op& op, std::size_t inputs = 1) {
    expect_arrays(op, inputs);
    if (!is_key(op.in[0]->dtype)) type_mismatch(op, "a typed key", to_text(op.in[0]));
}
DType unsigned_of(const Op& op, std::int64_t bits) {
    switch (bits) {
        case 2:
            return DType::U2;
        case 4:
            return DType::U4;
        case 8:
            return DType::U8;
        case 16:
            return DType::U16;
        case 32:
            return DType::U32;
        case 64:
            return DType::U64;
        default:
            type_mismatch(op, "a bit_width of an unsigned dtype", std::to_string(bits));
    }
}
Dims appended(Dims a, const Dims& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

DType key_type(const Op& op) {
    // The implementation prints as its name or carries its tag among its fields.
    const Attr& impl = op.as<RandomImplParams>().impl;
    std::string text;
    if (const Sym* s = impl.get<Sym>()) text = s->str();
    if (const auto* o = impl.get<Attr::Object>()) text = o->text.str();
    if (const Attr::Record* r = impl.get_record()) {
        for (const auto& [name, value] : r->fields)
            if (name == Sym("tag"))
                if (const Sym* s = value.get<Sym>()) text = s->str();
        if (text.empty()) text = r->text.str();
    }
    if (text.find("urbg") != std::string::npos || text.find("unsafe_rbg") != std::string::npos) return DType::KeyUnsafeRbg;
    if (text.find("rbg") != std::string::npos) return DType::KeyRbg;
    if (text.find("fry") != std::string::npos) return DType::KeyFry;
    type_mismatch(op, "one of the key implementations fry, rbg, urbg", printable(text));
}

Avals eval_bits(const Op& op) {
    expect_key(op);
    const auto& p = op.as<RandomBitsParams>();
    return {AvalRef(unsigned_of(op, p.bit_width), appended(op.in[0]->shape, p.shape))};
}
Avals eval_split(const Op& op) {
    expect_key(op);
    return {AvalRef(op.in[0]->dtype, appended(op.in[0]->shape, op.as<RandomSplitParams>().shape))};
}
Avals eval_fold_in(const Op& op) {
    expect_key(op, 2);
    return {AvalRef(op.in[0]->dtype, check_nary(op, 2, kKeyClass | kIntClass))};
}
Avals eval_seed(const Op& op) {
    expect_arrays(op, 1);
    return {AvalRef(key_type(op), op.in[0]->shape)};
}
Avals eval_wrap(const Op& op) {
    expect_arrays(op, 1);
    const DType d = key_type(op);
    Dims shape = op.in[0]->shape;
    if (op.in[0]->dtype != DType::U32 || shape.empty() || shape.back() != byte_size(d) / 4)
        type_mismatch(op, "uint32 words of a key in the last dimension", to_text(op.in[0]));
    shape.pop_back();
    return {AvalRef(d, shape)};
}
Avals eval_unwrap(const Op& op) {
    expect_key(op);
    return {AvalRef(DType::U32, appended(op.in[0]->shape, {byte_size(op.in[0]->dtype) / 4}))};
}
/// Two keys, two counters; unsigned words of one shape, scalars stretched.
Avals eval_threefry(const Op& op) {
    const Dims shape = check_nary(op, 4, kIntClass);
    return {AvalRef(DType::U32, shape), AvalRef(DType::U32, shape)};
}

BatchResult batch_key(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i) in.push_back(batch_to_front(b, x[i], dims[i], size));
    return {b.bind(*op.prim, in, op.params), {0}};
}

template <auto kEval>
constexpr Primitive random_primitive(const char* name, BatchFn* batch) {
    return {.name = name,
            .abstract_eval = kEval,
            .jvp = jvp_zero,
            .transpose = NoRule{"its derivative is zero: nothing linear remains"},
            .batch = batch,
            .kernel = routine_kernel,
            .cost = elementwise_cost<20>};
}

constexpr Primitive key_view(Primitive p) {
    p.view = always_a_view;
    return p;
}

/// jax.random.clone: the key again, which JAX's check for reused keys takes for another.
Avals eval_clone(const Op& op) {
    expect_key(op);
    return {op.in[0]};
}
JaxprPtr expand_clone(const Op& op) {
    JaxprBuilder b;
    return b.finish({b.add_input(op.in[0])}, "random_clone");
}
constinit const Primitive kRandomClone{.name = "random_clone",
                                       .abstract_eval = eval_clone,
                                       .jvp = jvp_zero,
                                       .transpose = NoRule{"its derivative is zero: nothing linear remains"},
                                       .batch = batch_nary,
                                       .lower = NoRule{"expands to the key"},
                                       .expand = expand_clone};

// ---- random_gamma and iota_2x32_shape

Avals eval_random_gamma(const Op& op) {
    ParamReads::note("log_space");
    expect_inputs(op, 2);
    if (!op.in[0]->is_array() || !is_key(op.in[0]->dtype)) type_mismatch(op, "a typed key", to_text(op.in[0]));
    const Dims &key = op.in[0]->shape, &alpha = op.in[1]->shape;
    if (!is_float(op.in[1]->dtype)) type_mismatch(op, "a floating dtype", info(op.in[1]->dtype).name);
    if (key.size() > alpha.size() || !std::equal(key.begin(), key.end(), alpha.begin()))
        type_mismatch(op, "keys for leading dimensions of " + shape_text(alpha), shape_text(key));
    return {with_shape(op.in[1], alpha)};
}
Avals eval_iota_2x32(const Op& op) {
    expect_inputs(op, 0);
    const AvalRef half(DType::U32, dims_param(op, op.params->find("shape"), "a shape"));
    return {half, half};
}
/// The tangent times what a sample changes by its parameter. JAX 0.10.2 maps the loops of that derivative over the samples; here they are
/// the primitive that they were before. Of the logarithm: over the sample, which is kept off zero.
Values jvp_random_gamma(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    if (dx[1].is_zero()) return {Value::zero()};
    const AvalRef alpha = b.aval(x[1]);
    const Dims flat{alpha->size()};
    Value samples = lax::reshape(b, y[0], flat);
    const Value alphas = lax::reshape(b, x[1], flat);
    const bool log_space = op.as<RandomGammaParams>().log_space;
    if (log_space) {
        samples = lax::exp(b, samples);
        const Value tiny = lax::full(b, b.aval(samples), smallest_normal(alpha->dtype));
        samples = lax::select(b, lax::eq(b, samples, lax::constant(b, samples, 0)), tiny, samples);
    }
    Value slope = b.bind1(kRandomGammaGrad, {alphas, samples});
    if (log_space) slope = lax::div(b, slope, samples);
    return {lax::mul(b, dx[1], lax::reshape(b, slope, alpha->shape))};
}

}  // namespace

constinit const Primitive kRandomGamma{.name = "random_gamma",
                                       .abstract_eval = eval_random_gamma,
                                       .jvp = jvp_random_gamma,
                                       .transpose = NoRule{"not linear: jvp emits the linear part as mul"},
                                       .batch = batch_key,
                                       .lower = kRunsAsRoutine,
                                       .kernel = routine_kernel,
                                       .cost = elementwise_cost<500>};
constinit const Primitive kIota2x32{.name = "iota_2x32_shape",
                                    .abstract_eval = eval_iota_2x32,
                                    .jvp = NoRule{"it has no inputs"},
                                    .transpose = NoRule{"it has no inputs"},
                                    .batch = NoRule{"it has no inputs"},
                                    .lower = kRunsAsRoutine,
                                    .kernel = routine_kernel,
                                    .cost = data_movement_cost};

/// Numbers from a stream of the process' own: others in each run, as XLA has it.
Avals eval_rng_uniform(const Op& op) {
    expect_arrays(op, 2);
    expect_same_dtype(op, 0, 2);
    if (op.in[0]->rank() != 0 || op.in[1]->rank() != 0) type_mismatch(op, "two scalars", to_text(op.in[0]) + " and " + to_text(op.in[1]));
    return {AvalRef(op.in[0]->dtype, dims_param(op, op.params->find("shape"), "a shape"))};
}
constinit const Primitive kRngUniform{.name = "rng_uniform",
                                      .abstract_eval = eval_rng_uniform,
                                      .jvp = NoRule{"JAX gives rng_uniform no derivative"},
                                      .transpose = NoRule{"JAX gives rng_uniform no derivative"},
                                      .batch = NoRule{"JAX gives rng_uniform no batching rule"},
                                      .lower = kRunsAsRoutine,
                                      .kernel = routine_kernel,
                                      .cost = elementwise_cost<20>};

constinit const Primitive kRandomBits = random_primitive<eval_bits>("random_bits", batch_key);
constinit const Primitive kRandomSplit = random_primitive<eval_split>("random_split", batch_key);
constinit const Primitive kRandomWrap = key_view(random_primitive<eval_wrap>("random_wrap", batch_key));
constinit const Primitive kRandomUnwrap = key_view(random_primitive<eval_unwrap>("random_unwrap", batch_key));
constinit const Primitive kRandomFoldIn = random_primitive<eval_fold_in>("random_fold_in", batch_nary);
constinit const Primitive kRandomSeed = random_primitive<eval_seed>("random_seed", batch_key);
constinit const Primitive kThreefry = random_primitive<eval_threefry>("threefry2x32", batch_nary);

std::span<const Primitive* const> random_primitives() {
    static constexpr const Primitive* all[] = {&kRandomBits, &kRandomSplit, &kRandomFoldIn, &kRandomSeed, &kRandomWrap, &kRandomUnwrap,
                                               &kThreefry,   &kRandomClone, &kRandomGamma,  &kIota2x32,   &kRngUniform};
    return all;
}

}  // namespace jaxscope
