// EXPECT: jacobian: an argnum is beyond the arguments of the call
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::hessian<1>([](Array t) { return jnp::sum(t * t); })(x);
}
