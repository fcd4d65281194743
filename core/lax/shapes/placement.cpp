// SPDX-License-Identifier: Apache-2.0
#include "lax/params/placement.h"

#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/kernel_builder.h"
#include "ir/print/text_form.h"
#include "ir/types/manual_axes.h"
#include "ir/types/type_mesh.h"
#include "lax/families.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/mesh_spec.h"
#include "lax/partition.h"
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
    if (const Attr::Record* r = device.get_record()) text = r->text.str();
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

// ---- its vmap: the spec over one example's axes, and the mapped axis left open

/// An entry of a partition spec as Python writes it: 'x', ('x', 'y'), None, UNCONSTRAINED.
std::string spec_entry_text(const Attr& entry) {
    if (const auto* name = entry.get<Sym>()) return "'" + name->str() + "'";
    if (const auto* object = entry.get<Attr::Object>()) return object->text.str();
    const Attr::Seq* names = entry.get_seq();
    if (!names) return "None";
    std::string out;
    for (const Attr& a : names->items) out += (out.empty() ? "" : ", ") + spec_entry_text(a);
    return "(" + out + (names->items.size() == 1 ? ",)" : ")");
}

const Attr::Record* field_record(const Attr::Record& r, const char* name) {
    for (const auto& [field, value] : r.fields)
        if (field == Sym(name)) return value.get_record();
    return nullptr;
}
const Attrs* only_items(const Attr::Record* r) {
    const Attr::Seq* s = r && !r->fields.empty() ? r->fields.front().second.get_seq() : nullptr;
    return s ? &s->items : nullptr;
}

/// The entry without axes of one device: JAX's rule goes by how XLA lays devices out, where those leave no trace.
Attr over_several_devices(const Attr& entry, const Attrs& mesh_axes) {
    Attrs names;
    for (const Attr& name : entry.get_seq() ? entry.get_seq()->items : Attrs{entry})
        for (const Attr& axis : mesh_axes) {
            const Attr::Seq* pair = axis.get_seq();
            const auto* size = pair && pair->items.size() == 2 ? pair->items[1].get<std::int64_t>() : nullptr;
            if (size && pair->items[0] == name && *size > 1) names.push_back(name);
        }
    return names.empty() ? Attr() : names.size() == 1 ? names.front() : Attr::tuple(std::move(names));
}

/// The spec of the mapped operand of `rank` axes, of which `open` are left to the compiler.
Attrs opened_spec(const Attrs& entries, const Attrs& mesh_axes, bool abstract_mesh, std::size_t rank, std::size_t dim,
                  const std::vector<std::int64_t>& open) {
    Attrs cut, opened = entries;
    for (const Attr& e : entries) cut.push_back(over_several_devices(e, mesh_axes));
    // What lies whole on every device is left as it is, entries of axes of one device included, which then stand where they stood.
    if (!std::all_of(cut.begin(), cut.end(), [](const Attr& a) { return a.is_none(); })) {
        if (!abstract_mesh) opened = std::move(cut);
        opened.resize(std::max(opened.size(), rank - 1));
        opened.insert(opened.begin() + static_cast<std::ptrdiff_t>(dim), Attr());
    }
    opened.resize(rank);
    for (const std::int64_t d : open) opened[static_cast<std::size_t>(d)] = Attr::Object{"UnconstrainedSingleton", {}, "UNCONSTRAINED"};
    return opened;
}

Attr opened_sharding(const Op& op, const Attr::Record& sharding, std::size_t rank, std::size_t dim, const std::vector<std::int64_t>& open) {
    const Attr::Record *mesh = field_record(sharding, "mesh"), *spec = field_record(sharding, "spec");
    const Attrs *axes = only_items(mesh), *entries = only_items(spec);
    const std::string& text = sharding.text.str();
    const std::size_t begin = text.find("spec=P("), kind = text.rfind(", memory_kind=device)");
    const std::size_t end = kind == std::string::npos ? text.size() - 1 : kind;  // behind the spec
    if (!axes || !entries || begin == std::string::npos || (kind == std::string::npos && text.find("memory_kind=") != std::string::npos))
        throw Error(ErrorCode::NoRule, "expected a sharding over a mesh in a device's memory, found " + printable(text, 80))
            .at(op.source.loc());
    Attrs opened = opened_spec(*entries, *axes, mesh->text.str().starts_with("Abstract"), rank, dim, open);
    std::string dims;
    for (const Attr& a : opened) dims += (dims.empty() ? "" : ", ") + spec_entry_text(a);
    Attr::Record out = sharding, new_spec = *spec;
    out.text = text.substr(0, begin) + "spec=P(" + dims + (opened.size() == 1 ? ",)" : ")") + text.substr(end);
    new_spec.fields.front().second = Attr::tuple(std::move(opened));
    for (auto& [field, value] : out.fields)
        if (field == Sym("spec")) value = std::make_shared<const Attr::Record>(new_spec);
    return std::make_shared<const Attr::Record>(std::move(out));
}

