// EXPECT: lax::map: the function takes one element
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x) {
    return lax::map([](Array a, Array b) { return a * b; }, x);
}
