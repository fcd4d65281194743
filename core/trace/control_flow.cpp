// SPDX-License-Identifier: Apache-2.0
// jax.lax's loops and branches: bodies are traced apart, what they close over comes first among the operands.
#include "calls/control_flow.h"

#include <fmt/core.h>

#include <jaxscope/control_flow.h>
#include <jaxscope/lax.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "ir/builder.h"
#include "lax/jitted_scope.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "pytree/tree.h"
#include "trace/agreement.h"
#include "trace/functions.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope::jax::detail {

namespace {

std::vector<Array> converted_to(std::vector<Array> arrays, const Avals& types) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
        if (!(arrays[i].node()->aval == types[i]))
            arrays[i] = apply1({Operand(arrays[i])}, [&](Builder& b, const Values& v) {
                return ::jaxscope::lax::convert_element_type(b, v[0], types[i]->dtype, types[i]->weak_type);
            });
    return arrays;
}
Avals leading(const Avals& a, std::size_t n) { return Avals(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n)); }

/// JAX's int() of a bound: what lies behind the point is cut off.
std::int64_t whole_bound(double x, const Where& where) {
    // Python's own texts.
    if (!std::isfinite(x))
        detail::refuse_at(where, ErrorCode::BadUsage, fmt::format("cannot convert float {} to integer", std::isnan(x) ? "NaN" : "infinity"),
                          "give the loop bounds that are numbers");
    // Far beyond the range that trip_count takes, and inside of C++'s conversion.
    return static_cast<std::int64_t>(std::clamp(x, -1e18, 1e18));
}
/// The type of a bound that is known; none: it is traced, or no scalar.
std::optional<AvalRef> known_bound(const Operand& x, const Where& where, std::int64_t& bound) {
    if (x.kind == Operand::Kind::complex) return {};
    if (x.kind != Operand::Kind::array) {
        bound = x.kind == Operand::Kind::integer ? x.integer : x.kind == Operand::Kind::boolean ? x.boolean : whole_bound(x.real, where);
        return literal_of(x)->aval;
    }
    if (!x.node || x.node->aval->rank() != 0 || is_complex(x.node->aval->dtype)) return {};
    const ArrayPtr known = known_elements(*x.node);
    if (!known) return {};
    const Array a = concrete(known);
    bound = is_float(x.node->aval->dtype) ? whole_bound(a.item<double>(), where) : a.item<std::int64_t>();
    return x.node->aval;
}
bool same_bound_type(const AvalRef& a, const AvalRef& b) {
    return a->dtype == b->dtype || (is_signed_int(a->dtype) && is_signed_int(b->dtype) && a->weak_type != b->weak_type);
}
}  // namespace

LoopBounds loop_bounds(const Operand& lower, const Operand& upper, const Where& where) {
    const Operand in[] = {lower, upper};
    const std::vector<Array> bounds = apply(in, where, [](Builder&, const Values& v) { return v; });
    for (const Array& a : bounds)
        if (a.ndim() != 0)
            detail::refuse_at(
                where, ErrorCode::BadUsage,
                "lower and upper arguments to fori_loop must be scalars, got " + bounds[0].aval() + " and " + bounds[1].aval(),
                "take one element of each: n[{0}]");
    const AvalRef from = bounds[0].node()->aval, to = bounds[1].node()->aval;
    if (from->dtype == to->dtype) return {bounds[0], bounds[1]};
    if (!same_bound_type(from, to))
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("lower and upper arguments to fori_loop must have equal types, got {} and {}", info(from->dtype).name,
                                      info(to->dtype).name),
                          "convert one of them: n.astype(jnp::int32)");
    const std::size_t weak = from->weak_type ? 0 : 1;
    std::vector<Array> out = bounds;
    out[weak] = apply1({Operand(bounds[weak])}, where, [&](Builder& b, const Values& v) {
        return ::jaxscope::lax::convert_element_type(b, v[0], (from->weak_type ? to : from)->dtype);
    });
    return {out[0], out[1]};
}
bool known_bounds(const Operand& lower, const Operand& upper, std::int64_t (&bounds)[2], const Where& where) {
    const std::optional<AvalRef> from = known_bound(lower, where, bounds[0]), to = known_bound(upper, where, bounds[1]);
    return from && to && same_bound_type(*from, *to);
}
std::int64_t trip_count(std::int64_t lower, std::int64_t upper, const Where& where) {
    for (const std::int64_t bound : {lower, upper})
        literal_of(Operand(bound, where.file, where.line, where.function));  // refuses what is beyond 32 bits
    return std::max<std::int64_t>(upper - lower, 0);
}

