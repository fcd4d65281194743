// Programs as people write them who know JAX: generative models, reinforcement learning, filtering, decoding.
#include "programs.h"

namespace {

namespace diffusion_step {
// ---- diffusion_step
Array denoise(const Params& p, const Array& x, const Array& t) {
    Array frequencies = jnp::exp(-jnp::log(100.) * jnp::arange(4) / 4.), angles = t[{all, none}] * frequencies[none];
    Array time = jnp::concatenate({jnp::sin(angles), jnp::cos(angles)}, -1);
    Array h = nn::silu(jnp::matmul(jnp::concatenate({x, time}, -1), p.at("w1")) + p.at("b1"));
    return jnp::matmul(h, p.at("w2")) + p.at("b2");
}

Array loss(const Params& p, const Array& x, const Array& key) {
    Array keys = jr::split(key), betas = jnp::linspace(1e-4, 0.02, 20), kept = jnp::cumprod(1. - betas);
    Array t = jr::randint(keys[0], 16, 0, 20), noise = jr::normal(keys[1], {16, 2});
    Array a = kept[t][{all, none}];
    Array noisy = jnp::sqrt(a) * x + jnp::sqrt(1. - a) * noise;
    return jnp::mean(jnp::square(denoise(p, noisy, t) - noise));
}

auto step(const Params& p, const Array& x, const Array& key) {
    auto [value, grads] = jax::value_and_grad(loss)(p, x, key);
    return std::pair(jax::tree_map([](Array a, Array g) { return a - 0.1 * g; }, p, grads), value);
}

void run() {
    Array k = jr::split(jr::key(21), 3);
    Params p{
        {"w1", jr::normal(k[0], {10, 12}) * 0.3}, {"b1", jnp::zeros(12)}, {"w2", jr::normal(k[1], {12, 2}) * 0.3}, {"b2", jnp::zeros(2)}};
    programs::run("diffusion_step", step, {.donate_argnums = {0}}, p, jr::normal(k[2], {16, 2}), jr::key(4));
}
// ----
}  // namespace diffusion_step

namespace ppo_loss {
// ---- ppo_loss
struct Policy {
    Array body, actor, critic;
};
struct Batch {
    Array seen, actions, old_logp, advantages, returns;
};

Array loss(const Policy& p, const Batch& b) {
    Array h = jnp::tanh(jnp::matmul(b.seen, p.body)), logits = jnp::matmul(h, p.actor), values = jnp::squeeze(jnp::matmul(h, p.critic), -1);
    Array logp = nn::log_softmax(logits), chosen = logp[{jnp::arange(8), b.actions}];
    Array advantage = (b.advantages - b.advantages.mean()) / (jnp::std(b.advantages) + 1e-8);
    Array ratio = jnp::exp(chosen - b.old_logp), clipped = jnp::clip(ratio, 0.8, 1.2);
    Array gain = jnp::minimum(ratio * advantage, clipped * advantage), entropy = -jnp::sum(jnp::exp(logp) * logp, -1);
    return -jnp::mean(gain) + 0.5 * jnp::mean(jnp::square(values - b.returns)) - 0.01 * jnp::mean(entropy);
}

void run() {
    Array k = jr::split(jr::key(22), 6);
    Policy p{jr::normal(k[0], {4, 8}), jr::normal(k[1], {8, 3}), jr::normal(k[2], {8, 1})};
    Batch b{jr::normal(k[3], {8, 4}), jr::randint(k[4], 8, 0, 3), jnp::full(8, -1.1), jr::normal(k[5], 8), jnp::ones(8)};
    programs::run("ppo_loss", jax::value_and_grad(loss), {}, p, b);
}
// ----
}  // namespace ppo_loss

namespace kalman_filter {
// ---- kalman_filter
struct Model {
    Array dynamics, emission, process, noise;
};
struct Belief {
    Array mean, cov;
};

Array log_likelihood(const Model& m, const Array& ys) {
    auto step = [&](const Belief& b, const Array& y) {
        Array mean = jnp::matmul(m.dynamics, b.mean), cov = jnp::matmul(jnp::matmul(m.dynamics, b.cov), m.dynamics.T()) + m.process;
        Array r = y - jnp::matmul(m.emission, mean), s = jnp::matmul(jnp::matmul(m.emission, cov), m.emission.T()) + m.noise;
        Array gain = jnp::linalg::solve(s, jnp::matmul(m.emission, cov)).T();
        Array fit = -0.5 * (jnp::dot(r, jnp::linalg::solve(s, r)) + jnp::log(s[{0, 0}] * s[{1, 1}]) + jnp::log(2. * jnp::pi));
        return std::pair(Belief{mean + jnp::matmul(gain, r), cov - jnp::matmul(jnp::matmul(gain, m.emission), cov)}, fit);
    };
    return lax::scan(step, Belief{jnp::zeros(2), jnp::eye(2)}, ys).second.sum();
}

void run() {
    Model m{jnp::array({{1., 0.1}, {0., 0.9}}), jnp::array({{1., 0.}, {0.5, 1.}}), 0.1 * jnp::eye(2), 0.2 * jnp::eye(2)};
    programs::run("kalman_filter", jax::value_and_grad(log_likelihood), {}, m, jr::normal(jr::key(23), {12, 2}));
}
// ----
}  // namespace kalman_filter

namespace variational_autoencoder {
// ---- variational_autoencoder
struct Dense {
    Array w, b;
    Array operator()(const Array& x) const { return jnp::matmul(x, w) + b; }
};
struct Vae {
    Dense encoder, mean, log_var, decoder;
};

Array loss(const Vae& m, const Array& x, const Array& key) {
    auto one = [&](const Array& row, const Array& k) {
        Array h = nn::relu(m.encoder(row)), mean = m.mean(h), log_var = m.log_var(h);
        Array logits = m.decoder(mean + jnp::exp(0.5 * log_var) * jr::normal(k, mean.shape()));
        Array yes = nn::log_sigmoid(logits), no = nn::log_sigmoid(-logits), fit = -jnp::sum(row * yes + (1. - row) * no);
        return fit + 0.5 * jnp::sum(jnp::exp(log_var) + jnp::square(mean) - 1. - log_var);
    };
    return jnp::mean(jax::vmap(one)(x, jr::split(key, 6)));
}

auto step(const Vae& m, const Array& x, const Array& key) {
    Vae grads = jax::grad(loss)(m, x, key);
    return jax::tree_map([](Array a, Array g) { return a - 0.01 * g; }, m, grads);
}

void run() {
    Array k = jr::split(jr::key(24), 5);
    auto dense = [](Array key, int n, int m) { return Dense{jr::normal(key, {n, m}) * 0.2, jnp::zeros(m)}; };
    Vae m{dense(k[0], 10, 8), dense(k[1], 8, 3), dense(k[2], 8, 3), dense(k[3], 3, 10)};
    programs::run("variational_autoencoder", step, {.donate_argnums = {0}}, m, jr::uniform(k[4], {6, 10}), jr::key(5));
}
// ----
}  // namespace variational_autoencoder

namespace pendulum {
// ---- pendulum
Array field(const Array& y, const Array& length) { return jnp::stack({y[1], -9.81 / length * jnp::sin(y[0]) - 0.1 * y[1]}); }

Array runge_kutta(const Array& y, const Array& length, double h) {
    Array k1 = field(y, length), k2 = field(y + 0.5 * h * k1, length), k3 = field(y + 0.5 * h * k2, length), k4 = field(y + h * k3, length);
    return y + h / 6. * (k1 + 2. * k2 + 2. * k3 + k4);
}

Array misfit(const Array& length, const Array& start, const Array& measured) {
    auto step = [&](const Array& y, const Array& seen) {
        Array next = lax::fori_loop(
            0, 5, [&](Array, Array z) { return runge_kutta(z, length, 0.01); }, y);
        return std::pair(next, jnp::square(next[0] - seen));
    };
    return jnp::mean(lax::scan(step, start, measured).second);
}

void run() {
    Array measured = 0.5 * jnp::cos(jnp::linspace(0., 1., 10));
    programs::run("pendulum", jax::value_and_grad(misfit), {}, jnp::asarray(1.), jnp::array({0.5, 0.}), measured);
}
// ----
}  // namespace pendulum

namespace viterbi {
// ---- viterbi
auto decode(const Array& start, const Array& moves, const Array& emits, const Array& seen) {
    auto forward = [&](const Array& score, const Array& y) {
        Array all = score[{jax::all, none}] + moves;
        Array best = jnp::max(all, 0) + emits[{jax::all, y}];
        return std::pair(best, jnp::argmax(all, 0));
    };
    Array first_score = start + emits[{jax::all, seen[0]}];
    auto [score, from] = lax::scan(forward, first_score, seen[slice(1, none)]);
    auto back = [](const Array& state, const Array& row) { return std::pair{row[state], row[state]}; };
    Array last = jnp::argmax(score);
    auto [first, path] = lax::scan(back, last, from, {.reverse = true});
    return std::pair{jnp::concatenate({path, last[none]}), jnp::max(score)};
}

void run() {
    Array k = jr::split(jr::key(25), 4), seen = jr::randint(k[3], 9, 0, 5);
    auto table = [](Array key, jax::Shape shape) { return nn::log_softmax(jr::normal(key, shape)); };
    programs::run("viterbi", decode, {}, table(k[0], 3), table(k[1], {3, 3}), table(k[2], {3, 5}), seen);
}
// ----
}  // namespace viterbi

}  // namespace

void programs::further() {
    diffusion_step::run();
    ppo_loss::run();
    kalman_filter::run();
    variational_autoencoder::run();
    pendulum::run();
    viterbi::run();
}
