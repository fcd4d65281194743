// SPDX-License-Identifier: Apache-2.0
#include "lax/params/placement.h"

#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/kernel_builder.h"
#include "lax/families.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {

namespace {

// ---- device_put

/// The memory space that a destination names: a member of MemorySpace, or a sharding whose text says so; else none.
std::optional<MemorySpace> named_space(const Attr& device) {
    std::string text;
    if (const auto* e = device.get<Attr::Enum>()) text = e->member.str();
    if (const auto* o = device.get<Attr::Object>()) text = o->text.str();
    if (text == "Host" || text == "HOST" || text.find("pinned_host") != std::string::npos) return MemorySpace::Host;
    if (text == "Device" || text == "DEVICE" || text.find("memory_kind=device") != std::string::npos) return MemorySpace::Device;
    return std::nullopt;
}

Avals device_put_eval(const Op& op) {
    expect_arrays_at_least(op, 0);
    const auto& p = op.as<DevicePutParams>();
    const std::size_t n = op.in.size();
    if (p.devices.size() != n || p.srcs.size() != n || (p.copy_semantics.size() != n && !p.copy_semantics.empty()))
        type_mismatch(op, "a destination, a source and a copy rule for each operand", std::to_string(p.devices.size()));
    Avals out;
    for (std::size_t i = 0; i < n; ++i) {
        Aval a = *op.in[i];
        a.space = named_space(p.devices[i]).value_or(a.space);
        out.push_back(a);
    }
    return out;
}

/// Back to where each came from; always by copying, since the cotangent's buffer may have other readers.
void device_put_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const auto& p = op.as<DevicePutParams>();
    DevicePutParams back;
    Values cts;
    std::vector<std::size_t> operands;
    for (std::size_t i = 0; i < ct.size(); ++i) {
        if (!x[i].is_linear() || ct[i].is_zero()) continue;
        const bool from_host = p.srcs[i].is_none() && op.in[i]->space == MemorySpace::Host;
        back.devices.push_back(from_host ? Attr(Attr::Enum{"MemorySpace", "Host"}) : p.srcs[i]);
        back.srcs.push_back(p.devices[i]);
        back.copy_semantics.push_back(Attr::Enum{"ArrayCopySemantics", "ALWAYS_COPY"});
        cts.push_back(ct[i]);
        operands.push_back(i);
    }
    if (cts.empty()) return;
    const Values results = b.bind(*op.prim, cts, make_params(back));
    for (std::size_t k = 0; k < operands.size(); ++k) sink.add(operands[k], results[k]);
}

BatchResult device_put_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return {b.bind(*op.prim, x, op.params), dims};
}

/// There is one device: the operands themselves.
JaxprPtr device_put_expand(const Op& op) {
    JaxprBuilder b;
    Values x;
    for (const AvalRef a : op.in) x.push_back(b.add_input(a));
    return b.finish(x, "device_put");
}

// ---- sharding_constraint: the identity on one device

Avals same_type(const Op& op) {
    for (const char* p : {"sharding", "layout", "context_mesh", "unconstrained_dims", "partitions"})
        ParamReads::note(p);  // there is one device
    expect_arrays(op, 1);
    return op.in;
}

void same_application_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!ct[0].is_zero()) sink.add(0, b.bind1(*op.prim, ct, op.params));
}

/// A spec over a mesh names the axes of one example. JAX rewrites it, with the mapped axis left open; kept as it is it would name others.
BatchResult sharding_constraint_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    if (op.params->find("partitions"))  // that of sharded_jit
        throw Error(ErrorCode::NoRule, "Batching rule for '" + op.prim->name + "' not implemented");
    const Attr* sharding = op.params->find("sharding");
    const auto* record = sharding ? sharding->get_record() : nullptr;
    const auto* object = sharding ? sharding->get<Attr::Object>() : nullptr;
    const Sym kind = record ? record->type : object ? object->type : Sym();
    if (kind != Sym("SingleDeviceSharding"))
        throw Error(ErrorCode::NoRule, "expected a sharding on one device, found " + printable(kind.str(), 60) +
                                           ": which axes of the mesh a mapped example leaves open isn't worked out yet");
    return batch_unary(b, op, x, dims, size);
}

KScalar identity_lower(ElementBuilder& k, const Op&, const KIndex& i) { return load_same(k, 0, i); }

// ---- empty and rng_bit_generator

struct Empty2Params {
    DType dtype = DType::F32;
    Sym memory_space;
    static constexpr auto kFields = std::tuple(field("dtype", &Empty2Params::dtype), field("memory_space", &Empty2Params::memory_space));
};

Avals empty_eval(const Op& op) {
    expect_arrays(op, 0);
    const auto& p = op.as<EmptyParams>();
    return {standard_result(op, p.dtype, p.shape)};
}

/// JAX promises nothing about the contents; its CPU lowering makes zeros.
Avals empty2_eval(const Op& op) {
    Aval a;
    a.dtype = op.as<Empty2Params>().dtype;
    a.space = op.as<Empty2Params>().memory_space == Sym("Host") ? MemorySpace::Host : MemorySpace::Device;
    return {AvalRef(a)};
}

KScalar empty_lower(ElementBuilder& k, const Op& op, const KIndex&) { return k.constant(op.out[0]->dtype, 0); }

Avals rng_bit_generator_eval(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<RngBitGeneratorParams>();
    const Aval& key = *op.in[0];
    const bool words32 = key.dtype == DType::U32 && key.shape == Dims{4}, words64 = key.dtype == DType::U64 && key.shape == Dims{2};
    if (!words32 && !words64) type_mismatch(op, "a key of uint32[4] or uint64[2]", to_text(op.in[0]));
    if (!is_unsigned_int(p.dtype) || byte_size(p.dtype) > 8) type_mismatch(op, "an unsigned integer dtype", info(p.dtype).name);
    return {op.in[0], AvalRef(p.dtype, p.shape)};
}

