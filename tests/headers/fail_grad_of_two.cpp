// EXPECT: grad: the function must return one Array, or std::pair<Array, Aux>
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
struct Two {
    jax::Array a, b;
};
Two f(const jax::Array& x) { return {x, x}; }
auto wrong(const jax::Array& x) { return jax::grad(f)(x); }
