// EXPECT: an axis is a number, jax::none, or a tuple of them
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::vmap([](Array a) { return a; }, {.in_axes = "rows"})(x);
}
