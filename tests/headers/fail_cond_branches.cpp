// EXPECT: cond: branches return different types
#include <utility>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
auto wrong(const jax::Array& p, const jax::Array& x) {
    return jax::lax::cond(
        p, [](jax::Array a) { return a; }, [](jax::Array a) { return std::pair(a, a); }, x);
}
