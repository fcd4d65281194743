// EXPECT: tree_map: the function takes an Array of each tree, and gives an Array
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const std::vector<Array>& v) {
    return jax::tree::map([](Array a) { return std::to_string(a.ndim()); }, v);
}
