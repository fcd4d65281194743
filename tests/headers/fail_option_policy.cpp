// EXPECT: a checkpoint policy is one of jax::policies
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::checkpoint([](Array a) { return a; }, {.policy = 3})(x);
}
