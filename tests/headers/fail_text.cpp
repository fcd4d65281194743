// EXPECT: this is no array and no number
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const std::string& s) { return jnp::sum(s); }
