// EXPECT: the function can't be called with these arguments
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Array f(const jax::Array& x, const jax::Array&) { return x; }
auto wrong(const jax::Array& x) { return jax::linearize(f, x); }
