#include <gtest/gtest.h>

#include <cstring>

#include "ir/builder.h"
#include "ir/primitive.h"
#include "jit/graph/build_graph.h"
#include "jit/graph/fuse.h"
#include "jit/jit.h"
#include "jit/small_programs.h"

namespace jaxscope {
namespace {

Value scalar(double v) { return make_literal(f32({}), v); }

/// A library call, so that nothing fuses with it.
Value cumsum(JaxprBuilder& b, Value x) {
    return b.bind1(primitive("cumsum"), {x}, Params::make({{"axis", Attr(std::int64_t{0})}, {"reverse", Attr(false)}}));
}

/// A training step in the order of a tracer: all gradients, then all updates. "Gradients" are cumulative sums, one of the other.
JaxprPtr step(int leaves, std::int64_t n) {
    JaxprBuilder b;
    Values params, grads, out;
    for (int i = 0; i < leaves; ++i) params.push_back(b.add_input(f32({n})));
    Value g = b.add_input(f32({n}));
    for (int i = 0; i < leaves; ++i) grads.push_back(g = cumsum(b, g));
    for (int i = 0; i < leaves; ++i) {
        const auto k = static_cast<std::size_t>(i);
        out.push_back(b.bind1(primitive("sub"), {params[k], b.bind1(primitive("mul"), {grads[k], scalar(0.5)})}));
    }
    return b.finish(out);
}
/// All but the last input donated.
Aliases donate(const JaxprPtr& j) {
    std::vector<bool> d(j->num_invars, true);
    d.back() = false;
    return donated(j, std::move(d));
}
JitOptions in_program_order() {
    JitOptions o;
    o.schedule = false;
    return o;
}

// An update runs as soon as its gradient is there, in the memory of the donated parameter: one gradient is alive, not all of them.
TEST(Schedule, UpdatesRunBehindTheirGradients) {
    const std::int64_t n = 1024, bytes = n * 4;
    EXPECT_EQ(plan_only(step(16, n), donate(step(16, n)), {}, in_program_order()).temporaries, 16 * bytes);
    const MemoryPlan plan = plan_only(step(16, n), donate(step(16, n)));
    EXPECT_EQ(plan.aliased, 16 * bytes);
    EXPECT_LE(plan.temporaries, 2 * bytes);
}

// Who can write over a value waits for its other readers, and what becomes an output stands in its memory from the beginning.
TEST(Schedule, WritersWaitForOtherReaders) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({1024})), once = cumsum(b, x), twice = cumsum(b, once);
    const Value sum =
        b.bind1(primitive("reduce_sum"), {once}, Params::make({{"axes", Attr::tuple({Attr(std::int64_t{0})})}, {"out_sharding", Attr()}}));
    const JaxprPtr j = b.finish({twice, sum});
    EXPECT_LE(plan_only(j, donated(j, {true})).temporaries, 64);
    const std::vector<ArrayPtr> in{synthesise(f32({1024}), 3)};
    const RunResult over = Executable::compile(j, donated(j, {true}))->run(in);
    const RunResult beside = Executable::compile(j, Aliases{std::nullopt, std::nullopt}, {}, in_program_order())->run(in);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(over.outputs[k]->data, beside.outputs[k]->data);
}

TEST(Schedule, OrderDoesNotChangeValues) {
    std::vector<ArrayPtr> in;
    for (int i = 0; i < 6; ++i) in.push_back(synthesise(f32({64}), static_cast<std::uint64_t>(i)));
    const RunResult a = Executable::compile(step(5, 64), donate(step(5, 64)))->run(in);
    const RunResult b = Executable::compile(step(5, 64), donate(step(5, 64)), {}, in_program_order())->run(in);
    for (std::size_t k = 0; k < a.outputs.size(); ++k) EXPECT_EQ(a.outputs[k]->data, b.outputs[k]->data);
}

// Behind a barrier a value may be seen as another type only (reshape, a key's words), so that nobody reads what the barrier passed itself.
TEST(Schedule, ViewsBehindABarrierWaitForTheMakerOfTheirMemory) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({8, 8}));
    const Value made = cumsum(b, x);
    const Values passed = b.bind(primitive("optimization_barrier"), {x, made});
    const Attr new_sizes = Attr::tuple({Attr(std::int64_t{64})});
    const ParamsRef flat = Params::make({{"dimensions", Attr()}, {"new_sizes", new_sizes}, {"sharding", Attr()}});
    const exec::GraphPtr g =
        exec::build_graph(b.finish({cumsum(b, b.bind1(primitive("reshape"), {passed[1]}, flat)), cumsum(b, passed[0])}));
    const std::vector<exec::Unit> units = exec::fuse(*g, {});
    std::vector<std::uint32_t> maker(g->values.size(), ~0u);
    for (std::uint32_t u = 0; u < units.size(); ++u)
        for (const exec::ValueId v : units[u].writes) maker[v] = u;
    int readers = 0;
    for (const exec::Unit& u : units)
        for (const exec::ValueId v : u.reads) {
            if (maker[v] == ~0u || !g->nodes[u.nodes[0]].spec()) continue;
            EXPECT_EQ(std::count(u.after.begin(), u.after.end(), maker[v]), 1) << "a reader of value " << v;
            ++readers;
        }
    EXPECT_EQ(readers, 1);
}

