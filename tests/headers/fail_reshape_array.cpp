// EXPECT: reshape takes sizes
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) { return x.reshape(x); }
