// Members of arrays, assignment with an operator, rows, numbers as results: what Python's arrays have for the same.
#include "pairs.h"

namespace pairs {

namespace {

void members() {
    PAIR("b.any()", b.any());
    PAIR("b.all(0)", b.all(0));
    PAIR("b.any(axis=1, keepdims=True)", b.any(1, true));
    PAIR("x.argmax(1)", x.argmax(1));
    PAIR("x.argmin()", x.argmin());
    PAIR("x.std(0)", x.std(0));
    PAIR("x.var()", x.var());
    PAIR("x.prod((0, 1))", x.prod({0, 1}));
    PAIR("x.cumsum(0)", x.cumsum(0));
    PAIR("x.cumprod()", x.cumprod());
    PAIR("x[None].squeeze()", x[none].squeeze());
    PAIR("x[None].squeeze(0)", x[none].squeeze(0));
    PAIR("x.transpose()", x.transpose());
    PAIR("x[None].transpose(1, 0, 2)", x[none].transpose({1, 0, 2}));
    PAIR("x.swapaxes(0, 1)", x.swapaxes(0, 1));
    PAIR("x.flatten()", x.flatten());
    PAIR("x.mT", x.mT());
    PAIR("x.round(1)", x.round(1));
    PAIR("x.conj()", x.conj());
    PAIR("x.real", x.real());
    PAIR("y.sort()", y.sort());
    PAIR("y.argsort(0)", y.argsort(0));
    PAIR("x.repeat(2, 1)", x.repeat(2, 1));
    PAIR("x.take(i, 0)", x.take(i, 0));
    PAIR("x.take(i)", x.take(i));
}

void written() {
    PAIR("x.at[1].set(2.)", x.at(1).set(2.));
    PAIR("x.at[i].set(2., mode='drop')", x.at(i).set(2., {.mode = "drop"}));
    PAIR("x.at[i].add(y, mode='clip', unique_indices=True)", x.at(i).add(y, {.unique_indices = true, .mode = "clip"}));
    PAIR("x.at[i].max(y, mode='promise_in_bounds', indices_are_sorted=True)",
         x.at(i).max(y, {.indices_are_sorted = true, .mode = "promise_in_bounds"}));
    PAIR("x.at[i[0]].divide(2., mode='clip')", x.at(i[0]).divide(2., {.mode = "clip"}));
    PAIR("x.at[1].get()", x.at(1).get());
    PAIR("x.at[i].get()", x.at(i).get());
    PAIR("x.at[i + 1].get(mode='fill')", x.at(i + 1).get({.mode = "fill"}));
    PAIR("x.at[2].get(mode='fill', fill_value=3)", x.at(2).get({.mode = "fill", .fill_value = 3}));
    PAIR("x.at[i[0] + 1].get(mode='fill', fill_value=2.5)", x.at(i[0] + 1).get({.mode = "fill", .fill_value = 2.5}));
    PAIR("n.at[i + 2].get(mode='fill')", n.at(i + 2).get({.mode = "fill"}));
    PAIR("b.at[i + 1].get(mode='fill')", b.at(i + 1).get({.mode = "fill"}));
    PAIR("x.at[i[0] + 3].get(mode='clip')", x.at(i[0] + 3).get({.mode = "clip"}));
    PAIR("x.at[i + 2].get(mode='clip')", x.at(i + 2).get({.mode = "clip"}));
    PAIR("x.at[i].get(unique_indices=True, indices_are_sorted=True)", x.at(i).get({.indices_are_sorted = true, .unique_indices = true}));
    PAIR("x.at[i].apply(jnp.sin)", x.at(i).apply([](Array e) { return jnp::sin(e); }));
    PAIR("x.at[0, i].apply(lambda e: e * 2)", x.at({0, i}).apply([](Array e) { return e * 2; }));
    PAIR("v.at[i[0]].apply(jnp.exp)", v.at(i[0]).apply([](Array e) { return jnp::exp(e); }));
    PAIR("jax.grad(lambda t: (t.at[i + 1].get(mode='fill', fill_value=0.) ** 2).sum())(x)",
         jax::grad([&](Array t) { return jnp::power(t.at(i + 1).get({.mode = "fill", .fill_value = 0.}), 2).sum(); })(x));
}

Array added_up(Array x) {
    Array total = x;
    total += 1;
    total *= x;
    total -= x / 2;
    total /= 3;
    return total;
}
Array rows_of(const Array& x) {
    Array total = 0;
    for (const Array& row : x) total = total + row;
    return total;
}
void assigned() {
    PAIR("((x + 1) * x - x / 2) / 3", added_up(x));
    PAIR("sum([r for r in x])", rows_of(x));
}

void numbers_as_results() {
    PAIR("jax.jit(lambda t: 2.5)(x)", jax::jit([](Array) { return 2.5; }, {.name = "<lambda>"})(x));
    PAIR("jax.jit(lambda t: (t, 3))(x)", jax::jit([](Array t) { return std::pair(t, 3); }, {.name = "<lambda>"})(x));
    PAIR("jax.jit(lambda t: True)(x)", jax::jit([](Array) { return true; }, {.name = "<lambda>"})(x));
    PAIR("lax.cond(x[0, 0] > 0, lambda: 1., lambda: 2.)", lax::cond(
                                                              x[{0, 0}] > 0, [] { return 1.; }, [] { return 2.; }));
    PAIR("lax.fori_loop(0, 3, lambda j, c: 2., 1.)", lax::fori_loop(
                                                         0, 3, [](Array, Array) { return 2.; }, 1.));
    PAIR("lax.scan(lambda c, e: (c + e, 1.), jnp.zeros(4), x)",
         lax::scan([](Array c, Array e) { return std::pair(c + e, 1.); }, jnp::zeros(4), x));
    PAIR("lax.scan(lambda c, e: (c + e, e), jnp.zeros(4), x)",
         lax::scan([](Array c, Array e) { return std::tuple(c + e, e); }, jnp::zeros(4), x));
    PAIR("lax.switch(i[0], [jnp.sin, jnp.cos, jnp.tan], x)",
         lax::switch_(i[0],
                      std::vector<Array (*)(Array)>{[](Array t) { return jnp::sin(t); }, [](Array t) { return jnp::cos(t); },
                                                    [](Array t) { return jnp::tan(t); }},
                      x));
}

void created() {
    PAIR("jnp.array(3, jnp.float32) * x", jnp::array(3, jnp::float32) * x);
    PAIR("jnp.array(x, jnp.float32)", jnp::array(x, jnp::float32));
    PAIR("jnp.array(x, jnp.int32)", jnp::array(x, jnp::int32));
    PAIR("jnp.array([1., 2., 3., 4.], jnp.float32) + x", jnp::array(std::vector<float>{1, 2, 3, 4}) + x);
    PAIR("jnp.array([1, 2, 3, 4], jnp.int32) * x", jnp::asarray(std::array<int, 4>{1, 2, 3, 4}) * x);
}

}  // namespace

void methods() {
    members();
    written();
    assigned();
    numbers_as_results();
    created();
}

}  // namespace pairs
