// EXPECT: associative_scan: the function makes one element of two
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x) {
    return lax::associative_scan([](Array a, Array b) { return std::pair{a, b}; }, x);
}
