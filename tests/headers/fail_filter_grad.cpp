// EXPECT: grad: the function must return one Array, or std::pair<Array, Aux>
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
struct Model {
    jax::Array w, b;
};
Model f(const Model& m) { return m; }
auto wrong(const Model& m) { return jax::filter_grad(f)(m); }
