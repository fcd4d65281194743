// EXPECT: the function returns what is no pytree
#include <string>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
std::string f(const jax::Array& x) { return x.str(); }
auto wrong(const jax::Array& x) { return jax::jit(f)(x); }
