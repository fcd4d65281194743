// EXPECT: Static<T> needs ==
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
struct Options {
    int n = 0;
};
struct Model {
    jax::Array w;
    jax::Static<Options> options;
};
jax::Array f(const Model& m) { return m.w; }
auto wrong(const Model& m) { return jax::jit(f)(m); }
