// EXPECT: a checkpoint policy returns bool, or a Verdict: jax::Recompute, jax::Saveable or jax::Offloadable(source, destination)
#include <jaxscope/jax.h>
namespace jax = jaxscope::jax;
jax::Policy wrong() {
    return [](const jax::Application&) { return 1; };
}
