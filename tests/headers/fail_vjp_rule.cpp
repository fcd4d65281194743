// EXPECT: custom_vjp: bwd takes the residuals and the cotangent of the result
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
auto wrong(const Array& x) {
    const auto f = jax::custom_vjp([](Array a) { return a; });
    return f.defvjp([](Array a) { return std::pair{a, a}; }, [](Array r) { return std::tuple(r); })(x);
}
