// EXPECT: this is no array and no number
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
Array wrong(std::string name) {
    Array z = name;
    return z;
}
