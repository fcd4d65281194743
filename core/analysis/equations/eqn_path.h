// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `analysis/equations`: facts about one equation. Comes in: a jaxpr. Goes out: where an equation stands, what it costs, whether
// it is linear. Never here: programs, choices, pictures.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// Where a jaxpr stands below a root jaxpr: which equation holds it, in which parameter. The same jaxpr object at two places has two
/// paths. The root's path is empty.
struct JaxprPath {
    struct Step {
        std::uint32_t eqn = 0;
        Sym param;                ///< "jaxpr", "branches", "cond_jaxpr"
        std::uint32_t index = 0;  ///< among the jaxprs of that parameter
        friend bool operator==(const Step&, const Step&) = default;
    };
    std::vector<Step> steps;
    friend bool operator==(const JaxprPath&, const JaxprPath&) = default;
};

/// One equation: what a selection points at, and what reports call `equation`. As text "12/jaxpr/3", or "12/branches[1]/3" where it is
/// not the parameter's first jaxpr.
struct EqnPath {
    JaxprPath jaxpr;
    std::uint32_t eqn = 0;
    friend bool operator==(const EqnPath&, const EqnPath&) = default;
};

std::string to_text(const JaxprPath& path);  ///< "12/jaxpr", the root is ""
std::string to_text(const EqnPath& path);
EqnPath parse_eqn_path(std::string_view text);  ///< throws Error{BadInput}

/// What stands there. Throws Error{NotFound} when there is nothing.
const Jaxpr& resolve(const Jaxpr& root, const JaxprPath& path);
const Eqn& resolve(const Jaxpr& root, const EqnPath& path);

/// The jaxprs among an equation's parameters, in order.
struct SubJaxpr {
    JaxprPtr jaxpr;
    Sym param;
    std::uint32_t index = 0;
    bool alone = true;  ///< the parameter's only one
};
std::vector<SubJaxpr> sub_jaxprs(const Eqn& eqn);

/// Where an equation of `jaxpr` stands first below `root`; nothing where the jaxpr doesn't stand there.
std::optional<EqnPath> path_of(const Jaxpr& root, const Jaxpr& jaxpr, std::uint32_t eqn);
/// The first equation below `root` that was traced at that place of the user's program, however it was transformed since; nothing for the
/// unknown place.
std::optional<EqnPath> traced_at(const Jaxpr& root, TracebackRef place);

/// The equation that makes an operand; nothing where none makes it.
std::optional<std::uint32_t> made_by(const Jaxpr& jaxpr, std::uint32_t eqn, std::size_t operand);
/// The equation that makes the first operand of the result's type, in whose memory the result may be computed; nothing where none makes it.
std::optional<std::uint32_t> in_place_of(const Jaxpr& jaxpr, std::uint32_t eqn);
/// The equation that makes what `eqn` is another name for (name, a cast to its own precision); nothing where it is none, or none makes it.
std::optional<std::uint32_t> renamed_by(const Jaxpr& jaxpr, std::uint32_t eqn);
/// The equation that makes what `eqn` copies to another memory space, as policies that offload do; nothing where it copies nothing.
std::optional<std::uint32_t> moved_by(const Jaxpr& jaxpr, std::uint32_t eqn);
/// Which value a result is, in words that hold under every policy: primitive, place and type of the equation that computes it, inside of
/// calls and behind its names.
std::string maker_of(const Jaxpr& jaxpr, std::uint32_t eqn, std::uint32_t output);

}  // namespace jaxscope
