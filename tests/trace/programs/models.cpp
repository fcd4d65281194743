// Networks and their gradients, under policies.
#include "programs.h"

namespace {

namespace attention_heads {
// ---- attention_heads
struct Weights {
    Array q, k, v, out;
};

Array attend(const Weights& w, const Array& x) {
    Array q = jnp::einsum("td,dhk->thk", x, w.q), k = jnp::einsum("td,dhk->thk", x, w.k), v = jnp::einsum("td,dhk->thk", x, w.v);
    Array scores = jnp::einsum("thk,shk->hts", q, k) / 2.;
    Array causal = jnp::tril(jnp::ones({6, 6}, jnp::bool_));
    Array weights = nn::softmax(jnp::where(causal, scores, -1e9));
    return jnp::einsum("thk,hkd->td", jax::checkpoint_name(jnp::einsum("hts,shk->thk", weights, v), "mixed"), w.out);
}

Array loss(const Weights& w, const Array& xs) {
    auto saved = jax::checkpoint(attend, {.policy = jax::policies::save_only_these_names({"mixed"})});
    return jnp::mean(jnp::square(jax::vmap(saved, {.in_axes = {none, 0}})(w, xs)));
}

void run() {
    Array k = jr::split(jr::key(5), 5);
    auto dense = [](Array key, jax::Shape shape) { return jr::normal(key, shape) * 0.3; };
    Weights w{dense(k[0], {8, 2, 4}), dense(k[1], {8, 2, 4}), dense(k[2], {8, 2, 4}), dense(k[3], {2, 4, 8})};
    programs::run("attention_heads", jax::value_and_grad(loss), {}, w, jr::normal(k[4], {3, 6, 8}));
}
// ----
}  // namespace attention_heads

namespace lstm {
// ---- lstm
struct Cell {
    Array w, u, b;
};
struct Carry {
    Array h, c;
};

Carry cell(const Cell& p, const Carry& s, const Array& x) {
    auto gates = jnp::split(jnp::matmul(x, p.w) + jnp::matmul(s.h, p.u) + p.b, 4, -1);
    Array c = nn::sigmoid(gates[1]) * s.c + nn::sigmoid(gates[0]) * jnp::tanh(gates[2]);
    return {nn::sigmoid(gates[3]) * jnp::tanh(c), c};
}

Array loss(const Cell& p, const Array& xs, const Array& target) {
    auto step = [&](const Carry& s, const Array& x) {
        Carry next = cell(p, s, x);
        return std::pair(next, next.h);
    };
    auto [last, hs] = lax::scan(step, Carry{jnp::zeros({4, 8}), jnp::zeros({4, 8})}, xs);
    return jnp::mean(jnp::square(hs[-1] - target)) + 0.01 * jnp::mean(jnp::abs(last.c));
}

void run() {
    Array k = jr::split(jr::key(6), 4);
    Cell p{jr::normal(k[0], {3, 32}) * 0.3, jr::normal(k[1], {8, 32}) * 0.3, jnp::zeros(32)};
    programs::run("lstm", jax::value_and_grad(loss), {}, p, jr::normal(k[2], {7, 4, 3}), jr::normal(k[3], {4, 8}));
}
// ----
}  // namespace lstm

namespace scanned_layers {
// ---- scanned_layers
struct Layer {
    Array scale, up, down;
};

Array layer(const Array& x, const Layer& p) {
    Array mean = jnp::mean(x, {.axis = -1, .keepdims = true}), var = jnp::var(x, {.axis = -1, .keepdims = true});
    Array h = (x - mean) * lax::rsqrt(var + 1e-5) * p.scale;
    return x + jnp::matmul(nn::gelu(jnp::matmul(h, p.up)), p.down);
}

Array loss(const Layer& layers, const Array& x) {
    auto step = jax::checkpoint([](const Array& h, const Layer& p) { return std::pair(layer(h, p), lax::Nothing{}); },
                                {.policy = jax::policies::dots_with_no_batch_dims_saveable, .prevent_cse = false});
    auto [y, nothing] = lax::scan(step, x, layers);
    return jnp::mean(jnp::square(y));
}

void run() {
    Array k = jr::split(jr::key(7), 3);
    Layer layers{jnp::ones({3, 8}), jr::normal(k[0], {3, 8, 16}) * 0.3, jr::normal(k[1], {3, 16, 8}) * 0.3};
    programs::run("scanned_layers", jax::grad(loss), {}, layers, jr::normal(k[2], {5, 8}));
}
// ----
}  // namespace scanned_layers

namespace residual_network {
// ---- residual_network
struct Block {
    Array first, second;
};

Array conv(const Array& x, const Array& w) { return lax::conv_general_dilated(x, w, {1, 1}, "SAME"); }

Array block(const Array& x, const Block& p) {
    Array h = jax::checkpoint_name(nn::relu(conv(x, p.first)), "h");
    return nn::relu(x + conv(h, p.second));
}

Array loss(const std::vector<Block>& blocks, Array x, const Array& labels) {
    for (const Block& p : blocks) x = jax::checkpoint(block, {.policy = jax::policies::save_only_these_names({"h"})})(x, p);
    Array scores = nn::log_softmax(jnp::mean(x, {.axis = {2, 3}}));
    return -jnp::mean(jnp::take_along_axis(scores, labels[{all, none}], 1));
}

void run() {
    Array k = jr::split(jr::key(8), 5);
    auto kernel = [&](int i) { return jr::normal(k[i], {4, 4, 3, 3}) * 0.2; };
    std::vector<Block> blocks{{kernel(0), kernel(1)}, {kernel(2), kernel(3)}};
    programs::run("residual_network", jax::value_and_grad(loss), {}, blocks, jr::normal(k[4], {2, 4, 6, 6}), jnp::array({1, 3}));
}
// ----
}  // namespace residual_network

}  // namespace

void programs::models() {
    attention_heads::run();
    lstm::run();
    scanned_layers::run();
    residual_network::run();
}
