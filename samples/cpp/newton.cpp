// Cube roots by Newton's method: a while_loop that ends when nothing moves any more. It runs forwards only, as in JAX.
#include <jaxscope/jax.h>

#include <iostream>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

struct State {
    Array x, moved, steps;
};

State cube_root(const Array& a) {
    auto unfinished = [](const State& s) { return jnp::logical_and(s.moved > 1e-6, s.steps < 50); };
    auto body = [&a](const State& s) {
        Array next = s.x - (s.x * s.x * s.x - a) / (3 * s.x * s.x);
        return State{next, jnp::max(jnp::abs(next - s.x)), s.steps + 1};
    };
    return jax::lax::while_loop(unfinished, body, State{jnp::ones_like(a), jnp::ones({}), 0});
}

int main(int argc, char** argv) {
    Array a = jnp::array({1., 8., 27., 64., 1000.});
    auto solve = jax::jit(cube_root, {.arg_names = {"a"}, .name = "cube_root"});
    auto [x, moved, steps] = solve(a);
    std::cout << x << " after " << steps << " steps\n" << jax::make_jaxpr(cube_root)(a) << '\n';
    jaxscope::capture(solve, a).save(argc > 1 ? argv[1] : "newton.jaxscope");
}
