// EXPECT: argument names are text
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::jit([](Array a) { return a; }, {.donate_argnames = 0})(x);
}
