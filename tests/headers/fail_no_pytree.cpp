// EXPECT: T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
class Layer {
public:
    explicit Layer(jax::Array w) : w_(w) {}
    const jax::Array& w() const { return w_; }

private:
    jax::Array w_;
};
jax::Array f(const Layer& l) { return l.w(); }
auto wrong(const Layer& l) { return jax::jit(f)(l); }
