// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/equations/eqn_path.h"

namespace jaxscope {

/// Calls `visit` for `root` and the jaxprs inside it, outer ones first, until it answers false. A jaxpr that stands in several places is
/// visited once, and again as long as all repeated visits together have no more than `again` equations.
void visit_jaxprs(const Jaxpr& root, std::size_t again, const std::function<bool(const Jaxpr&, const JaxprPath&)>& visit);

/// The first equation of `root` or of a jaxpr inside it whose place is this line of this file.
std::optional<EqnPath> equation_at_line(const Jaxpr& root, const std::string& file, int line);

/// Equations that `text` means, letter case aside: first those whose title (`equation_title`) contains it, then those whose name scope,
/// function or place ("lm.py:24") does; at most `most`.
std::vector<EqnPath> find_equations(const Jaxpr& root, std::string_view text, std::size_t most);

}  // namespace jaxscope
