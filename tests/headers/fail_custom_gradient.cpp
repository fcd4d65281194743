// EXPECT: custom_gradient: the function must return std::pair(result, rule)
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::custom_gradient([](Array a) { return a; })(x);
}