namespace {
std::string leading_axes_differ(const std::vector<Array>& xs, std::int64_t length) {
    std::string sizes;
    for (const Array& x : xs) sizes += (sizes.empty() ? "" : ", ") + std::to_string(x.node()->aval->shape.empty() ? 0 : x.shape(0));
    if (length < 0) return "scan got values with different leading axis sizes: " + sizes + ".";
    return fmt::format("scan got `length` argument of {} which disagrees with leading axis sizes [{}].", length, sizes);
}
}  // namespace

std::vector<Array> elements_of(const std::vector<Array>& xs, std::int64_t length, const Where& where) {
    const std::int64_t given = length;
    std::vector<Array> out;
    for (const Array& x : xs) {
        const AvalRef a = x.node()->aval;
        if (a->shape.empty())
            detail::refuse_at(where, ErrorCode::BadUsage, "scan got value with no leading axis to scan over: " + long_aval(a),
                              "what is the same in each step is captured by the body, or part of the carry");
        if (length >= 0 && a->shape[0] != length)
            detail::refuse_at(where, ErrorCode::BadUsage, leading_axes_differ(xs, given),
                              "all that is scanned over has the same first size; leave .length out to take that");
        length = a->shape[0];
        // Only its type is looked at: an array of one element's shape that holds nothing.
        auto element = std::make_shared<ArrayConst>();
        element->aval = unstacked(a);
        out.push_back(concrete(std::move(element)));
    }
    return out;
}

namespace {

/// Per output of a body the input that it is, as it came; -1: it is none (JAX's _jaxpr_forwarding).
std::vector<int> forwarded_inputs(const ::jaxscope::Jaxpr& j) {
    std::vector<int> out;
    for (const Atom a : j.outvars) {
        const bool input = a.is_var() && a.var().index >= j.num_constvars && a.var().index < j.num_constvars + j.num_invars;
        out.push_back(input ? static_cast<int>(a.var().index - j.num_constvars) : -1);
    }
    return out;
}

/// What of a loop's state never changes becomes a constant of its body, and stands before the others.
class LoopBody {
public:
    LoopBody(const Traced& traced, std::vector<Array> state) : jaxpr(traced.open()), consts(traced.consts), state(std::move(state)) {}
    /// Which parts of the state come out as they went in.
    std::vector<bool> unchanged() const {
        const std::vector<int> from = forwarded_inputs(*jaxpr);
        std::vector<bool> out;
        for (std::size_t i = 0; i < state.size(); ++i) out.push_back(from[i] == static_cast<int>(consts.size() + i));
        return out;
    }
    void make_constant(const std::vector<bool>& which) {
        std::vector<int> first, in, outs;
        std::vector<Array> moved, rest;
        for (std::size_t i = 0; i < jaxpr->num_invars; ++i) {
            const std::size_t k = i - consts.size();  // wraps for a constant
            (k < state.size() && which[k] ? first : in).push_back(static_cast<int>(i));
        }
        for (std::size_t k = 0; k < jaxpr->outvars.size(); ++k)
            if (k >= state.size() || !which[k]) outs.push_back(static_cast<int>(k));
        for (std::size_t i = 0; i < state.size(); ++i) (which[i] ? moved : rest).push_back(state[i]);
        if (moved.empty()) return;
        jaxpr = rearrange(jaxpr, joined(first, in), outs);
        consts = joined(moved, consts);
        state = rest;
        which_ = which;
        moved_ = moved;
    }
    /// The results of the loop with those that were made constant in their places.
    std::vector<Array> results(const std::vector<Array>& given) const {
        if (moved_.empty()) return given;
        std::vector<Array> out;
        std::size_t next = 0, next_moved = 0;
        for (const bool moved : which_) out.push_back(moved ? moved_[next_moved++] : given[next++]);
        out.insert(out.end(), given.begin() + static_cast<std::ptrdiff_t>(next), given.end());
        return out;
    }

