// EXPECT: sizes and axes are whole numbers
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x, const std::string& s) { return x.reshape(s); }
