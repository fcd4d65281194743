// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// One `name=value` of an equation as it is printed: the parameter's value, or a text in its place.
struct PrintedParam {
    std::string name;
    const Attr* value = nullptr;
    std::string text;
};
/// What JAX's printer shows of an equation's parameters: all by name, but for what its primitive's `TextForm` hides and respells.
/// `outermost`: the equation stands in the jaxpr that is printed.
std::vector<PrintedParam> printed_params(const Eqn& e, bool outermost);

}  // namespace jaxscope