BatchResult sharding_constraint_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    const Attr* sharding = op.params->find("sharding");
    const Attr* layout = op.params->find("layout");
    if (!sharding || op.params->find("partitions"))  // that of sharded_jit
        throw Error(ErrorCode::NoRule, "Batching rule for '" + op.prim->name + "' not implemented");
    if (layout && !layout->is_none())
        throw Error(ErrorCode::NoRule, "expected a constraint without a layout, found " +
                                           printable(layout->get_record() ? layout->get_record()->text.str() : "one", 60))
            .at(op.source.loc());
    const auto dim = static_cast<std::int64_t>(dims[0]);
    std::vector<std::int64_t> open{dim};
    if (const Attr* a = op.params->find("unconstrained_dims"); a && a->get_seq())
        for (const Attr& d : a->get_seq()->items)
            if (const auto* i = d.get<std::int64_t>()) open.push_back(*i + (dim <= *i));
    std::sort(open.begin(), open.end());
    ParamsRef params = with_param(op.params, "unconstrained_dims", Attr::seq(Attr::SeqKind::Set, Attrs(open.begin(), open.end())));
    if (const Attr::Record* r = sharding->get_record(); r && r->type == Sym("NamedSharding"))
        params = with_param(params, "sharding", opened_sharding(op, *r, b.aval(x[0])->shape.size(), static_cast<std::size_t>(dim), open));
    else if (const auto* o = sharding->get<Attr::Object>(); !o || !o->text.str().starts_with("SingleDeviceSharding("))
        throw Error(ErrorCode::NoRule,
                    "expected a sharding over a mesh or on one device, found " + printable(o ? o->text.str() : "none", 80))
            .at(op.source.loc());
    return {b.bind(*op.prim, x, params), {dims[0]}};
}

// ---- reshard: the identity, to another explicit sharding

const Attr::Record* destination(const Op& op) {
    const Attr* to = op.params->find("dst_sharding");
    ParamReads::note("dst_sharding"), ParamReads::note("concrete_mesh");  // the elements are the same
    const Attr::Record* r = to ? to->get_record() : nullptr;
    if (!r || r->type != Sym("NamedSharding") || r->fields.size() != 2)
        throw Error(ErrorCode::NoRule, "expected a reshard to a NamedSharding, found " + (r ? r->type.str() : "another"))
            .at(op.source.loc());
    return r;
}
Avals eval_reshard(const Op& op) {
    expect_arrays(op, 1);
    const Attr::Record* to = destination(op);
    const std::vector<Sym> said = explicit_axes(to->fields[0].second);
    auto dims = sharding::spec_from(to->fields[1].second).dims;
    dims.resize(op.in[0]->shape.size());
    for (auto& d : dims) d = axes_without(d, axes_without(d, said));
    return {with_explicit_spec(op.in[0], dims)};
}
ParamsRef reshard_to(const Op& op, const sharding::Spec& spec) {
    Attr::Record to = *destination(op);
    const Attr::Record* mesh = to.fields[0].second.get_record();
    to.fields[1].second = sharding::spec_attr(spec);
    to.text = Sym("NamedSharding(mesh=" + (mesh ? mesh->text.str() : "") + ", spec=" + to.fields[1].second.get_record()->text.str() + ")");
    return with_param(op.params, "dst_sharding", std::make_shared<const Attr::Record>(std::move(to)));
}
void transpose_reshard(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    sharding::Spec back{explicit_spec(*op.in[0])};
    back.dims.resize(op.in[0]->shape.size());
    sink.add(0, b.bind1(*op.prim, ct, reshard_to(op, back)));
}
BatchResult batch_reshard(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    sharding::Spec spec = sharding::spec_from(destination(op)->fields[1].second);
    spec.dims.resize(op.in[0]->shape.size());
    spec.dims.insert(spec.dims.begin() + dims[0], sharding::AxisNames());
    return {b.bind(*op.prim, x, reshard_to(op, spec)), dims};
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
    .partition = partition_one_to_one,
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
    .partition = partition_one_to_one,  // what it says of its result goes for its operand where nothing else is known of that
    .view = always_a_view,
};

constexpr TextForm kNoParams{.no_params = true};
constinit const Primitive kReshard{
    .name = "reshard",
    .abstract_eval = eval_reshard,
    .jvp = jvp_linear,
    .transpose = transpose_reshard,
    .batch = batch_reshard,
    .lower = identity_lower,
    .cost = data_movement_cost,
    .view = always_a_view,
    .text = &kNoParams,
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
    static constexpr const Primitive* all[] = {&kDevicePut, &kShardingConstraint, &kReshard,      &kEmpty,
                                               &kEmpty2,    &kRngBitGenerator,    &kPlatformIndex};
    return all;
}

Value platform_index(Builder& b, const Attr& platforms) { return b.bind1(kPlatformIndex, {}, Params::make({{"platforms", platforms}})); }

}  // namespace jaxscope
