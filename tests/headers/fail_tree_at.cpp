// EXPECT: tree_at: `where` must return a reference into the tree
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
struct Model {
    jax::Array w, b;
};
auto wrong(const Model& m) {
    return jax::tree_at([](Model t) { return t.w; }, m, jax::Array(1.));
}
