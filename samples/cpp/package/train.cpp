#include <jaxscope/jax.h>
#include <iostream>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
struct Params {
    jax::Array w, b;
};
jax::Array loss(const Params& p, const jax::Array& x) { return jnp::mean(jnp::square(jnp::tanh(jnp::matmul(x, p.w) + p.b))); }
int main() {
    const Params p{jnp::ones({3, 4}), jnp::zeros({4})};
    const jax::Array x = jnp::ones({8, 3});
    std::cout << jax::grad(loss)(p, x).b << '\n';
    jaxscope::capture(jax::value_and_grad(loss), p, x).save("train.jaxscope");
}
