// EXPECT: argument numbers are integers
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::jit([](Array a) { return a; }, {.static_argnums = "a"})(x);
}
