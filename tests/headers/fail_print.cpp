// EXPECT: debug::print takes arrays, numbers and text: print the parts of a tree one by one
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
void wrong(const jax::Array& x) { jax::debug::print("{}", std::pair{x, x}); }
