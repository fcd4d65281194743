// Second derivatives, linear algebra, rules of one's own.
#include "programs.h"

namespace {

namespace newton_regression {
// ---- newton_regression
Array loss(const Array& w, const Array& x, const Array& y) {
    Array logits = jnp::matmul(x, w);
    return jnp::mean(nn::softplus(logits) - y * logits) + 0.01 * jnp::sum(jnp::square(w));
}

auto step(const Array& w, const Array& x, const Array& y) {
    Array g = jax::grad(loss)(w, x, y), h = jax::hessian(loss)(w, x, y);
    return std::pair{w - jnp::linalg::solve(h, g), jnp::linalg::norm(g)};
}

void run() {
    Array x = jr::normal(jr::key(12), {24, 3}), y = (x[{all, 0}] + x[{all, 1}] > 0).astype(jnp::float32);
    programs::run("newton_regression", step, {.donate_argnums = {0}}, jnp::zeros(3), x, y);
}
// ----
}  // namespace newton_regression

namespace gaussian_process {
// ---- gaussian_process
Array kernel(const Params& p, const Array& a, const Array& b) {
    return jnp::exp(p.at("scale")) * jnp::exp(-0.5 * jnp::square(a[{all, none}] - b[{none, all}]) / jnp::exp(p.at("length")));
}

Array likelihood(const Params& p, const Array& x, const Array& y) {
    Array k = kernel(p, x, x) + 0.1 * jnp::eye(10), l = jnp::linalg::cholesky(k), alpha = jnp::linalg::solve(k, y);
    return 0.5 * jnp::dot(y, alpha) + jnp::sum(jnp::log(jnp::diagonal(l)));
}

auto fit(const Params& p, const Array& x, const Array& y) {
    auto [value, grads] = jax::value_and_grad(likelihood)(p, x, y);
    return std::pair(jax::tree_map([](Array a, Array g) { return a - 0.1 * g; }, p, grads), value);
}

void run() {
    Array x = jnp::linspace(-1., 1., 10), zero = jnp::zeros({});
    programs::run("gaussian_process", fit, {.donate_argnums = {0}}, Params{{"length", zero}, {"scale", zero + 0.5}}, x, jnp::sin(3. * x));
}
// ----
}  // namespace gaussian_process

namespace straight_through {
// ---- straight_through
const auto quantise = jax::custom_vjp([](Array x) { return jnp::floor(x * 4.) / 4.; }, {.name = "quantise"})
                          .defvjp([](Array x) { return std::pair(jnp::floor(x * 4.) / 4., lax::Nothing{}); },
                                  [](lax::Nothing, Array g) { return std::tuple(g); });
const auto squash =
    jax::custom_jvp([](Array x) { return x / jnp::sqrt(1. + x * x); }, {.name = "squash"}).defjvps([](Array dx, Array y, Array x) {
        return dx * jnp::power(y / x, 3);
    });

Array loss(const Array& w, const Array& x) { return jnp::mean(jnp::square(squash(jnp::matmul(quantise(x), quantise(w))))); }

void run() {
    Array k = jr::split(jr::key(13));
    programs::run("straight_through", jax::value_and_grad<0, 1>(jax::checkpoint(loss)), {}, jr::normal(k[0], {4, 3}),
                  jr::normal(k[1], {5, 4}));
}
// ----
}  // namespace straight_through

namespace mixture {
// ---- mixture
struct Mixture {
    Array logits, mean, spread;
};

Array density(const Mixture& m, const Array& x) {
    Array z = (x - m.mean) / nn::softplus(m.spread);
    Array each = nn::log_softmax(m.logits) - 0.5 * z * z - jnp::log(nn::softplus(m.spread));
    return nn::logsumexp(each);
}

auto step(const Mixture& m, const Array& xs) {
    auto loss = [&](const Mixture& p) { return -jnp::mean(jax::vmap(density, {.in_axes = {none, 0}})(p, xs)); };
    auto [value, pullback] = jax::vjp(loss, m);
    auto [grads] = pullback(1.);
    return std::pair(jax::tree_map([](Array p, Array g) { return p - 0.3 * g; }, m, grads), value);
}

void run() {
    Array xs = jnp::concatenate({jr::normal(jr::key(14), 15) - 2., 0.5 * jr::normal(jr::key(15), 15) + 1.});
    Mixture m{jnp::zeros(2), jnp::array({-1., 1.}), jnp::ones(2)};
    programs::run("mixture", step, {.donate_argnums = {0}}, m, xs);
}
// ----
}  // namespace mixture

}  // namespace

void programs::inference() {
    newton_regression::run();
    gaussian_process::run();
    straight_through::run();
    mixture::run();
}
