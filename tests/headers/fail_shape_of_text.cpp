// EXPECT: sizes and axes are whole numbers
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong() { return jnp::zeros("2"); }
