// EXPECT: no option has this name
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
auto wrong(Array x) {
    return jax::jit([](Array a) { return a; },
                    {.donate_argnum = {0, 1}, .static_argname = "n"})(jnp::mean(x, {.axes = 0, .keepdim = true}));
}
