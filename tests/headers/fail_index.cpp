// EXPECT: an index is an integer, a slice or an Array of integers
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x) { return x[1.5]; }