// Where all that is read of a barrier is such views, it is kept for them: they were left with a node that no longer was.
TEST(Schedule, ABarrierStaysForTheViewsOfWhatItPassed) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({1, 3}));
    const Value passed = b.bind(primitive("optimization_barrier"), {x})[0];
    const Attr new_sizes = Attr::tuple({Attr(std::int64_t{3})});
    const ParamsRef flat = Params::make({{"dimensions", Attr()}, {"new_sizes", new_sizes}, {"sharding", Attr()}});
    const JaxprPtr j = b.finish({b.bind1(primitive("reshape"), {passed}, flat)});
    const exec::GraphPtr g = exec::build_graph(j);
    ASSERT_EQ(g->nodes.size(), 1u);
    const exec::GraphValue& view = g->values[g->outputs[0]];
    EXPECT_EQ(view.kind, exec::GraphValue::Kind::Result);
    EXPECT_EQ(view.index, 0u);
    const std::vector<ArrayPtr> in{synthesise(f32({1, 3}), 1)};
    EXPECT_EQ(Executable::compile(j, {})->run(in).outputs[0]->data, in[0]->data);
}

// Values made early and read late wait for their readers.
TEST(Schedule, ValuesAreMadeWhenTheyAreWanted) {
    JaxprBuilder b;
    const std::int64_t n = 1024;
    const Value x = b.add_input(f32({n}));
    Values early;
    for (int i = 0; i < 8; ++i) early.push_back(cumsum(b, b.bind1(primitive("mul"), {x, scalar(i + 2)})));
    Value sum = scalar(0);
    const ParamsRef axes = Params::make({{"axes", Attr::tuple({0})}, {"out_sharding", Attr()}});
    for (const Value v : early) sum = b.bind1(primitive("add"), {sum, b.bind1(primitive("reduce_sum"), {cumsum(b, v)}, axes)});
    const JaxprPtr j = b.finish({sum});
    EXPECT_GE(plan_only(j, {}, {}, in_program_order()).temporaries, 8 * n * 4);
    EXPECT_LE(plan_only(j).temporaries, 3 * n * 4);
}

// Two losses, the second one computed from the first one's result, whose gradients come in the other order (an actor and its critic): the
// residuals of both needn't be alive at once.
TEST(Schedule, WhatWasBegunIsEndedFirst) {
    JaxprBuilder b;
    const std::int64_t n = 1024;
    const Value x = b.add_input(f32({n}));
    const auto sum = [&](Value v) {
        return b.bind1(primitive("reduce_sum"), {v}, Params::make({{"axes", Attr::tuple({0})}, {"out_sharding", Attr()}}));
    };
    const auto forward = [&](Value v) {
        Values residuals;
        for (int i = 0; i < 6; ++i) residuals.push_back(v = cumsum(b, v));
        return residuals;
    };
    const auto backward = [&](const Values& residuals) {
        Value g = residuals.back();
        for (std::size_t i = residuals.size(); i-- > 0;) g = cumsum(b, b.bind1(primitive("mul"), {g, residuals[i]}));
        return sum(g);
    };
    const Values critic = forward(x), actor = forward(b.bind1(primitive("mul"), {x, sum(critic.back())}));
    const Value of_actor = backward(actor);
    const JaxprPtr j = b.finish({of_actor, backward(critic)});
    EXPECT_GE(plan_only(j, {}, {}, in_program_order()).temporaries, 11 * n * 4);
    EXPECT_LE(plan_only(j).temporaries, 9 * n * 4);
}

// What stands behind a barrier waits for all that goes in: recomputation doesn't move in front of it.
TEST(Schedule, BarriersHold) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({1024})), y = b.add_input(f32({1024}));
    const Value late = cumsum(b, cumsum(b, y));
    const auto passed = b.bind(primitive("optimization_barrier"), {x, late});
    const JaxprPtr j = b.finish({cumsum(b, passed[0]), late});
    const MemoryPlan plan = plan_only(j);
    ASSERT_EQ(plan.steps.size(), 3u);
    EXPECT_EQ(plan.steps[2].eqn, "3");  // of x, which was there from the beginning
}

