// A recurrent network by scan, each step checkpointed: the backward pass keeps the states and computes the rest of a step again.
#include <jaxscope/jax.h>

#include <cmath>
#include <iostream>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

struct Cell {
    Array w_in, w_state, bias;
};

Array step(const Cell& p, const Array& h, const Array& x) {
    Array gates = jnp::matmul(x, p.w_in) + jnp::matmul(h, p.w_state) + p.bias;
    Array update = jax::nn::sigmoid(gates[{jax::all, jax::slice(0, 64)}]);
    Array candidate = jnp::tanh(gates[{jax::all, jax::slice(64, 128)}]);
    return (1 - update) * h + update * candidate;
}
Array loss(const Cell& p, const Array& xs, const Array& target) {
    auto body = jax::checkpoint([&p](Array h, Array x) { return std::pair(step(p, h, x), h); });
    auto [last, states] = jax::lax::scan(body, jnp::zeros({16, 64}), xs);
    return jnp::mean(jnp::square(last - target)) + 1e-3 * jnp::mean(jnp::square(states));
}

int main(int argc, char** argv) {
    Array k = jax::random::split(jax::random::key(0), 4);
    Cell p{jax::random::normal(k[0], {32, 128}) / std::sqrt(32.), jax::random::normal(k[1], {64, 128}) / 8., jnp::zeros({128})};
    Array xs = jax::random::normal(k[2], {100, 16, 32}), target = jax::random::normal(k[3], {16, 64});
    auto gradient = jax::jit(jax::value_and_grad(loss), {.arg_names = {"params", "xs", "target"}, .name = "loss"});
    for (int i = 0; i < 20; ++i) {
        auto [value, grads] = gradient(p, xs, target);
        p = jax::tree_map([](Array w, Array g) { return w - 0.5 * g; }, p, grads);
        if (i % 5 == 0) std::cout << i << ' ' << value << '\n';
    }
    jax::print_saved_residuals(loss, p, xs, target);
    jaxscope::capture(gradient, p, xs, target).save(argc > 1 ? argv[1] : "rnn_scan.jaxscope");
}
