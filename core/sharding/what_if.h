// SPDX-License-Identifier: Apache-2.0
#pragma once
// What-ifs: the program as if its inputs and results lay otherwise.
#include <string>
#include <vector>

#include "ir/program.h"
#include "sharding/mesh.h"

namespace jaxscope::sharding {

/// How everything at a path is to lie: an input, a result of jit, or all leaves below (`params['layers']`).
struct SpecChoice {
    std::string path;
    Spec spec;
};
/// `params['w']=P('x', None)`; an axis may stand without quotes. Throws Error{BadUsage}.
SpecChoice parse_spec_choice(const std::string& text);
/// Constraints inside stay as they are. Throws Error{NotFound} for a path that the program hasn't, Error{BadUsage} for a spec that its mesh
/// or its arrays can't have, Error{CannotRun} for a program over one device.
Program with_specs(const Program& program, const std::vector<SpecChoice>& choices);

}  // namespace jaxscope::sharding
