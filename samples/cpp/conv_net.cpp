// A convolutional classifier trained with momentum: the policy saves the convolutions' results, the rest is computed again.
// Momentum and parameters are donated: a step writes the new ones over the old.
#include <jaxscope/jax.h>

#include <iostream>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;

struct Params {
    Array first, second, w, b;
};
struct State {
    Params params, momentum;
};
struct Batch {
    Array images, labels;
};

Array logits(const Params& p, const Array& images) {
    Array h = jax::nn::relu(lax::conv(images, p.first, {1, 1}, "SAME"));
    h = jax::nn::relu(lax::conv(h, p.second, {2, 2}, "SAME"));
    return jnp::matmul(jnp::mean(h, {.axis = {2, 3}}), p.w) + p.b;
}
Array loss_fn(const Params& p, const Batch& batch) {
    Array scores = jax::nn::log_softmax(logits(p, batch.images));
    return -jnp::mean(jnp::sum(scores * batch.labels, {.axis = 1}));
}
const auto loss = jax::checkpoint(loss_fn, {.policy = jax::policies::dots_saveable});

std::pair<State, Array> train_step(const State& s, const Batch& batch) {
    auto [value, grads] = jax::value_and_grad(loss)(s.params, batch);
    Params momentum = jax::tree_map([](Array m, Array g) { return 0.9 * m + g; }, s.momentum, grads);
    Params params = jax::tree_map([](Array p, Array m) { return p - 0.05 * m; }, s.params, momentum);
    return {{params, momentum}, value};
}

int main(int argc, char** argv) {
    Array k = jax::random::split(jax::random::key(0), 5);
    Params params{jax::random::normal(k[0], {8, 1, 3, 3}) * 0.3, jax::random::normal(k[1], {16, 8, 3, 3}) * 0.1,
                  jax::random::normal(k[2], {16, 10}) * 0.2, jnp::zeros(10)};
    State state{params, jnp::zeros_like(params)};
    Array labels = jax::random::uniform(k[4], {32, 10});
    Batch batch{jax::random::normal(k[3], {32, 1, 12, 12}), labels / jnp::sum(labels, {.axis = 1, .keepdims = true})};
    auto step = jax::jit(train_step, {.donate_argnums = {0}, .arg_names = {"state", "batch"}, .name = "train_step"});
    for (int i = 0; i < 100; ++i) {
        auto [next, value] = step(std::move(state), batch);
        state = std::move(next);
        if (i % 20 == 0) std::cout << i << ' ' << value << '\n';
    }
    std::cout << step.donation_report();
    jaxscope::capture(step, state, batch).save(argc > 1 ? argv[1] : "conv_net.jaxscope");
}
