// What tutorials of JAX, Equinox and Optax show, written by somebody who knows those.
#include "programs.h"

namespace {

namespace language_model {
// ---- language_model
Array gru(const Params& p, const Array& h, const Array& x) {
    Array z = nn::sigmoid(jnp::matmul(x, p.at("wz")) + jnp::matmul(h, p.at("uz")));
    Array r = nn::sigmoid(jnp::matmul(x, p.at("wr")) + jnp::matmul(h, p.at("ur")));
    Array n = jnp::tanh(jnp::matmul(x, p.at("wn")) + jnp::matmul(r * h, p.at("un")));
    return (1 - z) * n + z * h;
}

Array token_loss(const Params& p, const Array& tokens) {
    Array x = p.at("embed")[tokens[slice(-1)]];
    const auto step = [&](const Array& before, const Array& e) {
        Array h = gru(p, before, e);
        return std::pair(h, jnp::matmul(h, p.at("out")));
    };
    Array logp = nn::log_softmax(lax::scan(jax::checkpoint(step), jnp::zeros(6), x).second, -1);
    return -jnp::mean(jnp::take_along_axis(logp, tokens[{slice(1, none), none}], -1));
}

auto step(const Params& p, const Array& tokens) {
    auto [value, grads] = jax::value_and_grad(token_loss)(p, tokens);
    Array norm = jnp::sqrt(jax::tree_reduce([](Array sum, Array g) { return sum + jnp::sum(jnp::square(g)); }, grads, Array(0)));
    Array scale = jnp::minimum(1., 1. / (norm + 1e-6));
    return std::pair(jax::tree_map([&](Array a, Array g) { return a - 0.5 * scale * g; }, p, grads), value);
}

void run() {
    Array ks = jr::split(jr::key(1), 8);
    Params p{{"embed", jr::normal(ks[6], {11, 6})}, {"out", jr::normal(ks[7], {6, 11})}};
    for (int i = 0; const char* n : {"wz", "uz", "wr", "ur", "wn", "un"}) p[n] = 0.3 * jr::normal(ks[i++], {6, 6});
    programs::run("language_model", step, {.donate_argnums = 0}, p, jnp::array({1, 4, 7, 2, 9, 10, 3}));
}
// ----
}  // namespace language_model

namespace coupling_flow {
// ---- coupling_flow
using Layers = std::vector<std::pair<Array, Array>>;

auto coupling(const std::pair<Array, Array>& w, const Array& x, bool flip) {
    auto halves = jnp::split(x, 2, -1);
    Array a = halves[flip], b = halves[!flip];
    auto st = jnp::split(jnp::matmul(jnp::tanh(jnp::matmul(a, w.first)), w.second), 2, -1);
    Array s = jnp::tanh(st[0]);
    b = b * jnp::exp(s) + st[1];
    return std::pair{jnp::concatenate(flip ? std::vector{b, a} : std::vector{a, b}, -1), jnp::sum(s, -1)};
}

Array loss(const Layers& layers, Array x) {
    Array log_det = jnp::zeros(x.shape(0));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        auto [y, ld] = coupling(layers[i], x, i % 2 == 1);
        x = y, log_det += ld;
    }
    Array log_prob = -0.5 * jnp::sum(jnp::power(x, 2), -1) - 0.5 * x.shape(-1) * jnp::log(2 * jnp::pi);
    return -jnp::mean(log_prob + log_det);
}

auto step(const Layers& layers, const Array& x) {
    auto [value, g] = jax::value_and_grad(loss)(layers, x);
    return std::pair(jax::tree_map([](Array p, Array d) { return p - 1e-2 * d; }, layers, g), value);
}

void run() {
    Array ks = jr::split(jr::key(2), 4);
    Layers layers;
    for (int i = 0; i < 2; ++i) layers.emplace_back(jr::normal(ks[2 * i], {2, 8}) * 0.5, jr::normal(ks[2 * i + 1], {8, 4}) * 0.1);
    programs::run("coupling_flow", step, {.donate_argnums = 0}, layers, jr::normal(jr::key(3), {5, 4}));
}
// ----
}  // namespace coupling_flow

