// EXPECT: primal and tangent arguments to jax.jvp must be tuples
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Array f(const jax::Array& x) { return x; }
auto wrong(const jax::Array& x) { return jax::jvp(f, x, x); }
