// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/vector_library.h"

#include <dlfcn.h>

#include <vector>

#include "jit/codegen/vector_remainder.h"

namespace jaxscope::exec {

namespace {

struct Family {
    const char* name;
    unsigned arguments;
};
// Of float32 those that have no formula in vector_math.cpp; of float64 all but tanh.
constexpr Family kBoth[] = {{"tan", 1},   {"sinh", 1},  {"cosh", 1}, {"asin", 1}, {"acos", 1},  {"atan", 1}, {"asinh", 1},
                            {"acosh", 1}, {"atanh", 1}, {"erfc", 1}, {"cbrt", 1}, {"atan2", 2}, {"pow", 2},  {"hypot", 2}};
constexpr Family kWide[] = {{"exp", 1}, {"exp2", 1}, {"expm1", 1}, {"log", 1}, {"log1p", 1}, {"sin", 1}, {"cos", 1}, {"erf", 1}};

/// The letter of glibc's names and how many bytes its vectors have.
struct Width {
    char letter;
    unsigned bytes;
};
std::vector<Width> widths() {
    std::vector<Width> out;
#if defined(__x86_64__)
    out.push_back({'b', 16});
    if (__builtin_cpu_supports("avx2")) out.push_back({'d', 32});
    if (__builtin_cpu_supports("avx512f")) out.push_back({'e', 64});
#endif
    return out;
}

void add(std::vector<VectorFunction>& all, void* library, const Family& f, unsigned size) {
    const std::string scalar = std::string(f.name) + (size == 4 ? "f" : "");
    for (const Width& w : widths()) {
        const unsigned lanes = w.bytes / size;
        const std::string name =
            std::string("_ZGV") + w.letter + 'N' + std::to_string(lanes) + std::string(f.arguments, 'v') + '_' + scalar;
        if (void* address = ::dlsym(library, name.c_str())) all.push_back({scalar, name, lanes, address});
    }
}

}  // namespace

std::span<const VectorFunction> vector_functions() {
    static const std::vector<VectorFunction> all = [] {
        std::vector<VectorFunction> out;
        add_remainders(out);
        void* const library = ::dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);  // kept: code calls it until the process ends
        if (!library) return out;
        for (const Family& f : kBoth) add(out, library, f, 4), add(out, library, f, 8);
        for (const Family& f : kWide) add(out, library, f, 8);
        return out;
    }();
    return all;
}

}  // namespace jaxscope::exec
