// SPDX-License-Identifier: Apache-2.0
// shard_map (shard_map.py of JAX 0.10.2). Its transformations are those of its body, which JAX traces anew each time: what crosses between
// two halves leaves the one and enters the other as an array of all devices' parts.
#include <algorithm>
#include <optional>

#include "calls/families.h"
#include "calls/sharding/shard_map.h"
#include "ir/interpret.h"
#include "ir/print/text_form.h"
#include "lax/collectives/collectives.h"
#include "lax/ops.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/linearize.h"
#include "transforms/partial_eval.h"
#include "transforms/split_builder.h"
#include "transforms/transpose.h"

namespace jaxscope {

namespace {

using Specs = std::vector<Attr>;

Specs operator+(Specs a, const Specs& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
Values operator+(Values a, const Values& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
/// Constants that a rule brought along are operands that every device has whole.
Values emit_map(Builder& b, const ShardedRegion& r, const JaxprPtr& j, const Values& in, const Specs& in_specs, const Specs& out_specs) {
    const JaxprPtr open = convert_constvars(j);
    const Values consts = j->consts.empty() ? Values() : constants_of(b, *j);
    Avals out;
    for (std::size_t k = 0; k < out_specs.size(); ++k) out.push_back(r.whole(open->aval(open->outvars[k]), out_specs[k]));
    const Specs whole(consts.size(), sharding::spec_attr({}));
    return b.emit(kShardMap, consts + in, r.with(open, whole + in_specs, out_specs), out, open->effects);
}

Avals map_avals(const Op& op) {
    const ShardedRegion r(op);
    Avals out;
    if (op.in.size() != r.in_specs.size())
        throw Error(ErrorCode::TypeMismatch,
                    "expected " + std::to_string(r.in_specs.size()) + " operands of shard_map, found " + std::to_string(op.in.size()));
    for (std::size_t i = 0; i < op.in.size(); ++i) {
        const AvalRef wanted = r.body->aval(r.body->invar(static_cast<std::uint32_t>(i))), found = r.local(op.in[i], r.in_specs[i]);
        if (wanted->is_array() && (found->shape != wanted->shape || found->dtype != wanted->dtype))
            throw Error(ErrorCode::TypeMismatch, "shard_map argument avals not compatible with jaxpr binder avals and in_specs: expected " +
                                                     to_text(wanted) + ", found " + to_text(found));
    }
    for (std::size_t k = 0; k < r.out_specs.size(); ++k) out.push_back(r.whole(r.body->aval(r.body->outvars[k]), r.out_specs[k]));
    return out;
}

PrimalsTangents map_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const ShardedRegion r(op);
    const std::vector<bool> nz = nonzero_pattern(b, dx);
    const JvpJaxpr* j = nullptr;
    {
        const ManualScope scope(r.inside());
        j = &jvp_jaxpr(r.body, nz);
    }
    const Values out = emit_map(b, r, j->jaxpr, x + select(dx, nz), r.in_specs + select(r.in_specs, nz),
                                r.out_specs + select(r.out_specs, j->nonzero_out));
    PrimalsTangents result;
    const auto primals = static_cast<std::ptrdiff_t>(op.out.size());
    result.primals.assign(out.begin(), out.begin() + primals);
    std::size_t next = op.out.size();
    for (const bool n : j->nonzero_out) result.tangents.push_back(n ? out[next++] : Value::zero());
    return result;
}

// ---- Split in two: what is known, and what waits for a tangent or an unknown value

/// How each residual of the second half comes out of the first one: it is one of its inputs or results already, or leaves as a result of
/// its own. Numbers leave as arrays of one element, which the second half makes numbers again.
struct Crossing {
    std::vector<std::size_t> from_input, from_result;  ///< SIZE_MAX: not that
    Values given;                                      ///< in the first half, of those that leave by themselves
    Specs given_specs;
    std::vector<bool> number;  ///< per residual: leaves as an array of one element
    bool leaves(std::size_t k) const { return from_input[k] == SIZE_MAX && from_result[k] == SIZE_MAX; }

    Crossing(const ShardedRegion& r, JaxprBuilder& known, const Values& residuals, const Values& inputs, const Values& results) {
        const auto place = [](const Values& among, Value v) {
            const auto found = std::find(among.begin(), among.end(), v);
            return found == among.end() || v.kind() == Value::Kind::HeldLiteral ? SIZE_MAX
                                                                                : static_cast<std::size_t>(found - among.begin());
        };
        for (const Value v : residuals) {
            from_input.push_back(place(inputs, v));
            from_result.push_back(from_input.back() == SIZE_MAX ? place(results, v) : SIZE_MAX);
            const AvalRef a = known.aval(v);
            number.push_back(leaves(from_input.size() - 1) && a->is_array() && a->shape.empty());
            if (!leaves(from_input.size() - 1)) continue;
            given_specs.push_back(r.residual_spec(a));
            given.push_back(v);
        }
        for (Value& v : given)
            if (const AvalRef a = known.aval(v); a->is_array() && a->shape.empty()) v = lax::broadcast_in_dim(known, v, {1}, {});
    }
    template <class V>
    V merged(const V& inputs, const V& results, const V& own) const {
        V out;
        std::size_t next = 0;
        for (std::size_t k = 0; k < from_input.size(); ++k)
            out.push_back(!leaves(k) ? (from_input[k] != SIZE_MAX ? inputs[from_input[k]] : results[from_result[k]]) : own[next++]);
        return out;
    }
};

/// The same jaxpr whose leading inputs are arrays of one element where `number` says so.
JaxprPtr with_numbers_back(const JaxprPtr& j, const std::vector<bool>& number) {
    if (!any_true(number)) return j;
    JaxprBuilder b;
    Values in;
    const Avals avals = j->in_avals();
    for (std::size_t i = 0; i < avals.size(); ++i)
        in.push_back(b.add_input(i < number.size() && number[i] ? with_shape(avals[i], {1}) : avals[i]));
    for (std::size_t i = 0; i < number.size(); ++i)
        if (number[i]) in[i] = lax::squeeze(b, in[i], {0});
    return b.finish(inline_jaxpr(b, *j, constants_of(b, *j), in), j->name);
}

PrimalsTangents map_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    const ShardedRegion r(op);
    const std::vector<bool> nz = nonzero_pattern(b, dx);
    JaxprBuilder known;
    SplitBuilder split(known, b.outermost());
    split.hold_numbers(SplitBuilder::Numbers::All);
    JaxprPtr first, second;
    std::optional<Crossing> crossing;
    std::vector<bool> nonzero_out;
    {
        const ManualScope scope(r.inside());
        Values in, din;
        for (const AvalRef a : r.body->in_avals()) in.push_back(known.add_input(a));
        for (std::size_t i = 0; i < in.size(); ++i)
            din.push_back(nz[i] ? split.add_unknown_input(tangent_aval(known.aval(in[i]))) : Value::zero());
        const PrimalsTangents out = linearize_into(split, *r.body, in, din);
        for (const Value t : out.tangents) nonzero_out.push_back(!t.is_zero());
        const SplitBuilder::Unknown half = split.finish_unknown(select(out.tangents, nonzero_out), true, r.body->name);
        crossing.emplace(r, known, half.residuals, in, out.primals);
        second = with_numbers_back(half.jaxpr, crossing->number);
        first = known.finish(crossing->given + out.primals, r.body->name);
    }
    const Values out = emit_map(b.primal(), r, first, x, r.in_specs, crossing->given_specs + r.out_specs);
    const auto own = static_cast<std::ptrdiff_t>(crossing->given.size());
    PrimalsTangents result;
    result.primals.assign(out.begin() + own, out.end());
    const Values residuals = crossing->merged(x, result.primals, Values(out.begin(), out.begin() + own));
    const Values tangents = emit_map(b.tangent(), r, second, residuals + select(dx, nz),
                                     crossing->merged(r.in_specs, r.out_specs, crossing->given_specs) + select(r.in_specs, nz),
                                     select(r.out_specs, nonzero_out));
    std::size_t next = 0;
    for (const bool n : nonzero_out) result.tangents.push_back(n ? tangents[next++] : Value::zero());
    return result;
}

Values map_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    const ShardedRegion r(op);
    std::vector<bool> unknown, unknown_out;
    for (const Value v : x) unknown.push_back(v.is_unknown());
    JaxprBuilder known;
    SplitBuilder split(known, b.outermost(), true);
    JaxprPtr first, second;
    std::optional<Crossing> crossing;
    {
        const ManualScope scope(r.inside());
        const Avals avals = r.body->in_avals();
        Values in(avals.size()), known_in;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (!unknown[i]) known_in.push_back(in[i] = known.add_input(avals[i]));
        for (std::size_t i = 0; i < in.size(); ++i)
            if (unknown[i]) in[i] = split.add_unknown_input(avals[i]);
        const Values out = eval_jaxpr(split, *r.body, in);
        for (const Value v : out) unknown_out.push_back(v.is_unknown());
        const Values known_out = select(out, unknown_out, false);
        const SplitBuilder::Unknown half = split.finish_unknown(select(out, unknown_out), false, r.body->name);
        crossing.emplace(r, known, half.residuals, known_in, known_out);
        second = with_numbers_back(half.jaxpr, crossing->number);
        first = known.finish(known_out + crossing->given, r.body->name);
    }
    const Values known_x = select(x, unknown, false);
    const Specs known_specs = select(r.in_specs, unknown, false), known_out_specs = select(r.out_specs, unknown_out, false);
    const Values out = emit_map(b.primal(), r, first, known_x, known_specs, known_out_specs + crossing->given_specs);
    const auto results = static_cast<std::ptrdiff_t>(known_out_specs.size());
    const Values known_out(out.begin(), out.begin() + results);
    const Values residuals = crossing->merged(known_x, known_out, Values(out.begin() + results, out.end()));
    const Values staged = emit_map(b.tangent(), r, second, residuals + select(x, unknown),
                                   crossing->merged(known_specs, known_out_specs, crossing->given_specs) + select(r.in_specs, unknown),
                                   select(r.out_specs, unknown_out));
    Values merged;
    std::size_t next_known = 0, next_unknown = 0;
    for (const bool u : unknown_out) merged.push_back(u ? staged[next_unknown++] : known_out[next_known++]);
    return merged;
}

/// What a policy keeps of the body (JAX's rule for remat): the known half without what it forwards, numbers as arrays of one element.
JaxprPtr known_with_arrays(const JaxprPtr& j, const std::vector<bool>& keep, std::size_t num_primals, const std::vector<bool>& number) {
    JaxprPtr pruned = prune_outputs(j, keep);
    if (!any_true(number)) return pruned;
    JaxprBuilder b;
    Values in;
    for (const AvalRef a : pruned->in_avals()) in.push_back(b.add_input(a));
    Values out = inline_jaxpr(b, *pruned, constants_of(b, *pruned), in);
    for (std::size_t k = num_primals; k < out.size(); ++k)
        if (b.aval(out[k])->is_array() && b.aval(out[k])->shape.empty()) out[k] = lax::broadcast_in_dim(b, out[k], {1}, {});
    return b.finish(out, j->name);
}

PartialEvalCustomResult map_partial_eval_custom(const PartialEvalCustomArgs& args) {
    const ShardedRegion r(args.op);
    std::optional<ManualScope> scope(std::in_place, r.inside());
    const CustomPartialEval split = partial_eval_jaxpr_custom(r.body, args.unknown_in, args.inst_in, false, false, args.policy);
    const Jaxpr& known = *split.known;
    const auto num_residuals = static_cast<std::size_t>(split.num_residuals);
    const std::size_t num_primals = known.outvars.size() - num_residuals;
    const std::vector<HalfInput> known_in = originals_where(args.unknown_in, false);
    const std::vector<HalfOutput> known_out = results_where(split.unknown_out, false);
    const Specs known_specs = select(r.in_specs, args.unknown_in, false), known_out_specs = select(r.out_specs, split.unknown_out, false);
    const auto forward = [&](Atom a) -> std::optional<std::pair<HalfInput, Attr>> {
        const std::uint32_t v = a.var().index;
        if (v >= known.num_constvars && v < known.num_constvars + known.num_invars)
            return std::pair(known_in[v - known.num_constvars], known_specs[v - known.num_constvars]);
        for (std::size_t k = num_primals; k-- > 0;)
            if (known.outvars[k] == a && !args.jaxpr.dropped(args.jaxpr.output(args.eqn, static_cast<std::uint32_t>(known_out[k].index))))
                return std::pair(HalfInput::result(known_out[k].index), known_out_specs[k]);
        return std::nullopt;
    };
    PartialEvalCustomResult out;
    std::vector<bool> keep(known.outvars.size(), true), number(num_residuals, false);
    std::vector<HalfInput> staged_in;
    Specs residual_specs, staged_specs;
    for (std::size_t k = 0; k < num_residuals; ++k) {
        const Atom a = known.outvars[num_primals + k];
        const auto found = forward(a);
        keep[num_primals + k] = !found;
        staged_in.push_back(found ? found->first : HalfInput::residual(residual_specs.size()));
        staged_specs.push_back(found ? found->second : r.residual_spec(known.aval(a)));
        if (found) continue;
        number[k] = known.aval(a)->is_array() && known.aval(a)->shape.empty();
        residual_specs.push_back(staged_specs.back());
        out.residuals.push_back(number[k] ? with_shape(known.aval(a), {1}) : known.aval(a));
    }
    const JaxprPtr first = known_with_arrays(split.known, keep, num_primals, number), second = with_numbers_back(split.staged, number);
    scope.reset();
    for (std::size_t k = 0; k < out.residuals.size(); ++k) out.residuals[k] = r.whole(out.residuals[k], residual_specs[k]);
    out.unknown_out = split.unknown_out;
    out.inst_out = split.inst_out;
    out.residual_inputs = not_instantiated(args);
    out.known = HalfEqn{args.op.prim, r.with(first, known_specs, known_out_specs + residual_specs), known_in, known_out, first->effects};
    for (const HalfOutput o : residuals_between<HalfOutput>(0, out.residuals.size())) out.known->outputs.push_back(o);
    for (const HalfInput i : originals_where(args.inst_in)) staged_in.push_back(i);
    out.staged = HalfEqn{args.op.prim, r.with(second, staged_specs + select(r.in_specs, args.inst_in), select(r.out_specs, split.inst_out)),
                         std::move(staged_in), results_where(split.inst_out), second->effects};
    return out;
}

// ---- Reverse mode

/// Where types don't say what varies, what each device has of a cotangent is its share of it: those of a result that all have are divided,
/// and those of an operand that all had are summed.
Value shared_out(Builder& b, const ShardedRegion& r, Value ct, const Attr& spec) {
    const std::int64_t devices = r.devices(r.unmentioned(spec));
    if (r.check || devices == 1 || b.aval(ct)->dtype == DType::Float0) return ct;
    return lax::div(b, ct, lax::constant(b, ct, static_cast<double>(devices)));
}
Value summed(Builder& b, const ShardedRegion& r, Value ct, const Attr& spec) {
    const std::vector<Sym> axes = r.unmentioned(spec);
    if (r.check || axes.empty()) return ct;
    return b.bind1(kPsum, {ct}, Params::make({{"axes", Attr::tuple(Attrs(axes.begin(), axes.end()))}, {"axis_index_groups", Attr()}}));
}

void map_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const ShardedRegion r(op);
    Values in;
    Specs in_specs, out_specs;
    for (std::size_t k = 0; k < ct.size(); ++k) {
        if (ct[k].is_zero()) continue;
        in.push_back(shared_out(b, r, ct[k], r.out_specs[k]));
        in_specs.push_back(r.out_specs[k]);
    }
    JaxprBuilder body;
    JaxprPtr transposed;
    std::vector<std::size_t> wanted;
    {
        const ManualScope scope(r.inside());
        Values inner_ct(ct.size(), Value::zero()), inner_x, outs;
        std::size_t next = 0;
        for (std::size_t k = 0; k < ct.size(); ++k)
            if (!ct[k].is_zero()) inner_ct[k] = body.add_input(r.local(b.aval(in[next++]), r.out_specs[k]));
        for (std::size_t i = 0; i < x.size(); ++i) {
            inner_x.push_back(sink.wanted(i) ? Value::linear()
                                             : body.add_input(r.body->aval(r.body->invar(static_cast<std::uint32_t>(i)))));
            if (sink.wanted(i)) continue;
            in.push_back(x[i]);
            in_specs.push_back(r.in_specs[i]);
        }
        const Values found = backward_pass(body, *r.body, inner_x, inner_ct);
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (found[i].is_zero()) continue;
            outs.push_back(summed(body, r, found[i], r.in_specs[i]));
            out_specs.push_back(r.in_specs[i]);
            wanted.push_back(i);
        }
        transposed = body.finish(outs, r.body->name);
    }
    const Values out = emit_map(b, r, transposed, in, in_specs, out_specs);
    for (std::size_t k = 0; k < wanted.size(); ++k) sink.add(wanted[k], out[k]);
}

