// EXPECT: T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
class Layer {
public:
    explicit Layer(jax::Array w) : w_(w) {}

private:
    jax::Array w_;
};
struct Model {
    Layer layer;
};
auto wrong(const Model& m) {
    return jax::tree_map([](jax::Array a) { return a; }, m);
}
