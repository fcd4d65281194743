// EXPECT: this is no array and no number
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
void wrong(Array& x) { x = "x"; }
