// EXPECT: T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE
#include <set>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Array f(const std::set<int>&, const jax::Array& x) { return x; }
auto wrong(const jax::Array& x) { return jax::vmap(f)(std::set<int>{1}, x); }
