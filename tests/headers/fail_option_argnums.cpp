// EXPECT: argument numbers of grad and its kin are template arguments
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::grad([](Array a, Array b) { return a * b; }, {.argnums = 1})(x, x);
}
