// Reinforcement learning, search, and what is rounded.
#include "programs.h"

namespace {

namespace beam_search {
// ---- beam_search
auto search(const Array& w, const Array& start) {
    auto step = [&](std::pair<Array, Array> state, const Array& i) {
        auto [tokens, scores] = state;
        Array logp = nn::log_softmax(w[tokens[{jnp::arange(3), i}]]);
        auto [best, flat] = lax::top_k((scores[{all, none}] + logp).reshape(-1), 3);
        Array parent = jnp::floor_divide(flat, 5), token = flat % 5;
        tokens = tokens[parent].at({all, i + 1}).set(token);
        return std::pair(std::pair(tokens, best), best);
    };
    Array tokens = jnp::zeros({3, 5}, jnp::int32).at({all, 0}).set(start);
    Array scores = jnp::array({0., -1e9, -1e9});
    return lax::scan(step, std::pair(tokens, scores), jnp::arange(4));
}

void run() { programs::run("beam_search", search, {}, jr::normal(jr::key(2), {5, 5}), jnp::asarray(2, jnp::int32)); }
// ----
}  // namespace beam_search

namespace q_learning {
// ---- q_learning
Array q_values(const Params& p, const Array& s) { return jnp::matmul(nn::relu(jnp::matmul(s, p.at("w1"))), p.at("w2")); }

Array loss(const Params& p, const Params& target, const Array& s, const Array& a, const Array& r, const Array& s2) {
    Array qa = jnp::take_along_axis(q_values(p, s), a[{all, none}], 1)[{all, 0}];
    Array best = jnp::argmax(q_values(p, s2), 1);
    Array value = jnp::take_along_axis(q_values(target, s2), best[{all, none}], 1)[{all, 0}];
    Array d = jnp::abs(qa - lax::stop_gradient(r + 0.99 * value));
    return jnp::mean(jnp::where(d < 1, 0.5 * jnp::square(d), d - 0.5));
}

Params step(const Params& p, const Params& target, const Array& s, const Array& a, const Array& r, const Array& s2) {
    Params grads = jax::grad(loss)(p, target, s, a, r, s2);
    return jax::tree_map([](Array w, Array g) { return w - 0.1 * g; }, p, grads);
}

void run() {
    Array k = jr::split(jr::key(3), 6);
    Params p{{"w1", jr::normal(k[0], {3, 6})}, {"w2", jr::normal(k[1], {6, 4})}};
    Array s = jr::normal(k[2], {5, 3}), s2 = jr::normal(k[3], {5, 3}), a = jr::randint(k[4], 5, 0, 4);
    Params target = jax::tree_map([](Array w) { return 0.9 * w; }, p);
    programs::run("q_learning", step, {.donate_argnums = {0}}, p, target, s, a, jr::normal(k[5], 5), s2);
}
// ----
}  // namespace q_learning

namespace quantised {
// ---- quantised
Array ste(const Array& x, const Array& scale) {
    Array q = jnp::clip(jnp::round(x / scale), -127, 127) * scale;
    return x + lax::stop_gradient(q - x);
}

Array loss(const Array& w, const Array& x) {
    Array s = jnp::max(jnp::abs(w), {.axis = 0, .keepdims = true}) / 127.;
    Array wi = jnp::round(w / s).astype(jnp::int8);
    Array y = lax::dot_general(jnp::round(x).astype(jnp::int8), wi, {.lhs_contracting = 1, .rhs_contracting = 0}, jnp::int32);
    return jnp::mean(jnp::square(jnp::matmul(x, ste(w, s)))) + jnp::mean(jnp::abs(y.astype(jnp::float32) * s));
}

void run() {
    Array k = jr::split(jr::key(4));
    programs::run("quantised", jax::value_and_grad(loss), {}, jr::normal(k[0], {3, 4}), 10. * jr::normal(k[1], {5, 3}));
}
// ----
}  // namespace quantised

}  // namespace

void programs::learning() {
    beam_search::run();
    q_learning::run();
    quantised::run();
}
