// EXPECT: tree_at: the new node isn't of the type of the old one
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
struct Model {
    Array w;
    int n;
};
auto wrong(const Model& m) {
    return jax::tree_at(
        [](auto& t) -> auto& { return t.w; }, m, std::string("w"));
}