namespace neural_ode {
// ---- neural_ode
Array field(const Params& w, const Array& y) { return jnp::matmul(jnp::tanh(jnp::matmul(y, w.at("in")) + w.at("b")), w.at("out")); }

Array rk4(const Params& w, const Array& y, double dt) {
    Array k1 = field(w, y);
    Array k2 = field(w, y + dt / 2 * k1);
    Array k3 = field(w, y + dt / 2 * k2);
    Array k4 = field(w, y + dt * k3);
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
}

Array loss(const Params& w, const Array& y0, const Array& target) {
    auto step = jax::checkpoint([&](Array y, lax::Nothing) { return std::pair(rk4(w, y, 0.1), y); }, {.prevent_cse = false});
    auto [y, path] = lax::scan(step, y0, lax::Nothing{}, {.length = 6});
    return jnp::mean(jnp::power(y - target, 2)) + 1e-3 * jnp::mean(jnp::power(path, 2));
}

void run() {
    Array k = jr::split(jr::key(4), 2);
    Params w{{"in", jr::normal(k[0], {2, 7})}, {"b", jnp::zeros(7)}, {"out", 0.1 * jr::normal(k[1], {7, 2})}};
    programs::run("neural_ode", jax::value_and_grad(loss), {}, w, jnp::ones({3, 2}), jnp::zeros({3, 2}));
}
// ----
}  // namespace neural_ode

namespace low_rank {
// ---- low_rank
Array adapted(const Params& frozen, const Params& lora, const Array& x) {
    Array w = frozen.at("w") + jnp::matmul(0.5 * lora.at("a"), lora.at("b"));
    return jnp::maximum(jnp::matmul(x, w) + frozen.at("bias"), 0);
}

Array loss(const Params& lora, const Params& frozen, const Array& x, const Array& labels) {
    Array logits = adapted(lax::stop_gradient(frozen), lora, x);
    return jnp::mean(nn::logsumexp(logits, {.axis = -1}) - jnp::sum(logits * nn::one_hot(labels, 5), -1));
}

auto step(const Params& lora, const Params& before, const Params& frozen, const Array& x, const Array& labels) {
    Params g = jax::grad(loss)(lora, frozen, x, labels);
    Params mu = jax::tree_map([](Array m, Array d) { return 0.9 * m + d; }, before, g);
    return std::pair(jax::tree_map([](Array p, Array m) { return p - 0.1 * m; }, lora, mu), mu);
}

void run() {
    Array k = jr::split(jr::key(5), 4);
    Params frozen{{"w", jr::normal(k[0], {6, 5})}, {"bias", jnp::zeros(5)}};
    Params lora{{"a", jr::normal(k[1], {6, 2})}, {"b", jnp::zeros({2, 5})}}, mu = jnp::zeros_like(lora);
    programs::run("low_rank", step, {.donate_argnums = {0, 1}}, lora, mu, frozen, jr::normal(k[2], {4, 6}), jr::randint(k[3], 4, 0, 5));
}
// ----
}  // namespace low_rank

namespace vision_block {
// ---- vision_block
Array attend(const Params& p, const Array& x) {
    auto qkv = jnp::split(jax::checkpoint_name(jnp::matmul(x, p.at("qkv")), "qkv").reshape(9, 2, -1), 3, -1);
    Array scores = jnp::einsum("qhd,khd->hqk", qkv[0], qkv[1]) / jnp::sqrt(qkv[0].shape(-1));
    return jnp::matmul(jnp::einsum("hqk,khd->qhd", nn::softmax(scores), qkv[2]).reshape(9, -1), p.at("proj"));
}

Array norm(const Array& x, const Array& scale) {
    Array mean = x.mean(-1, true), var = x.var(-1, true);
    return (x - mean) * lax::rsqrt(var + 1e-6) * scale;
}

Array vision(const Params& p, Array x) {
    x = x + attend(p, norm(x, p.at("ln1")));
    return x + jnp::matmul(jax::checkpoint_name(nn::gelu(jnp::matmul(norm(x, p.at("ln2")), p.at("up"))), "mlp"), p.at("down"));
}

Array loss(const Params& p, const Array& images) {
    auto block = jax::checkpoint(vision, {.policy = jax::policies::save_only_these_names({"qkv", "mlp"})});
    Array patches = images.reshape(-1, 3, 4, 3, 4).transpose(0, 1, 3, 2, 4).reshape(-1, 9, 16);
    return jnp::mean(jnp::square(jax::vmap(block, {.in_axes = {none, 0}})(p, jnp::matmul(patches, p.at("patch"))).mean(1)));
}

void run() {
    Array k = jr::split(jr::key(6), 5);
    Params p{
        {"ln1", jnp::ones(8)}, {"ln2", jnp::ones(8)}, {"qkv", 0.2 * jr::normal(k[0], {8, 24})}, {"proj", 0.2 * jr::normal(k[1], {8, 8})}};
    p["up"] = 0.2 * jr::normal(k[2], {8, 16}), p["down"] = 0.2 * jr::normal(k[3], {16, 8}), p["patch"] = 0.2 * jr::normal(k[4], {16, 8});
    programs::run("vision_block", jax::value_and_grad(loss), {}, p, jr::normal(jr::key(7), {2, 12, 12}));
}
// ----
}  // namespace vision_block

