// EXPECT: the function can't be called with these arguments
#include <string>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
struct Model {
    jax::Array w;
};
jax::Array f(const Model& m, const jax::Array& y) { return m.w + y; }
auto wrong(const jax::Array& x) { return jax::grad(f)(x, x); }
