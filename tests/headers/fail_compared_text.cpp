// EXPECT: this is no array and no number
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x, const std::string& s) { return x < s; }
