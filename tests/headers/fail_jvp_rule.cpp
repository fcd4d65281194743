// EXPECT: custom_jvp: the rule takes primals and tangents
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x) {
    return jax::custom_jvp([](Array a) { return a; }).defjvp([](Array a) { return std::pair{a, a}; })(x);
}
