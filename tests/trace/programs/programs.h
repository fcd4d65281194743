#pragma once
// Whole programs, each written in Python as well (tests/differential/programs). What stands between `// ----` lines is counted there.
#include <jaxscope/jax.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace jr = jax::random;
namespace lax = jax::lax;
namespace nn = jax::nn;
using jax::all;
using jax::Array;
using jax::none;
using jax::slice;
using Params = std::map<std::string, Array>;

namespace programs {

inline std::string& folder() {
    static std::string path;
    return path;
}

/// Prints what the program computes.
template <class F, class... A>
void numbers(const char* name, F&& f, const A&... args) {
    const auto out = f(args...);
    std::printf("== %s\n", name);
    for (const Array& a : jax::tree_leaves(out)) {
        std::printf("-- %s", a.aval().c_str());
        for (const double d : a.to_vector()) std::printf(" %.9g", d);
        std::printf("\n");
    }
}
/// Saves the program as FOLDER/NAME.jaxscope and prints what it computes, and whether its donated arrays are gone.
template <class F, class... A>
void run(const char* name, F&& f, const jax::JitOptions& options, const A&... args) {
    const auto step = jax::jit(f, options);
    jaxscope::capture(step, args...).save(folder() + "/" + name + ".jaxscope");
    numbers(name, step, args...);
    std::printf("deleted");
    for (const Array& a : jax::tree_leaves(std::tuple<const A&...>(args...))) std::printf(" %d", a.is_deleted());
    std::printf("\n");
}

void training();
void models();
void loops();
void inference();
void further();
void learning();
void tutorials();
void equinox_loops();

}  // namespace programs
