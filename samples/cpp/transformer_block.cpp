// A causal transformer block and its gradient under three checkpoint policies: what each of them keeps for the backward pass.
#include <jaxscope/jax.h>

#include <cmath>
#include <iostream>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

constexpr int kBatch = 4, kLength = 64, kHeads = 4, kWidth = 128;

struct Block {
    Array qkv, out, up, down, scale1, scale2;
};

Array rms_norm(const Array& x, const Array& scale) {
    return x * jax::lax::rsqrt(jnp::mean(jnp::square(x), {.axis = -1, .keepdims = true}) + 1e-6) * scale;
}
Array heads(const Array& x) { return jnp::transpose(jnp::reshape(x, {kBatch, kLength, kHeads, kWidth / kHeads}), {0, 2, 1, 3}); }
Array attention(const Block& p, const Array& x) {
    auto qkv = jnp::split(jnp::matmul(x, p.qkv), 3, -1);
    Array scores = jnp::matmul(heads(qkv[0]), jnp::swapaxes(heads(qkv[1]), -1, -2)) / std::sqrt(kWidth / kHeads);
    Array weights = jax::nn::softmax(jnp::where(jnp::tril(jnp::ones({kLength, kLength}, jnp::bool_)), scores, -1e9));
    Array mixed = jnp::transpose(jnp::matmul(weights, heads(qkv[2])), {0, 2, 1, 3});
    return jax::checkpoint_name(jnp::matmul(jnp::reshape(mixed, {kBatch, kLength, kWidth}), p.out), "attention");
}
Array block(const Block& p, Array x) {
    x = x + attention(p, rms_norm(x, p.scale1));
    Array h = jax::checkpoint_name(jnp::matmul(rms_norm(x, p.scale2), p.up), "hidden");
    return x + jnp::matmul(jax::nn::gelu(h), p.down);
}
auto loss(const jax::Policy& policy) {
    return [block = jax::checkpoint(block, {.policy = policy})](const Block& p, const Array& x) {
        return jnp::mean(jnp::square(block(p, x)));
    };
}

int main(int argc, char** argv) {
    Array k = jax::random::split(jax::random::key(0), 5);
    auto dense = [](Array key, int in, int out) { return jax::random::normal(key, {in, out}) / std::sqrt(in); };
    Block p{dense(k[0], kWidth, 3 * kWidth), dense(k[1], kWidth, kWidth), dense(k[2], kWidth, 4 * kWidth),
            dense(k[3], 4 * kWidth, kWidth), jnp::ones({kWidth}),         jnp::ones({kWidth})};
    Array x = jax::random::normal(k[4], {kBatch, kLength, kWidth});
    for (const auto& policy : {jax::policies::everything_saveable, jax::policies::dots_saveable, jax::policies::nothing_saveable}) {
        auto residuals = jax::saved_residuals(loss(policy), p, x);
        auto [value, gradient] = jax::value_and_grad(loss(policy))(p, x);
        std::cout << policy.name << ": loss " << value << ", " << residuals.size() << " residuals\n";
    }
    auto names = jax::policies::save_only_these_names({"attention", "hidden"});
    jax::print_saved_residuals(loss(names), p, x);
    jaxscope::capture(jax::jit(jax::value_and_grad(loss(names)), {.arg_names = {"params", "x"}, .name = "loss"}), p, x)
        .save(argc > 1 ? argv[1] : "transformer_block.jaxscope");
}
