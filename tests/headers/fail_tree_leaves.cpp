// EXPECT: T is no pytree: it has constructors, private members or bases
#include <set>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const std::set<int>& s) { return jax::tree_leaves(s); }
