#pragma once
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "analysis/equations/eqn_path.h"
#include "analysis/graph/scope_tree.h"
#include "base/error.h"
#include "base/units.h"

namespace jaxscope {

inline std::int64_t bytes_of(AvalRef aval) {
    try {
        return aval->bytes();
    } catch (const Error&) {  // a size beyond 2^63: drawn as the largest, reported by whoever plans memory
        return std::numeric_limits<std::int64_t>::max() / 4;
    }
}

inline std::int64_t add_bytes(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

inline std::int64_t result_bytes(const Jaxpr& jaxpr, const Eqn& eqn) {
    std::int64_t sum = 0;
    for (std::uint32_t k = 0; k < eqn.n_out; ++k) sum = add_bytes(sum, bytes_of(jaxpr.aval(jaxpr.output(eqn, k))));
    return sum;
}

inline std::string below(const JaxprPath& path, const std::string& last) {
    const std::string prefix = to_text(path);
    return prefix.empty() ? last : prefix + '/' + last;
}

inline std::string sym_param(const Eqn& eqn, const char* name) {
    const Attr* value = eqn.params->find(name);
    const Sym* text = value != nullptr ? value->get<Sym>() : nullptr;
    return text != nullptr ? text->str() : std::string();
}

inline std::string counted(std::int64_t count, const char* one, const char* many) {
    return count_text(count) + ' ' + (count == 1 ? one : many);
}

/// What is kept of a jaxpr once it was looked into.
struct GraphIndex {
    ScopeTree tree;
    std::vector<std::int64_t> equations;  ///< prefix sums: recursive counts of the equations before
    std::vector<std::int64_t> bytes;      ///< prefix sums of what they make
    std::vector<std::uint32_t> producer;  ///< per variable: its equation, kNone for constvars and invars
    std::vector<bool> read;               ///< per constvar and invar: does anything read it?
    static constexpr std::uint32_t kNone = ~0u;
};

}  // namespace jaxscope
