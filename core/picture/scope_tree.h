// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/equations/eqn_path.h"
#include "ir/jaxpr.h"

namespace jaxscope {

/// How the equations of one jaxpr are put into groups.
enum class Grouping : std::uint8_t {
    Auto,      ///< name scopes where a jaxpr gives most equations one, functions for the others; else functions
    Scope,     ///< name stacks (jax.named_scope, module names, transformations)
    Half,      ///< as Auto, of a half of a split: it says itself whether it is forward or backward, so name scopes needn't
    Function,  ///< forward, backward, recomputed; then functions of the user's own source, outermost first; of what the traced function
               ///< has a library do (an optimizer's update) the library's functions
    Flat,      ///< none, but for the runs that keep a level small
};

/// What a name stack says about where autodiff put an equation.
enum class Role : std::uint8_t { Plain, Forward, Backward, Recomputed };
Role role_of(const Source& source);
/// The same of an equation below `root`. Inside a call the stack is relative to it: whatever a call around says holds too.
Role role_of(const Jaxpr& root, const EqnPath& path);
/// What the calls around a jaxpr say of all its equations.
Role role_around(const Jaxpr& root, const JaxprPath& path);

/// A group of consecutive equations. Groups are runs, never scattered sets: then edges between the groups of a level keep program
/// order, so a level is always acyclic. A scope that is left and entered again is two groups.
struct Scope {
    Sym label;
    bool run = false;         ///< made only to keep the level above small: "equations 0 - 999"
    bool made = false;        ///< put together here: such a run, blocks that repeat, small equations
    bool library = false;     ///< a library's function, called by the traced one
    std::uint32_t begin = 0;  ///< equations [begin, end) of the jaxpr
    std::uint32_t end = 0;
    std::uint32_t parent = 0;
    std::vector<std::uint32_t> children;  ///< in program order; equations, or kScopeChild | index of a scope

    static constexpr std::uint32_t kScopeChild = 1u << 31;
};

/// The groups of one jaxpr (nested jaxprs have trees of their own). Entry 0 is the whole jaxpr. No scope holds one equation only, or
/// one scope only, or more than `max_children` children: that is what keeps every level quick to lay out and to read.
struct ScopeTree {
    std::vector<Scope> scopes;
    std::vector<std::uint32_t> scope_of_eqn;  ///< innermost
};

constexpr std::uint32_t kMaxLevelSize = 120;

/// Alike groups in a row, such as the blocks of a model, are one group "block \u00d76"; equations in a row that make next to nothing
/// beside what the jaxpr makes elsewhere are one group, too. Cost: linear in the number of equations.
ScopeTree build_scope_tree(const Jaxpr& jaxpr, Grouping grouping, std::uint32_t max_children = kMaxLevelSize);

/// A segment of a name stack in words: "jvp(loss)" is "loss forward", "transpose(jvp(loss))" "loss backward".
std::string scope_title(Sym label);

}  // namespace jaxscope
