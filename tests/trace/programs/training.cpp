// Programs that fit something by its gradient.
#include "programs.h"

namespace {

namespace linear_momentum {
// ---- linear_momentum
struct Model {
    Array w, b;
};

Array loss(const Model& m, const Array& x, const Array& y) { return jnp::mean(jnp::square(jnp::matmul(x, m.w) + m.b - y)); }

auto step(const Model& model, const Model& velocity, const Array& x, const Array& y) {
    auto [value, grads] = jax::value_and_grad(loss)(model, x, y);
    Model moved = jax::tree_map([](Array v, Array g) { return 0.9 * v - 0.05 * g; }, velocity, grads);
    return std::tuple(jax::tree_map(jnp::add, model, moved), moved, value);
}

void run() {
    Array k = jr::split(jr::key(0), 3);
    Array x = jr::normal(k[0], {64, 3});
    Array y = jnp::matmul(x, jnp::array({1., -2., 0.5})) + 0.1 * jr::normal(k[1], 64);
    Model model{jr::normal(k[2], 3), jnp::zeros({})};
    programs::run("linear_momentum", step, {.donate_argnums = {0, 1}}, model, jnp::zeros_like(model), x, y);
}
// ----
}  // namespace linear_momentum

namespace logistic_scan {
// ---- logistic_scan
Array loss(const Array& w, const Array& x, const Array& y) {
    Array logits = jnp::matmul(x, w);
    return jnp::mean(jnp::logaddexp(0., logits) - y * logits);
}

auto fit(const Array& w, const Array& x, const Array& y) {
    auto step = [&](const Array& v, lax::Nothing) {
        auto [value, grad] = jax::value_and_grad(loss)(v, x, y);
        return std::pair(v - 0.5 * grad, value);
    };
    return lax::scan(step, w, lax::Nothing{}, {.length = 20});
}

void run() {
    Array k = jr::split(jr::key(1)), x = jr::normal(k[0], {32, 4}), y = (x[{all, 0}] > 0).astype(jnp::float32);
    programs::run("logistic_scan", fit, {.donate_argnums = {0}}, jr::normal(k[1], 4), x, y);
}
// ----
}  // namespace logistic_scan

namespace autoencoder {
// ---- autoencoder
auto encode(const Params& p, const Array& x) {
    Array h = jnp::tanh(jnp::matmul(x, p.at("e")));
    return std::pair{jnp::matmul(h, p.at("mean")), jnp::matmul(h, p.at("logvar"))};
}

Array decode(const Params& p, const Array& z) { return nn::sigmoid(jnp::matmul(jnp::tanh(jnp::matmul(z, p.at("d1"))), p.at("d2"))); }

auto elbo(const Params& p, const Array& x, const Array& key) {
    auto [mean, logvar] = encode(p, x);
    Array z = mean + jnp::exp(0.5 * logvar) * jr::normal(key, mean.shape());
    Array y = decode(p, z);
    Array likelihood = jnp::sum(x * jnp::log(y + 1e-6) + (1 - x) * jnp::log(1 - y + 1e-6), {.axis = 1});
    Array divergence = 0.5 * jnp::sum(jnp::exp(logvar) + jnp::square(mean) - 1. - logvar, {.axis = 1});
    return std::pair{jnp::mean(divergence - likelihood), jnp::mean(divergence)};
}

auto step(const Params& p, const Array& x, const Array& key) {
    auto [value, grads] = jax::value_and_grad(elbo)(p, x, key);
    return std::pair(jax::tree_map([](Array w, Array g) { return w - 0.1 * g; }, p, grads), value);
}

void run() {
    Array k = jr::split(jr::key(2), 6);
    auto dense = [](Array key, int in, int out) { return jr::normal(key, {in, out}) / std::sqrt(in); };
    Params p{{"e", dense(k[0], 12, 16)}, {"mean", dense(k[1], 16, 2)}, {"logvar", dense(k[2], 16, 2)}};
    p["d1"] = dense(k[3], 2, 16);
    p["d2"] = dense(k[4], 16, 12);
    Array x = jr::uniform(k[5], {20, 12});
    programs::run("autoencoder", step, {.donate_argnums = {0}}, p, x, jr::key(3));
}
// ----
}  // namespace autoencoder

namespace private_sgd {
// ---- private_sgd
struct Net {
    Array w1, b1, w2;
};

Array loss(const Net& p, const Array& x, const Array& y) {
    Array h = nn::relu(jnp::matmul(x, p.w1) + p.b1);
    return jnp::square(jnp::dot(h, p.w2) - y);
}

Net clipped(const Net& p, const Array& x, const Array& y) {
    Net g = jax::grad(loss)(p, x, y);
    Array norm = jnp::sqrt(jnp::sum(jnp::square(g.b1)) + jnp::sum(jnp::square(g.w1)) + jnp::sum(jnp::square(g.w2)));
    return jax::tree_map([&](Array a) { return a / jnp::maximum(1., norm / 0.5); }, g);
}

Net step(const Net& p, const Array& x, const Array& y) {
    Net grads = jax::vmap(clipped, {.in_axes = {none, 0, 0}})(p, x, y);
    return jax::tree_map([](Array w, Array g) { return w - 0.2 * jnp::mean(g, {.axis = 0}); }, p, grads);
}

void run() {
    Array k = jr::split(jr::key(4), 4);
    Net p{jr::normal(k[0], {5, 8}), jnp::zeros(8), jr::normal(k[1], 8)};
    programs::run("private_sgd", step, {.donate_argnums = {0}}, p, jr::normal(k[2], {10, 5}), jr::normal(k[3], 10));
}
// ----
}  // namespace private_sgd

}  // namespace

void programs::training() {
    linear_momentum::run();
    logistic_scan::run();
    autoencoder::run();
    private_sgd::run();
}
