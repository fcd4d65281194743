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
/// What JAX's printer shows of an equation: all parameters by name, but for the primitives with a rule of their own, which hide
/// defaults and what the result's type says already (JAX's pp_eqn_rules).
struct PrintRule {
    std::vector<PrintedParam> params;
    bool results = true;        ///< false: no left side (check)
    bool shares_names = false;  ///< jit
    bool outermost = false;
};
/// `outermost`: of the jaxpr that is printed, whose function JAX runs as Python when it transforms it; what stands further in is traced
/// anew from its jaxpr, and closes over nothing then.
PrintRule print_rule(const Eqn& e, bool outermost);

}  // namespace jaxscope
