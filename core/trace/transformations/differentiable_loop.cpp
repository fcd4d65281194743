// SPDX-License-Identifier: Apache-2.0
// equinox.internal.while_loop. "checkpointed": the forward pass keeps states at distances that double when the places for them are used up;
// the backward pass computes each stretch between two of them again, keeping states in it in the same way, and pulls back step by step.
#include <fmt/core.h>

#include <jaxscope/autodiff.h>
#include <jaxscope/checkpoint.h>
#include <jaxscope/custom_rules.h>
#include <jaxscope/loops.h>

#include <cmath>

#include "base/error.h"
#include "calls/control_flow.h"
#include "pytree/tree.h"
#include "trace/agreement.h"
#include "trace/functions.h"
#include "trace/refusals.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope::jax::detail {

namespace {

using Leaves = std::vector<Array>;

Leaves part(const Leaves& all, std::size_t begin, std::size_t count) {
    return Leaves(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(begin + count));
}
Leaves chosen(const Leaves& all, const std::vector<bool>& which, bool wanted = true) {
    Leaves out;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (which[i] == wanted) out.push_back(all[i]);
    return out;
}
Leaves merged(const Leaves& yes, const Leaves& no, const std::vector<bool>& which) {
    Leaves out;
    std::size_t y = 0, n = 0;
    for (const bool w : which) out.push_back(w ? yes[y++] : no[n++]);
    return out;
}
std::vector<bool> inexact_of(const Leaves& all) {
    std::vector<bool> out;
    for (const Array& a : all) out.push_back(is_inexact(a.node()->aval->dtype));
    return out;
}

/// The loop without its closures: what it closes over comes as arrays.
struct Loop {
    JaxprPtr condition, body;
    Leaves condition_consts, body_consts;
    std::int64_t max_steps;
    Where where;

