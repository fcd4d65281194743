// EXPECT: an argument can't be copied
#include <memory>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Array f(const std::unique_ptr<int>&, const jax::Array& x) { return x; }
auto wrong(const jax::Array& x) { return jax::filter_jit(f)(std::make_unique<int>(1), x); }
