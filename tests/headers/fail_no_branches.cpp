// EXPECT: switch_: Empty branch sequence
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
void f(jax::Array i, jax::Array x) { jax::lax::switch_(i, {}, x); }