// ---- vmap, dead code

/// The spec of an array that has a batch axis at `dim`, which nothing cuts.
Attr batched_spec(const Attr& spec, int dim) {
    if (dim == kNotMapped) return spec;
    sharding::Spec s = sharding::spec_from(spec);
    const auto at = static_cast<std::size_t>(dim);
    s.dims.resize(std::max(s.dims.size(), at));
    s.dims.insert(s.dims.begin() + dim, sharding::AxisNames());
    return sharding::spec_attr(s);
}

BatchResult map_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const ShardedRegion r(op);
    const BatchedJaxpr* j = nullptr;
    {
        const ManualScope scope(r.inside());
        j = &batch_jaxpr(r.body, size, dims);
    }
    Specs in, out;
    for (std::size_t i = 0; i < dims.size(); ++i) in.push_back(batched_spec(r.in_specs[i], dims[i]));
    for (std::size_t k = 0; k < j->out_dims.size(); ++k) out.push_back(batched_spec(r.out_specs[k], j->out_dims[k]));
    return {emit_map(b, r, j->jaxpr, x, in, out), j->out_dims};
}

DceResult map_dce(const Op& op, const std::vector<bool>& used_outputs) {
    const ShardedRegion r(op);
    const ManualScope scope(r.inside());
    const DceJaxpr d = dce_jaxpr(r.body, used_outputs);
    DceResult out;
    out.used_inputs = out.kept_inputs = d.used_inputs;
    out.kept_outputs = used_outputs;
    out.dropped = !any_true(d.used_inputs) && !any_true(used_outputs) && d.jaxpr->effects.empty();
    out.params = d.jaxpr == r.body ? op.params : r.with(d.jaxpr, select(r.in_specs, d.used_inputs), select(r.out_specs, used_outputs));
    return out;
}

constexpr TextForm kMapText{.open_body = true};
constexpr NoRule kOnDevices{"each device runs its body: programs of several devices are cut into that of one (core/sharding)"};

}  // namespace

constinit const Primitive kShardMap{.name = "shard_map",
                                    .abstract_eval = map_avals,
                                    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
                                    .jvp_call = map_jvp,
                                    .linearize = map_linearize,
                                    .partial_eval = map_partial_eval,
                                    .partial_eval_custom = map_partial_eval_custom,
                                    .transpose = map_transpose,
                                    .batch = map_batch,
                                    .dce = map_dce,
                                    .lower = kOnDevices,
                                    .kernel = kOnDevices,
                                    .expand = kOnDevices,
                                    .cost = NoRule{"the cost of a call is that of its equations"},
                                    .body = "jaxpr",
                                    .text = &kMapText};

std::span<const Primitive* const> shard_map_primitives() {
    static constexpr const Primitive* all[] = {&kShardMap};
    return all;
}

}  // namespace jaxscope
