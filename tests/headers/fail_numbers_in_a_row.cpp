// EXPECT: this is no array and no number
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong() { return jnp::exp(std::vector<float>{1.f, 2.f}); }
