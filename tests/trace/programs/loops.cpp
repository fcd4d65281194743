// Programs that iterate: loops with conditions, branches, random numbers.
#include "programs.h"

namespace {

namespace k_means {
// ---- k_means
Array assign(const Array& centres, const Array& x) { return jnp::argmin(jnp::sum(jnp::square(x[{all, none}] - centres), {.axis = -1}), 1); }

auto fit(const Array& centres, const Array& x) {
    auto improve = [&](Array, Array c) {
        Array member = nn::one_hot(assign(c, x), 3);
        return jnp::matmul(member.T(), x) / jnp::maximum(jnp::sum(member, {.axis = 0}), 1.)[{all, none}];
    };
    Array found = lax::fori_loop(0, 10, improve, centres);
    return std::pair(found, assign(found, x));
}

void run() {
    Array x = jr::normal(jr::key(9), {30, 2});
    programs::run("k_means", fit, {.donate_argnums = {0}}, x[{slice(3)}], x);
}
// ----
}  // namespace k_means

namespace power_iteration {
// ---- power_iteration
struct State {
    Array v, value, change, steps;
};

State largest(const Array& a, const Array& start) {
    auto unfinished = [](const State& s) { return jnp::logical_and(s.change > 1e-4, s.steps < 100); };
    auto body = [&](const State& s) {
        Array w = jnp::matmul(a, s.v);
        Array v = w / jnp::sqrt(jnp::sum(jnp::square(w)));
        Array value = jnp::dot(v, jnp::matmul(a, v));
        return State{v, value, jnp::abs(value - s.value), s.steps + 1};
    };
    return lax::while_loop(unfinished, body, State{start, jnp::zeros({}), jnp::ones({}), 0});
}

void run() {
    Array a = jnp::array({{4., 1., 0.}, {1., 3., 1.}, {0., 1., 2.}});
    programs::run("power_iteration", largest, {}, a, jnp::ones(3));
}
// ----
}  // namespace power_iteration

namespace hamiltonian {
// ---- hamiltonian
Array energy(const Array& q) { return 0.5 * jnp::sum(jnp::square(q) / jnp::array({1., 4.})) + 0.1 * jnp::sum(jnp::power(q, 4)); }

auto leapfrog(Array q, Array p) {
    auto step = [](const std::pair<Array, Array>& s, lax::Nothing) {
        Array half = s.second - 0.05 * jax::grad(energy)(s.first);
        Array moved = s.first + 0.1 * half;
        return std::pair(std::pair(moved, half - 0.05 * jax::grad(energy)(moved)), lax::Nothing{});
    };
    return lax::scan(step, std::pair(q, p), lax::Nothing{}, {.length = 5}).first;
}

auto sample(const Array& q, const Array& key) {
    auto step = [](const Array& at, const Array& chance) {
        Array k = jr::split(chance);
        Array p = jr::normal(k[0], 2);
        auto [proposed, momentum] = leapfrog(at, p);
        Array before = energy(at) + 0.5 * jnp::sum(jnp::square(p));
        Array after = energy(proposed) + 0.5 * jnp::sum(jnp::square(momentum));
        Array accepted = jnp::log(jr::uniform(k[1])) < before - after;
        Array next = lax::cond(
            accepted, [&] { return proposed; }, [&] { return at; });
        return std::pair(next, accepted);
    };
    return lax::scan(step, q, jr::split(key, 8));
}

void run() { programs::run("hamiltonian", sample, {.donate_argnums = {0}}, jnp::array({0.5, -1.}), jr::key(10)); }
// ----
}  // namespace hamiltonian

namespace actor_critic {
// ---- actor_critic
Array returns(const Array& rewards, const Array& last) {
    auto step = [](const Array& g, const Array& r) { return std::pair{r + 0.9 * g, r + 0.9 * g}; };
    return lax::scan(step, last, rewards, {.reverse = true}).second;
}

auto loss(const Params& p, const Array& states, const Array& actions, const Array& rewards) {
    Array h = jnp::tanh(jnp::matmul(states, p.at("hidden")));
    Array values = jnp::matmul(h, p.at("value"));
    Array advantage = returns(rewards, jnp::zeros({})) - values;
    Array chances = nn::log_softmax(jnp::matmul(h, p.at("policy")));
    Array chosen = jnp::take_along_axis(chances, actions[{all, none}], 1)[{all, 0}];
    Array entropy = -jnp::mean(jnp::sum(jnp::exp(chances) * chances, {.axis = 1}));
    Array actor = -jnp::mean(chosen * lax::stop_gradient(advantage));
    return std::pair(actor + 0.5 * jnp::mean(jnp::square(advantage)) - 0.01 * entropy, entropy);
}

void run() {
    Array k = jr::split(jr::key(11), 6);
    Params p{{"hidden", jr::normal(k[0], {4, 8}) * 0.5}, {"value", jr::normal(k[1], 8)}, {"policy", jr::normal(k[2], {8, 3})}};
    Array states = jr::normal(k[3], {12, 4}), actions = jr::randint(k[4], 12, 0, 3);
    programs::run("actor_critic", jax::grad(loss), {}, p, states, actions, jr::normal(k[5], 12));
}
// ----
}  // namespace actor_critic

}  // namespace

void programs::loops() {
    k_means::run();
    power_iteration::run();
    hamiltonian::run();
    actor_critic::run();
}
