// EXPECT: no option has this name
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
Array wrong(Array x) { return jnp::mean(x, {.axes = 0}); }