// 0.9 m + 0.1 g, 0.99 v + 0.01 g g and the update that reads both: one pass over m, v, p and g.
TEST(Fusion, AdamIsOneKernel) {
    JaxprBuilder b;
    const AvalRef t = f32({512});
    const Value p = b.add_input(t), m = b.add_input(t), v = b.add_input(t), x = b.add_input(t);
    const auto op = [&](const char* name, Value l, Value r) { return b.bind1(primitive(name), {l, r}); };
    const Value g = cumsum(b, x);
    const Value m1 = op("add", op("mul", m, scalar(0.9)), op("mul", g, scalar(0.1)));
    const Value v1 = op("add", op("mul", v, scalar(0.99)), op("mul", op("mul", g, g), scalar(0.01)));
    const Value p1 =
        op("sub", p, op("div", m1, op("add", b.bind1(primitive("sqrt"), {v1}, Params::make({{"accuracy", Attr()}})), scalar(1e-8))));
    const JaxprPtr j = b.finish({p1, m1, v1});
    const MemoryPlan plan = plan_only(j, donate(j));
    EXPECT_EQ(plan.steps.size(), 2u);
    EXPECT_EQ(plan.aliased, 3 * 512 * 4);
    EXPECT_EQ(plan.temporaries, 512 * 4);
}

// Chains of scalars that part and meet again, read by a larger kernel.
TEST(Fusion, ScalarChainsMeet) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({})), big = b.add_input(f32({8}));
    const auto op = [&](const char* name, Value l, Value r) { return b.bind1(primitive(name), {l, r}); };
    const Value v = op("add", x, scalar(1));
    const Value met = op("mul", op("mul", v, scalar(2)), op("add", v, scalar(3)));
    const Value other = op("sub", op("mul", v, scalar(5)), scalar(1));
    const Value far = cumsum(b, big);
    const ParamsRef axes = Params::make({{"axes", Attr::tuple({0})}, {"out_sharding", Attr()}});
    const Value total = b.bind1(primitive("reduce_sum"), {far}, axes);
    const JaxprPtr j = b.finish({op("add", total, met), op("mul", total, other)});
    const ArrayPtr ones = synthesise(f32({8}), 0);
    std::fill_n(reinterpret_cast<float*>(std::const_pointer_cast<ArrayConst>(ones)->data.data()), 8, 1.0f);
    const ArrayPtr one = synthesise(f32({}), 0);
    *reinterpret_cast<float*>(std::const_pointer_cast<ArrayConst>(one)->data.data()) = 1.0f;
    const RunResult r = Executable::compile(j)->run(std::vector{one, ones});
    const auto number = [&](std::size_t k) { return *reinterpret_cast<const float*>(r.outputs[k]->data.data()); };
    EXPECT_EQ(number(0), 36 + 4 * 5);
    EXPECT_EQ(number(1), 36 * 9);
}

/// x + 1 is wanted at the beginning and at the end; x is there anyway.
JaxprPtr cheap_value(std::int64_t n) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({n}));
    const Value y = b.bind1(primitive("add"), {x, scalar(1)});
    const Value early = b.bind1(primitive("exp"), {y});  // makes y in its kernel
    const Value far = cumsum(b, cumsum(b, early));
    return b.finish({b.bind1(primitive("mul"), {b.bind1(primitive("sub"), {far, x}), y})});
}
TEST(Fusion, CheapValuesAreMadeAgainOnRequest) {
    const std::int64_t n = 1024;
    JitOptions options;
    const MemoryPlan kept = plan_only(cheap_value(n), {}, {}, options);
    options.recompute_cheap = true;
    const MemoryPlan again = plan_only(cheap_value(n), {}, {}, options);
    EXPECT_EQ(kept.planned_peak - again.planned_peak, n * 4);
    const std::vector in{synthesise(f32({64}), 1)};
    const auto values = [&](const JitOptions& o) { return Executable::compile(cheap_value(64), {}, {}, o)->run(in).outputs[0]->data; };
    EXPECT_EQ(values(options), values({}));
}

// Scheduling and planning stay cheap: 20,000 steps.
TEST(Schedule, ManySteps) {
    const MemoryPlan plan = plan_only(step(10000, 16), donate(step(10000, 16)));
    EXPECT_EQ(plan.steps.size(), 20000u);
    EXPECT_LE(plan.temporaries, 4 * 16 * 4);
}

}  // namespace
}  // namespace jaxscope