/// All bits come of the first key, which alone moves on.
BatchResult rng_bit_generator_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const Value keys = moveaxis(b, x[0], dims[0], 0);
    const std::int64_t words = b.aval(keys)->shape[1];
    const Value first = lax::squeeze(b, lax::slice(b, keys, {0, 0}, {1, words}), {0});
    RngBitGeneratorParams p = op.as<RngBitGeneratorParams>();
    p.shape = with_front(size, p.shape);
    const Values out = b.bind(*op.prim, {first}, make_params(p));
    const Value moved =
        jitted(b, "dynamic_update_index_in_dim", "", {keys, out[0], make_literal(AvalRef(DType::S32, {}, true), std::int64_t{0})},
               [&](Builder& inner, const Values& v) {
                   const auto number = [](std::int64_t n) { return Value(make_literal(AvalRef(DType::S32, {}), n)); };
                   const Value row = lax::broadcast_in_dim(inner, v[1], {1, words}, {1});
                   const Value negative = lax::lt(inner, v[2], number(0));
                   const Value wrapped = lax::add(inner, lax::convert_element_type(inner, v[2], DType::S32), number(size));
                   const Value at = lax::select(inner, negative, wrapped, v[2]);
                   return inner.bind1(kDynamicUpdateSlice, {v[0], row, at, number(0)}, make_params(DynamicUpdateSliceParams{}));
               });
    return {{moved, out[1]}, {0, 0}};
}

// ---- platform_index

Avals eval_platform_index(const Op& op) {
    ParamReads::note("platforms");  // the expansion reads it
    expect_inputs(op, 0);
    return {AvalRef(DType::S32, {})};
}
/// Which branch of platform_dependent runs here: the one for "cpu", else the default one (None).
JaxprPtr expand_platform_index(const Op& op) {
    const Attr* platforms = op.params->find("platforms");
    const auto* branches = platforms ? platforms->get_seq() : nullptr;
    std::optional<std::int64_t> chosen;
    for (std::size_t i = branches ? branches->items.size() : 0; i-- > 0;) {
        const Attr& names = branches->items[i];
        const auto* list = names.get_seq();
        const bool cpu = list && std::any_of(list->items.begin(), list->items.end(),
                                             [](const Attr& name) { return name.get<Sym>() && *name.get<Sym>() == Sym("cpu"); });
        if (cpu || (names.is_none() && !chosen)) chosen = static_cast<std::int64_t>(i);
    }
    if (!chosen) throw Error(ErrorCode::CannotRun, "expected a branch for the CPU in parameter platforms");
    JaxprBuilder b;
    return b.finish({Value(make_literal(AvalRef(DType::S32, {}), *chosen))}, "platform_index");
}

}  // namespace

constinit const Primitive kDevicePut{
    .name = "device_put",
    .abstract_eval = device_put_eval,
    .jvp = jvp_linear,
    .transpose = device_put_transpose,
    .batch = device_put_batch,
    .lower = NoRule{"expands to its operands"},
    .expand = device_put_expand,
    .cost = data_movement_cost,
    .view = always_a_view,
};

constinit const Primitive kShardingConstraint{
    .name = "sharding_constraint",
    .abstract_eval = same_type,
    .jvp = jvp_linear,
    .transpose = same_application_transpose,
    .batch = sharding_constraint_batch,
    .lower = identity_lower,
    .cost = data_movement_cost,
    .view = always_a_view,
};

constinit const Primitive kEmpty{
    .name = "empty",
    .abstract_eval = empty_eval,
    .jvp = NoRule{"has no inputs, so no tangent reaches it"},
    .transpose = NoRule{"has no inputs"},
    .batch = NoRule{"has no inputs, so no batch axis reaches it"},
    .lower = empty_lower,
    .cost = data_movement_cost,
};

/// A scalar of unknown contents, from which scan and cond broadcast the arrays that they fill.
constinit const Primitive kEmpty2{
    .name = "empty2",
    .abstract_eval = empty2_eval,
    .jvp = NoRule{"has no inputs, so no tangent reaches it"},
    .transpose = NoRule{"has no inputs"},
    .batch = NoRule{"has no inputs, so no batch axis reaches it"},
    .lower = empty_lower,
    .cost = data_movement_cost,
};

constinit const Primitive kRngBitGenerator{
    .name = "rng_bit_generator",
    .abstract_eval = rng_bit_generator_eval,
    .jvp = NoRule{"its results are integers, which have no tangents"},
    .transpose = NoRule{"not linear"},
    .batch = rng_bit_generator_batch,
    .lower = NoRule{"runs as a kernel"},
    .kernel = routine_kernel,
    .cost = data_movement_cost,
};

constinit const Primitive kPlatformIndex{.name = "platform_index",
                                         .abstract_eval = eval_platform_index,
                                         .jvp = NoRule{"it has no inputs"},
                                         .transpose = NoRule{"it has no inputs"},
                                         .batch = NoRule{"it has no inputs"},
                                         .lower = NoRule{"expands to a number"},
                                         .expand = expand_platform_index};

std::span<const Primitive* const> placement_primitives() {
    static constexpr const Primitive* all[] = {&kDevicePut, &kShardingConstraint, &kEmpty, &kEmpty2, &kRngBitGenerator, &kPlatformIndex};
    return all;
}

Value platform_index(Builder& b, const Attr& platforms) { return b.bind1(kPlatformIndex, {}, Params::make({{"platforms", platforms}})); }

}  // namespace jaxscope
