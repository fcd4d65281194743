// EXPECT: custom_vjp: fwd must return std::pair(result, residuals)
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Array f(const jax::Array& x) { return x; }
auto wrong(const jax::Array& x) {
    return jax::custom_vjp(f).defvjp([](jax::Array a) { return a; }, [](jax::Array, jax::Array ct) { return ct; })(x);
}
