// EXPECT: concatenate takes a list of arrays: concatenate({x, y})
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x, const Array& y) { return jnp::concatenate(x, y); }