    Array goes_on(const Leaves& consts, const Leaves& state) const { return call(condition, joined(consts, state), where).front(); }
    Leaves step(const Leaves& consts, const Leaves& state) const { return call(body, joined(consts, state), where); }
    Array test(const Leaves& consts, const Leaves& state, const Array& steps) const {
        const Array more = goes_on(consts, state);
        return max_steps < 0 ? more : numpy::logical_and(more, steps < max_steps);
    }
};

/// Throws Equinox's error: both as trees, line by line.
void check_carry(const PyTreeDef& in_tree, const Avals& in, const PyTreeDef& out_tree, const Avals& out) {
    if (in_tree == out_tree &&
        std::equal(in.begin(), in.end(), out.begin(), out.end(), [](AvalRef a, AvalRef b) { return strong(a) == strong(b); }))
        return;
    const std::string given = types_text(in_tree, in), got = types_text(out_tree, out);
    std::string text = "`body_fun` must have the same input and output structure. Difference is:";
    for (std::size_t i = 0, j = 0; i < given.size() || j < got.size();) {
        const std::size_t end = std::min(given.find('\n', i), given.size()), other_end = std::min(got.find('\n', j), got.size());
        const std::string line = given.substr(std::min(i, end), end - std::min(i, end));
        const std::string other = got.substr(std::min(j, other_end), other_end - std::min(j, other_end));
        if (line == other)
            text.append("\n  ").append(line);
        else
            text.append("\n- ").append(line).append("\n+ ").append(other);
        i = end + 1, j = other_end + 1;
    }
    throw Error(ErrorCode::TypeMismatch, text)
        .advise("the body gives back what it takes: x.astype(...) and x.reshape(...) change a type back");
}

Loop loop_of(Call& condition, Call& body, const Leaves& init, const eqxi::LoopOptions& o) {
    const Avals types = avals_of(init);
    TracedCall c = trace_call(condition, types, "while_loop", kUnnamed), b = trace_call(body, types, "while_loop", kUnnamed);
    const Avals test = c.traced.jaxpr->out_avals(), out = b.traced.jaxpr->out_avals();
    if (test.size() != 1 || test[0]->dtype != DType::Bool || test[0]->rank() != 0)
        throw Error(ErrorCode::TypeMismatch, "cond_fun must return a boolean scalar");
    const PyTreeDef tree = make_tree(body.arguments()).children()[0];
    check_carry(tree, types, b.out_tree, out);
    return {c.traced.open(), b.traced.open(), c.traced.consts, b.traced.consts, o.max_steps, body.where};
}

/// lax.while_loop with the number of steps counted: the last state, the number behind it.
Leaves counted_loop(const Loop& l, const Leaves& condition_consts, const Leaves& body_consts, const Leaves& init) {
    const std::size_t n = init.size();
    return lax::while_loop([&](const Leaves& s) { return l.test(condition_consts, part(s, 0, n), s[n]); },
                           [&](const Leaves& s) {
                               Leaves next = l.step(body_consts, part(s, 0, n));
                               next.push_back(s[n] + 1);
                               return next;
                           },
                           joined(init, Leaves{numpy::zeros({}, dtype::int32)}), l.where);
}

/// Places for states, the last of them for what isn't kept.
class Slots {
public:
    explicit Slots(std::int64_t places) : places_(places) {}
    Leaves empty(const Leaves& like) const {
        Leaves out;
        for (const Array& a : like) {
            std::vector<std::int64_t> shape = a.shape().vector();
            shape.insert(shape.begin(), places_ + 1);
            out.push_back(numpy::zeros(shape, a.dtype()));
        }
        return out;
    }
    /// Keeps a state where `number` is a multiple of `stride`.
    Leaves kept(Leaves slots, const Leaves& state, const Array& number, const Array& stride) const {
        const Array at = numpy::where(lax::eq(lax::rem(number, stride), 0), lax::div(number, stride), static_cast<int>(places_));
        for (std::size_t i = 0; i < slots.size(); ++i) {
            Arrays start{at};
            for (int d = 0; d < state[i].ndim(); ++d) start.push_back(numpy::zeros({}, dtype::int32));
            slots[i] = lax::dynamic_update_slice(slots[i], numpy::expand_dims(state[i].astype(slots[i].dtype()), 0), start);
        }
        return slots;
    }
    /// Every second state, so that half of the places are free again.
    Leaves thinned(const Leaves& slots) const {
        std::vector<std::int32_t> from;
        for (std::int64_t k = 0; k <= places_; ++k) from.push_back(static_cast<std::int32_t>(std::min(2 * k, places_)));
        const Array index(from, {places_ + 1});
        Leaves out;
        for (const Array& s : slots) out.push_back(numpy::take(s, index, 0));
        return out;
    }
    Array full(const Array& number, const Array& stride) const { return lax::div(number, stride) >= places_; }
    Leaves at(const Leaves& slots, const Array& place) const {
        Leaves out;
        for (const Array& s : slots) {
            Arrays start{place};
            std::vector<std::int64_t> size = s.shape().vector();
            size[0] = 1;
            for (int d = 1; d < s.ndim(); ++d) start.push_back(numpy::zeros({}, dtype::int32));
            out.push_back(numpy::squeeze(lax::dynamic_slice(s, start, size), 0));
        }
        return out;
    }
    std::int64_t places() const { return places_; }

private:
    std::int64_t places_;
};

/// Forward and backward pass of a checkpointed loop, as functions of leaves.
class Checkpointed {
public:
    Checkpointed(const Loop& l, const Leaves& init, const std::vector<bool>& buffers, std::int64_t checkpoints)
        : loop_(l),
          buffers_(buffers),
          inexact_(inexact_of(init)),
          const_inexact_(inexact_of(l.body_consts)),
          outer_(std::max<std::int64_t>(1, checkpoints / 2)),
          inner_(std::max<std::int64_t>(1, checkpoints - checkpoints / 2)) {}

