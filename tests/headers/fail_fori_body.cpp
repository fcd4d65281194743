// EXPECT: fori_loop: the body is called with the index and the carry
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
auto wrong(const jax::Array& x) {
    return jax::lax::fori_loop(
        0, 3, [](jax::Array a) { return a; }, x);
}