    JaxprPtr jaxpr;
    std::vector<Array> consts, state;

private:
    std::vector<bool> which_;
    std::vector<Array> moved_;
};

std::vector<Array> scan_of(Call& body, const std::vector<Array>& carry, const std::vector<Array>& xs, const lax::ScanOptions& options) {
    Avals types = avals_of(carry), in;
    std::int64_t length = options.length;
    Avals elements;
    for (const Array& x : xs) {
        length = x.node()->aval->shape.front();
        elements.push_back(unstacked(x.node()->aval));
    }
    if (length < 0) throw Error(ErrorCode::BadUsage, "scan got no values to scan over and `length` not provided.");
    const PyTreeDef tree = make_tree(body.arguments()).children()[0];
    const std::vector<std::string> paths = tree.paths();
    TracedCall t;
    do {
        in = joined(types, elements);
        t = trace_call(body, in, "scan", kUnnamed);
        check_carry_tree("scan body", tree, t.out_tree.children()[0]);
    } while (promote_carry(types, leading(t.traced.jaxpr->out_avals(), carry.size()), "scan body", paths));
    LoopBody b(t.traced, converted_to(carry, types));
    b.make_constant(b.unchanged());
    // An output that is an element of an operand is the operand.
    const std::size_t first_x = b.consts.size() + b.state.size();
    const std::vector<int> from = forwarded_inputs(*b.jaxpr);
    std::vector<int> computed;
    const auto is_operand = [&](std::size_t k) { return k >= b.state.size() && from[k] >= static_cast<int>(first_x); };
    for (std::size_t k = 0; k < from.size(); ++k)
        if (!is_operand(k)) computed.push_back(static_cast<int>(k));
    ScanParams p;
    p.jaxpr = {computed.size() == from.size() ? b.jaxpr : rearrange(b.jaxpr, positions(0, b.jaxpr->num_invars), computed), true};
    p.length = length;
    p.num_carry = static_cast<std::int64_t>(b.state.size());
    p.num_consts = static_cast<std::int64_t>(b.consts.size());
    p.reverse = options.reverse;
    p.unroll = Attr(options.unroll);
    const std::vector<Array> given = bind_primitive(kScan, joined(b.consts, b.state, xs), make_params(p), body.where);
    std::vector<Array> out;
    std::size_t next = 0;
    for (std::size_t k = 0; k < from.size(); ++k)
        out.push_back(is_operand(k) ? xs[static_cast<std::size_t>(from[k]) - first_x] : given[next++]);
    return b.results(out);
}

std::vector<Array> while_loop_of(Call& condition, Call& body, const std::vector<Array>& init) {
    Avals types = avals_of(init);
    const PyTreeDef tree = make_tree(body.arguments()).children()[0];
    const std::vector<std::string> paths = tree.paths();
    TracedCall b;
    do {
        b = trace_call(body, types, "while_loop", kUnnamed);
        check_carry_tree("while_loop body", tree, b.out_tree);
    } while (promote_carry(types, b.traced.jaxpr->out_avals(), "while_loop body", paths));
    const TracedCall c = trace_call(condition, types, "while_loop", kUnnamed);
    const Avals test = c.traced.jaxpr->out_avals();
    std::string results;
    for (const AvalRef a : test) results += (results.empty() ? "" : ", ") + shaped_array_text(a);
    if (c.out_tree.node()->kind != TreeNode::Kind::leaf)
        throw Error(ErrorCode::TypeMismatch, "cond_fun must return a boolean scalar, but got pytree " + c.out_tree.str() + ".");
    if (test.size() != 1 || test[0]->dtype != DType::Bool || test[0]->rank() != 0)
        throw Error(ErrorCode::TypeMismatch, "cond_fun must return a boolean scalar, but got output type(s) [" + results + "].");
    LoopBody step(b.traced, converted_to(init, types));
    JaxprPtr condition_jaxpr = c.traced.open();
    std::vector<bool> needed(c.traced.consts.size(), true);
    for (const bool unchanged : step.unchanged()) needed.push_back(!unchanged);
    const DceJaxpr of_condition = dce_jaxpr(condition_jaxpr, {true}, needed);
    std::vector<bool> constant;
    for (std::size_t i = c.traced.consts.size(); i < needed.size(); ++i) constant.push_back(!of_condition.used_inputs[i]);
    if (std::find(constant.begin(), constant.end(), true) != constant.end()) condition_jaxpr = of_condition.jaxpr;
    step.make_constant(constant);
    WhileParams p;
    p.body_jaxpr = {step.jaxpr, true};
    p.body_nconsts = static_cast<std::int64_t>(step.consts.size());
    p.cond_jaxpr = {condition_jaxpr, true};
    p.cond_nconsts = static_cast<std::int64_t>(c.traced.consts.size());
    return step.results(bind_primitive(kWhile, joined(c.traced.consts, step.consts, step.state), make_params(p), body.where));
}

// ---- Under jax.disable_jit: the functions themselves, in turn.

std::vector<Array> scan_in_turn(Call& body, std::vector<Array> state, const std::vector<Array>& xs, const lax::ScanOptions& options) {
    const Where& where = body.where;
    const std::int64_t length = xs.empty() ? options.length : xs.front().shape(0);
    if (length < 0) throw Error(ErrorCode::BadUsage, "scan got no values to scan over and `length` not provided.");
    if (length == 0)
        throw Error(ErrorCode::BadUsage, "zero-length scan is not supported in disable_jit() mode because the output type is unknown.");
    std::vector<std::vector<Array>> rows;
    for (std::int64_t k = 0; k < length; ++k) {
        std::vector<Array> in = state, out;
        for (const Array& x : xs)
            in.push_back(
                lax::index_in_dim(Operand(x, where.file, where.line, where.function), options.reverse ? length - 1 - k : k, 0, false));
        body.run(in.data(), out);
        rows.resize(out.size() - state.size());
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(out[state.size() + i]);
        state.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(state.size()));
    }
    for (std::vector<Array>& each : rows) {
        if (options.reverse) std::reverse(each.begin(), each.end());
        state.push_back(of_rows(each, where));
    }
    return state;
}
/// None: whether to go on isn't known.
std::optional<std::vector<Array>> while_in_turn(Call& condition, Call& body, std::vector<Array> state) {
    for (;;) {
        std::vector<Array> go_on, next;
        condition.run(state.data(), go_on);
        if (go_on.size() != 1 || !known_elements(*go_on[0].node())) return {};
        if (!static_cast<bool>(concrete(known_elements(*go_on[0].node())))) return state;
        body.run(state.data(), next);
        state = std::move(next);
    }
}
/// The branch to take, where that is known.
Call* known_branch(const Operand& index, const std::vector<Call*>& branches, bool boolean) {
    const Array which = apply1({index}, [](Builder&, const Values& v) { return v[0]; });
    const ArrayPtr known = known_elements(*which.node());
    if (!known) return nullptr;
    const Array value = concrete(known);
    if (boolean) return branches[static_cast<bool>(value) ? 1 : 0];
    const auto last = static_cast<std::int64_t>(branches.size()) - 1;
    return branches[static_cast<std::size_t>(std::clamp<std::int64_t>(value.item<std::int64_t>(), 0, last))];
}

}  // namespace