    /// What gradients belong to, and the rest: constants of the body and the state; those of the condition go with the rest.
    Leaves floats(const Leaves& init) const { return joined(chosen(loop_.body_consts, const_inexact_), chosen(init, inexact_)); }
    Leaves others(const Leaves& init) const {
        return joined(loop_.condition_consts, chosen(loop_.body_consts, const_inexact_, false), chosen(init, inexact_, false));
    }
    std::pair<Leaves, Leaves> run(const Leaves& floats, const Leaves& others) const {
        const Given g = given(floats, others);
        Leaves out = counted_loop(loop_, g.condition_consts, g.body_consts, g.init);
        out.pop_back();
        return {chosen(out, inexact_), chosen(out, inexact_, false)};
    }
    /// Besides: floats, others, the last state, the states that were kept, their distance, the number of steps.
    auto forward(const Leaves& floats, const Leaves& others) const {
        const Given g = given(floats, others);
        const std::size_t n = g.init.size();
        const Leaves first = outer_.empty(chosen(g.init, buffers_, false));
        const Leaves zero{numpy::zeros({}, dtype::int32), numpy::ones({}, dtype::int32)};
        const auto more = [&](const Leaves& s) { return loop_.test(g.condition_consts, part(s, 2, n), s[0]); };
        const auto step = [&](const Leaves& s) {
            const Leaves state = part(s, 2, n);
            auto [slots, stride] = make_room(outer_, part(s, 2 + n, first.size()), s[0], s[1]);
            slots = outer_.kept(slots, chosen(state, buffers_, false), s[0], stride);
            return joined(Leaves{s[0] + 1, stride}, loop_.step(g.body_consts, state), slots);
        };
        const Leaves end = lax::while_loop(more, step, joined(zero, g.init, first), loop_.where);
        const Leaves last = part(end, 2, n);
        return std::pair(std::pair(chosen(last, inexact_), chosen(last, inexact_, false)),
                         std::tuple(floats, others, last, part(end, 2 + n, first.size()), end[1], end[0]));
    }
    Leaves backward(const std::tuple<Leaves, Leaves, Leaves, Leaves, Array, Array>& kept, const Leaves& cotangents) const {
        // By name: clang 14 has no lambda capture what a structured binding names.
        const Leaves &floats = std::get<0>(kept), &others = std::get<1>(kept), &last = std::get<2>(kept), &slots = std::get<3>(kept);
        const Array &stride = std::get<4>(kept), &steps = std::get<5>(kept);
        const Given g = given(floats, others);
        const Leaves float_consts = chosen(g.body_consts, const_inexact_);
        Leaves none_yet;
        for (const Array& c : float_consts) none_yet.push_back(numpy::zeros_like(c));
        const Leaves places = inner_.empty(chosen(g.init, buffers_, false));
        const std::size_t nc = cotangents.size(), nk = none_yet.size(), np = places.size();
        // i, distance in the stretch, cotangents of the state and of the constants, states of the stretch
        const Leaves begin = joined(Leaves{steps, numpy::ones({}, dtype::int32)}, cotangents, joined(none_yet, places));
        const auto step = [&](const Leaves& s) {
            const Array i = s[0] - 1;
            const Array first = lax::mul(lax::div(i, stride), stride);
            const Array fresh = numpy::logical_or(lax::eq(i, steps - 1), lax::eq(lax::rem(s[0], stride), 0));
            Leaves held = joined(Leaves{s[1]}, part(s, 2 + nc + nk, np));
            const Leaves stretch = lax::cond(
                fresh, [&] { return stretch_of(g, outer_.at(slots, lax::div(i, stride)), last, first, s[0]); }, [&] { return held; });
            const Leaves state = state_at(g, part(stretch, 1, np), stretch[0], last, i - first);
            auto [dconsts, dstate] = pulled_back(g, state, part(s, 2, nc));
            for (std::size_t k = 0; k < nk; ++k) dconsts[k] = s[2 + nc + k] + dconsts[k];
            return joined(Leaves{i, stretch[0]}, dstate, joined(dconsts, part(stretch, 1, np)));
        };
        const Leaves end = lax::while_loop([](const Leaves& s) { return s[0] > 0; }, step, begin, loop_.where);
        return joined(part(end, 2 + nc, nk), part(end, 2, nc));
    }

private:
    struct Given {
        Leaves condition_consts, body_consts, init;
    };
    Given given(const Leaves& floats, const Leaves& others) const {
        const std::size_t nc = loop_.condition_consts.size(), all = const_inexact_.size();
        const auto fc = static_cast<std::size_t>(std::count(const_inexact_.begin(), const_inexact_.end(), true));
        const std::size_t oc = all - fc;
        return {part(others, 0, nc), merged(part(floats, 0, fc), part(others, nc, oc), const_inexact_),
                merged(part(floats, fc, floats.size() - fc), part(others, nc + oc, others.size() - nc - oc), inexact_)};
    }
    /// Where all places are used and one more is wanted: half of them free, twice the distance.
    std::pair<Leaves, Array> make_room(const Slots& s, const Leaves& slots, const Array& number, const Array& stride) const {
        const Leaves out = lax::cond(
            s.full(number, stride), [&] { return joined(Leaves{stride * 2}, s.thinned(slots)); },
            [&] { return joined(Leaves{stride}, slots); });
        return {part(out, 1, slots.size()), out[0]};
    }
    Leaves whole(const Leaves& state, const Leaves& last) const { return merged(chosen(last, buffers_), state, buffers_); }
    /// From step `first` to step `end`: the states that are kept in between, their distance before them.
    Leaves stretch_of(const Given& g, const Leaves& from, const Leaves& last, const Array& first, const Array& end) const {
        const std::size_t n = from.size();
        const Leaves places = inner_.empty(from);
        const Leaves begin = joined(Leaves{numpy::zeros({}, dtype::int32), numpy::ones({}, dtype::int32)}, from, places);
        const auto step = [&](const Leaves& s) {
            const Leaves state = part(s, 2, n);
            auto [slots, stride] = make_room(inner_, part(s, 2 + n, n), s[0], s[1]);
            slots = inner_.kept(slots, state, s[0], stride);
            return joined(Leaves{s[0] + 1, stride}, chosen(loop_.step(g.body_consts, whole(state, last)), buffers_, false), slots);
        };
        const Leaves out = lax::while_loop([&](const Leaves& s) { return s[0] < end - first; }, step, begin, loop_.where);
        return joined(Leaves{out[1]}, part(out, 2 + n, n));
    }
    Leaves state_at(const Given& g, const Leaves& slots, const Array& stride, const Leaves& last, const Array& number) const {
        const Array place = lax::div(number, stride);
        const Leaves begin = joined(Leaves{place * stride}, inner_.at(slots, place));
        const auto step = [&](const Leaves& s) {
            return joined(Leaves{s[0] + 1}, chosen(loop_.step(g.body_consts, whole(part(s, 1, slots.size()), last)), buffers_, false));
        };
        const Leaves out = lax::while_loop([&](const Leaves& s) { return s[0] < number; }, step, begin, loop_.where);
        return whole(part(out, 1, slots.size()), last);
    }
    std::pair<Leaves, Leaves> pulled_back(const Given& g, const Leaves& state, const Leaves& cotangents) const {
        const Leaves fixed_consts = chosen(g.body_consts, const_inexact_, false), fixed = chosen(state, inexact_, false);
        const auto step = [&](const Leaves& consts, const Leaves& moving) {
            return chosen(loop_.step(merged(consts, fixed_consts, const_inexact_), merged(moving, fixed, inexact_)), inexact_);
        };
        auto [value, pullback] = vjp(step, chosen(g.body_consts, const_inexact_), chosen(state, inexact_));
        auto [dconsts, dstate] = pullback(cotangents);
        return {dconsts, dstate};
    }

