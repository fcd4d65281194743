#pragma once
// Expressions in Python and in C++ side by side: prints, for each, the Python text, the jaxpr that C++ traces, and the numbers that it
// computes. tests/differential/test_front_end.py has JAX do the same and compares.
#include <jaxscope/jax.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
namespace nn = jax::nn;
using jax::all;
using jax::Array;
using jax::ellipsis;
using jax::none;
using jax::slice;

namespace pairs {

struct In {
    Array x, y, v, w, i, b, k, n;
};

inline In inputs() {
    std::vector<double> x, y;
    for (int n = 0; n < 12; ++n) x.push_back(0.25 * n - 1.1), y.push_back(1.3 - 0.2 * n);
    std::vector<double> v, w;
    for (int n = 0; n < 4; ++n) v.push_back(0.5 * n + 0.1);
    for (int n = 0; n < 20; ++n) w.push_back(0.1 * n - 0.7);
    return {Array(x, {3, 4}),
            Array(y, {3, 4}),
            Array(v, {4}),
            Array(w, {4, 5}),
            Array(std::vector<std::int32_t>{2, 0, 1}, {3}),
            jnp::array({{true, false, true, true}, {false, false, true, false}, {true, true, false, true}}),
            jax::random::key(7),
            Array(std::vector<std::int32_t>{-3, 4, 5, 9}, {4})};
}

/// JAXSCOPE_PAIRS names a file of those that are asked for, a line each: of the others only the names are printed. Without it all are.
inline bool is_asked(const char* python) {
    static const char* const file = std::getenv("JAXSCOPE_PAIRS");
    static const std::set<std::string> asked = [] {
        std::set<std::string> lines;
        std::ifstream in(file ? file : "");
        for (std::string line; std::getline(in, line);) lines.insert(line);
        return lines;
    }();
    return !file || asked.count(python) > 0;
}

template <class F>
void pair(const char* python, F f) {
    const In in = inputs();
    std::printf("== %s\n", python);
    if (!is_asked(python)) return;
    try {
        std::printf("%s\n", jax::make_jaxpr(f)(in.x, in.y, in.v, in.w, in.i, in.b, in.k, in.n).str().c_str());
        const auto r = f(in.x, in.y, in.v, in.w, in.i, in.b, in.k, in.n);
        for (const Array& a : jax::tree_leaves(r)) {
            std::printf("-- %s", a.aval().c_str());
            if (a.dtype() != jax::dtype::key_fry)
                for (const double d : a.to_vector()) std::printf(" %.9g", d);
            std::printf("\n");
        }
    } catch (const std::exception& e) {
        std::printf("!! %s\n", e.what());
    }
}

#define PAIR(python, ...)                                                                                                   \
    pair(python, []([[maybe_unused]] Array x, [[maybe_unused]] Array y, [[maybe_unused]] Array v, [[maybe_unused]] Array w, \
                    [[maybe_unused]] Array i, [[maybe_unused]] Array b, [[maybe_unused]] Array k,                           \
                    [[maybe_unused]] Array n) { return __VA_ARGS__; })

void autodiff();
void exact_products();
void custom_rules();
void activations();
void lax_functions();
void mapping();
void named_axes();
void further_functions();
void more_functions();
void numbers();
void options_of_nn();
void positions();
void composed_functions();
void options();
void arrangements();
void pieces();
void linear_algebra();
void sorted_arrays();
void more_random();
void loops_that_close_over();
void indexing();
void methods();
void weak_types();
void trees();   ///< texts of what Equinox's functions on trees give
void errors();  ///< what is refused: its text alone

}  // namespace pairs
