// A two-layer perceptron trained with Adam. The whole state is donated, so that each step writes the new state into the old one's memory.
#include <jaxscope/jax.h>

#include <cmath>
#include <iostream>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

struct Layer {
    Array w, b;
};  // an aggregate is a pytree: nothing to register
struct Params {
    Layer hidden, out;
};
struct Adam {
    Params mu, nu;
    Array count;
    jax::Static<float> lr{1e-3f};
};
struct State {
    Params params;
    Adam opt;
};
struct Batch {
    Array x, y;
};

Array loss_fn(const Params& p, const Batch& batch) {
    jax::named_scope scope("mlp");
    Array h = jnp::tanh(jnp::matmul(batch.x, p.hidden.w) + p.hidden.b);
    h = jax::checkpoint_name(h, "hidden");
    return jnp::mean(jnp::square(jnp::matmul(h, p.out.w) + p.out.b - batch.y));
}
const auto loss = jax::checkpoint(loss_fn, {.policy = jax::policies::save_only_these_names({"hidden"})});

std::pair<State, Array> train_step(State s, const Batch& batch) {
    auto [value, grads] = jax::value_and_grad(loss)(s.params, batch);
    auto& [mu, nu, count, lr] = s.opt;
    count = count + 1;
    mu = jax::tree_map([](Array m, Array g) { return 0.9 * m + 0.1 * g; }, mu, grads);
    nu = jax::tree_map([](Array v, Array g) { return 0.999 * v + 0.001 * g * g; }, nu, grads);
    Array c1 = 1 - jnp::power(0.9, count), c2 = 1 - jnp::power(0.999, count);
    s.params = jax::tree_map([&, rate = lr.value](Array p, Array m, Array v) { return p - rate * (m / c1) / (jnp::sqrt(v / c2) + 1e-8); },
                             s.params, mu, nu);
    return {s, value};
}

int main(int argc, char** argv) {
    Array k = jax::random::split(jax::random::key(0), 4);
    auto dense = [](Array key, int in, int out) { return Layer{jax::random::normal(key, {in, out}) / std::sqrt(in), jnp::zeros({out})}; };
    Params params{dense(k[0], 8, 128), dense(k[1], 128, 4)};
    State state{params, {.mu = jnp::zeros_like(params), .nu = jnp::zeros_like(params), .count = 0}};
    Batch batch{jax::random::normal(k[2], {256, 8}), jax::random::normal(k[3], {256, 4})};
    auto step = jax::jit(train_step, {.donate_argnums = {0}, .arg_names = {"state", "batch"}, .name = "train_step"});
    for (int i = 0; i < 1000; ++i) {
        auto [next, value] = step(std::move(state), batch);  // the old state's buffers are reused
        state = std::move(next);
        if (i % 100 == 0) std::cout << i << ' ' << value << '\n';
    }
    std::cout << jax::make_jaxpr(loss_fn)(state.params, batch) << '\n' << step.donation_report();
    jax::print_saved_residuals(loss, state.params, batch);
    jaxscope::capture(step, state, batch).save(argc > 1 ? argv[1] : "mlp_adam.jaxscope");
}