    const Loop& loop_;
    std::vector<bool> buffers_, inexact_, const_inexact_;
    Slots outer_, inner_;
};

std::int64_t default_checkpoints(const eqxi::LoopOptions& o, const Where& where) {
    std::int64_t n = o.checkpoints;
    if (n == -1) {
        if (o.max_steps < 0)
            detail::refuse_at(where, ErrorCode::BadUsage,
                              "Must specify either `max_steps` or `checkpoints` in `equinox.internal.checkpointed_while_loop`.",
                              "give .max_steps, or .checkpoints");
        n = o.max_steps == 1 ? 1
                             : static_cast<std::int64_t>(std::floor(-1.5 + std::sqrt(2. * static_cast<double>(o.max_steps) + 0.25))) + 1;
    }
    if (n < 1) detail::refuse_at(where, ErrorCode::BadUsage, "Must have at least one checkpoint", "give .checkpoints = 1 or more");
    return o.max_steps > 0 ? std::min(n, o.max_steps) : n;
}

Leaves checkpointed(const Loop& l, const Leaves& init, const std::vector<bool>& buffers, std::int64_t checkpoints) {
    const Checkpointed c(l, init, buffers, checkpoints);
    const auto f = custom_vjp([&](const Leaves& floats, const Leaves& others) { return c.run(floats, others); },
                              {.name = "_checkpointed_while_loop"}, l.where)
                       .defvjp([&](const Leaves& floats, const Leaves& others) { return c.forward(floats, others); },
                               [&](const auto& kept, const std::pair<Leaves, Leaves>& cotangents) {
                                   return std::tuple(c.backward(kept, cotangents.first), none);
                               });
    const auto [moving, fixed] = f(c.floats(init), c.others(init));
    return merged(moving, fixed, inexact_of(init));
}

/// Stretches of `base` steps, each of which is skipped once the loop has ended; a step is computed again in the backward pass.
Leaves bounded(const Loop& l, const Leaves& init, std::int64_t base) {
    const auto advance = [&](const Leaves& s, lax::Nothing) {
        const Leaves next = lax::cond(
            l.test(l.condition_consts, part(s, 0, init.size()), s.back()),
            [&] { return joined(l.step(l.body_consts, part(s, 0, init.size())), Leaves{s.back() + 1}); }, [&] { return s; });
        return std::pair(next, lax::Nothing{});
    };
    const auto stretch = jax::checkpoint([&](const Leaves& s, lax::Nothing) {
        const Leaves next = lax::cond(
            l.test(l.condition_consts, part(s, 0, init.size()), s.back()),
            [&] { return lax::scan(jax::checkpoint(advance), s, lax::Nothing{}, {.length = base}, l.where).first; }, [&] { return s; });
        return std::pair(next, lax::Nothing{});
    });
    const std::int64_t stretches = (l.max_steps + base - 1) / base;
    Leaves out =
        lax::scan(stretch, joined(init, Leaves{numpy::zeros({}, dtype::int32)}), lax::Nothing{}, {.length = stretches}, l.where).first;
    out.pop_back();
    return out;
}

}  // namespace

std::vector<Array> differentiable_loop(Call& condition, Call& body, const std::vector<Array>& init, const std::vector<bool>& buffers,
                                       const eqxi::LoopOptions& o) {
    return at_place(body.where, [&] {
        if (o.kind != "lax" && o.kind != "checkpointed" && o.kind != "bounded")
            throw Error(ErrorCode::BadUsage, "Unrecognised kind of while loop '" + o.kind + "'");
        if (o.kind == "bounded" && o.max_steps < 0) throw Error(ErrorCode::BadUsage, "kind='bounded' requires `max_steps` to be specified");
        if (o.base < 2) throw Error(ErrorCode::BadUsage, "while_loop: base must be at least 2");
        const std::int64_t checkpoints = o.kind == "checkpointed" ? default_checkpoints(o, body.where) : 0;
        if (o.max_steps == 0) return init;
        const Loop l = loop_of(condition, body, init, o);
        if (o.kind == "checkpointed") return checkpointed(l, init, buffers, checkpoints);
        if (o.kind == "bounded") return bounded(l, init, o.base);
        Leaves out = counted_loop(l, l.condition_consts, l.body_consts, init);
        out.pop_back();
        return out;
    });
}

}  // namespace jaxscope::jax::detail
