// EXPECT: operand is no array and no number
#include <map>

#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
auto wrong(const jax::Array& x, const std::map<int, int>& m) { return x + m; }
