// EXPECT: fori_loop: the body must return the carry
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x) {
    return lax::fori_loop(
        0, 3,
        [](Array, Array c) {
            return std::pair{c, c};
        },
        x);
}
