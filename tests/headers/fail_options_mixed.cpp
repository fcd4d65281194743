// EXPECT: no option has this name
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::jit([](Array a) { return a; },
                    {.donate_argnum = 0, .static_argname = jax::Argnames{"n"}})(jnp::mean(x, {.axes = jax::Axes(0)}));
}
