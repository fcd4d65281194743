// EXPECT: while_loop: the body must return what it takes
#include <utility>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
auto wrong(const jax::Array& x) {
    return jax::lax::while_loop([](jax::Array a) { return a < 3; }, [](jax::Array a) { return std::pair(a, a); }, x);
}
