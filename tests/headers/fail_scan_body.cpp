// EXPECT: scan: the body must return std::pair{carry, y} with a carry of the type of init
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
auto wrong(const jax::Array& x) {
    return jax::lax::scan([](jax::Array c, jax::Array) { return c; }, x, x);
}