namespace decoding {
// ---- decoding
Array rotate(const Array& x, const Array& position) {
    Array angle = position * jnp::power(10000., -jnp::arange(0, 4, 2) / 4);
    Array a = x[{jax::ellipsis, slice(none, none, 2)}], b = x[{jax::ellipsis, slice(1, none, 2)}];
    Array c = jnp::cos(angle), s = jnp::sin(angle);
    return jnp::stack({a * c - b * s, a * s + b * c}, -1).reshape(x.shape());
}

auto decode(const Params& w, const std::pair<Array, Array>& cache, const Array& token, const Array& t) {
    Array x = w.at("embed")[token], q = jnp::matmul(x, w.at("q")), k = jnp::matmul(x, w.at("k")), v = jnp::matmul(x, w.at("v"));
    Array keys = lax::dynamic_update_slice(cache.first, rotate(k, t)[none], {t, 0});
    Array values = lax::dynamic_update_slice(cache.second, v[none], {t, 0});
    Array seen = jnp::arange(8) <= t, scores = jnp::where(seen, jnp::matmul(keys, rotate(q, t)) / 2., -jnp::inf);
    return std::pair(std::pair(keys, values), jnp::argmax(jnp::matmul(jnp::matmul(nn::softmax(scores), values), w.at("embed").T())));
}

auto generate(const Params& w, const std::pair<Array, Array>& cache, const Array& token) {
    const auto body = [&](const auto& carry, const Array& t) {
        auto next = decode(w, carry.first, carry.second, t);
        return std::pair(next, next.second);
    };
    auto [last, tokens] = lax::scan(body, std::pair(cache, token), jnp::arange(5));
    return std::pair(last.first, tokens);
}

void run() {
    Array k = jr::split(jr::key(10), 4);
    Params w{{"embed", jr::normal(k[3], {9, 4})}};
    for (int i = 0; const char* n : {"q", "k", "v"}) w[n] = jr::normal(k[i++], {4, 4});
    programs::run("decoding", generate, {.donate_argnums = 1}, w, std::pair(jnp::zeros({8, 4}), jnp::zeros({8, 4})),
                  jnp::array(3, jnp::int32));
}
// ----
}  // namespace decoding

namespace experts {
// ---- experts
auto route(const Params& p, const Array& x) {
    Array gates = nn::softmax(jnp::matmul(x, p.at("router")));
    auto [top, chosen] = lax::top_k(gates, 2);
    top = top / top.sum(-1, true);
    Array every = jnp::einsum("td,edf->tef", x, p.at("up"));
    Array out = jnp::einsum("tef,efd->ted", nn::silu(every), p.at("down"));
    Array mixed = jnp::take_along_axis(out, chosen[{jax::ellipsis, none}], 1);
    Array load = jnp::mean(nn::one_hot(chosen[{all, 0}], 4), 0);
    return std::pair{jnp::sum(mixed * top[{jax::ellipsis, none}], 1), 4 * jnp::sum(load * gates.mean(0))};
}

auto loss(const Params& p, const Array& x, const Array& y) {
    auto [out, balance] = route(p, x);
    return std::pair(jnp::mean(jnp::power(out - y, 2)) + 0.01 * balance, balance);
}

void run() {
    Array k = jr::split(jr::key(11), 5);
    Params p{{"router", jr::normal(k[0], {6, 4})}, {"up", jr::normal(k[1], {4, 6, 8}) / 3}, {"down", jr::normal(k[2], {4, 8, 6}) / 3}};
    programs::run("experts", jax::value_and_grad(loss), {}, p, jr::normal(k[3], {7, 6}), jr::normal(k[4], {7, 6}));
}
// ----
}  // namespace experts

}  // namespace

void programs::tutorials() {
    language_model::run();
    coupling_flow::run();
    neural_ode::run();
    low_rank::run();
    vision_block::run();
    decoding::run();
    experts::run();
}
