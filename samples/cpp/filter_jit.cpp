// Equinox's way: a model that holds more than arrays, filter_jit with donation, and gradients of its floating-point arrays.
#include <jaxscope/jax.h>

#include <cmath>
#include <iostream>
#include <string>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

struct Linear {
    Array weight, bias;
    Array operator()(const Array& x) const { return jnp::matmul(x, weight) + bias; }
};
struct Model {
    std::vector<Linear> layers;
    std::string activation;  // no array: static, without a word
    Array calls;             // an integer array: traced, not differentiated
    Array operator()(Array x) const {
        for (std::size_t i = 0; i + 1 < layers.size(); ++i)
            x = activation == "tanh" ? jnp::tanh(layers[i](x)) : jax::nn::silu(layers[i](x));
        return layers.back()(x);
    }
};

Array loss(const Model& model, const Array& x, const Array& y) { return jnp::mean(jnp::square(model(x) - y)); }

struct Batch {
    Array x, y;
};

std::pair<Array, Model> step(const Batch& batch, Model model) {
    auto [value, grads] = jax::filter_value_and_grad(loss)(model, batch.x, batch.y);
    for (std::size_t i = 0; i < model.layers.size(); ++i)
        model.layers[i] = jax::tree_map([](Array w, Array g) { return w - 0.1 * g; }, model.layers[i], grads.layers[i]);
    model.calls = model.calls + 1;
    return {value, model};
}

int main(int argc, char** argv) {
    Array k = jax::random::split(jax::random::key(0), 5);
    auto dense = [](Array key, int in, int out) { return Linear{jax::random::normal(key, {in, out}) / std::sqrt(in), jnp::zeros({out})}; };
    Model model{{dense(k[0], 8, 64), dense(k[1], 64, 64), dense(k[2], 64, 1)}, "silu", Array(0)};
    Array x = jax::random::normal(k[3], {128, 8});
    Batch batch{x, jnp::sum(x, {.axis = -1, .keepdims = true})};
    auto train = jax::filter_jit(step, {.donate = "all-except-first", .arg_names = {"batch", "model"}, .name = "step"});
    for (int i = 0; i < 200; ++i) {
        auto [value, next] = train(batch, std::move(model));
        model = std::move(next);
        if (i % 50 == 0) std::cout << i << ' ' << value << '\n';
    }
    jax::tree_pprint(model);
    std::cout << train.donation_report();
    jaxscope::capture(train, batch, model).save(argc > 1 ? argv[1] : "filter_jit.jaxscope");
}
