// EXPECT: switch_: the branches are a list
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& i, const Array& x) {
    return lax::switch_(
        i, [](Array a) { return a; }, [](Array a) { return a * 2; }, x);
}
