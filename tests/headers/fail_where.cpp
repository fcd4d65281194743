// EXPECT: where takes a condition and two arrays or numbers
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) { return jnp::where(x > 0, x); }