std::vector<Array> scan(Call& body, const std::vector<Array>& carry, const std::vector<Array>& xs, const lax::ScanOptions& options) {
    return at_place(body.where,
                    [&] { return jit_disabled() ? scan_in_turn(body, carry, xs, options) : scan_of(body, carry, xs, options); });
}
std::vector<Array> while_loop(Call& condition, Call& body, const std::vector<Array>& init) {
    return at_place(body.where, [&] {
        if (jit_disabled())
            if (std::optional<std::vector<Array>> done = while_in_turn(condition, body, init)) return *done;
        return while_loop_of(condition, body, init);
    });
}
namespace {
/// What a branch can't be chosen by.
void refuse_choice(const Operand& index, bool boolean) {
    const Array a = apply1({index}, [](Builder&, const Values& v) { return v[0]; });
    const auto refuse = [&](const std::string& text) { detail::refuse_at(index.where, ErrorCode::TypeMismatch, text); };
    const DType type = a.node()->aval->dtype;
    if (a.ndim() != 0)
        refuse(fmt::format("{} must be {}scalar, got {} of shape {}.", boolean ? "Pred" : "Branch index", boolean ? "a " : "", a.str(),
                           a.shape().str()));
    if (boolean && type != DType::Bool && !is_integer(type) && !is_float(type))
        refuse(fmt::format("Pred type must be either boolean or number, got {}.", info(type).name));
    if (!boolean && !is_integer(type)) refuse(fmt::format("Index type must be an integer, got {} as {}", a.str(), info(type).name));
}
/// Branches that return something else than the first one. Of cond the branch for false stands first.
void refuse_other_branches(const std::vector<TracedCall>& traced, bool boolean, const Where& where) {
    const auto branch = [&](std::size_t k, const std::string& name) {
        return Branch{name, fmt::format("{} at {}:{}", kUnnamed, where.file, where.line), traced[k].out_tree,
                      traced[k].traced.jaxpr->out_avals()};
    };
    if (boolean) return check_branches("cond", branch(1, "true_fun"), branch(0, "false_fun"));
    for (std::size_t k = 1; k < traced.size(); ++k) check_branches("switch", branch(0, "branch 0"), branch(k, fmt::format("branch{}", k)));
}
}  // namespace

