// EXPECT: einsum takes the subscripts first, as text
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x, Array y) { return jnp::einsum(x, y, "ij,jk->ik"); }
