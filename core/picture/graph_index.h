// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "analysis/equations/eqn_bytes.h"
#include "analysis/equations/eqn_path.h"
#include "base/units.h"
#include "picture/scope_tree.h"

namespace jaxscope {

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