void refuse_no_branches(const Operand& index) {
    detail::refuse_at(index.where, ErrorCode::BadUsage, "Empty branch sequence", "give at least one branch");
}

Branches::Branches() : calls_(new std::vector<Call*>) {}
Branches::~Branches() { delete calls_; }
void Branches::add(Call& call) { calls_->push_back(&call); }
const void* Branches::result_value() const {
    std::size_t k = calls_->size() - 1;
    while (k > 0 && !(*calls_)[k]->results().value) --k;
    return (*calls_)[k]->results().value;
}
std::vector<Array> cond(const Operand& index, const Branches& given, bool boolean) {
    const std::vector<Call*>& branches = given.calls();
    refuse_choice(index, boolean);
    const std::vector<Array>& operands = at_place(index.where, [&]() -> const std::vector<Array>& { return leaves_of(*branches.front()); });
    if (jit_disabled())
        if (Call* taken = known_branch(index, branches, boolean)) {
            std::vector<Array> out;
            taken->run(operands.data(), out);
            return out;
        }
    if (branches.size() == 1) {
        std::vector<Array> out;
        branches.front()->run(operands.data(), out);
        return out;
    }
    // All branches take what any of them closes over. JAX traces the branch for true first, and puts it last.
    std::vector<TracedCall> traced(branches.size());
    std::vector<Array> consts;
    for (std::size_t k = 0; k < branches.size(); ++k) {
        const std::size_t at = boolean ? branches.size() - 1 - k : k;
        TracedCall& t = traced[at];
        t = trace_call(*branches[at], avals_of(operands), "cond", kUnnamed);
        for (const Array& a : t.traced.consts)
            if (std::none_of(consts.begin(), consts.end(), [&](const Array& x) { return x.node() == a.node(); })) consts.push_back(a);
    }
    at_place(index.where, [&] { refuse_other_branches(traced, boolean, index.where); });
    CondParams p;
    const Avals in = joined(avals_of(consts), avals_of(operands));
    for (const TracedCall& t : traced) {
        std::vector<int> position;
        for (const Array& a : t.traced.consts)
            position.push_back(static_cast<int>(
                std::find_if(consts.begin(), consts.end(), [&](const Array& x) { return x.node() == a.node(); }) - consts.begin()));
        for (std::size_t i = 0; i < operands.size(); ++i) position.push_back(static_cast<int>(consts.size() + i));
        p.branches.push_back(consts.empty() ? t.traced.jaxpr : widen_inputs(t.traced.open(), in, position));
    }
    const auto last = static_cast<std::int64_t>(branches.size()) - 1;
    const Array which = apply1({index}, [&](Builder& b, const Values& v) -> Value {
        if (boolean) {
            Value t = v[0];
            if (b.aval(t)->dtype != DType::Bool) t = ::jaxscope::lax::ne(b, t, ::jaxscope::lax::constant(b, t, 0));
            return ::jaxscope::lax::convert_element_type(b, t, DType::S32);
        }
        const Value i = ::jaxscope::lax::convert_element_type(b, v[0], DType::S32);
        const AvalRef scalar(DType::S32, {});
        return b.bind1(kClamp, {make_literal(scalar, std::int64_t{0}), i, make_literal(scalar, last)});
    });
    return bind_primitive(kCond, joined(std::vector<Array>{which}, consts, operands), make_params(p), index.where);
}

}  // namespace jaxscope::jax::detail
