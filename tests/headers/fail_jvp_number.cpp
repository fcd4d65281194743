// EXPECT: jvp: primals and tangents differ in number
#include <tuple>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Array f(const jax::Array& x) { return x; }
auto wrong(const jax::Array& x) { return jax::jvp(f, std::tuple(x), std::tuple(x, x)); }
