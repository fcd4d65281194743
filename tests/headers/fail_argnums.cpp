// EXPECT: grad: an argnum is beyond the arguments of the call
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Array f(const jax::Array& x, const jax::Array&) { return x; }
auto wrong(const jax::Array& x) { return jax::grad<3>(f)(x, x); }
