// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace jaxscope {

class Inspection;
struct Program;

/// What holds for every figure of this program and that a reader of one table can't see. Sentences, mostly none.
std::vector<std::string> caveats(const Inspection& inspection);

/// What JAX writes into derived jaxprs of this program and we don't: no value differs. `text`: it is shown as text, not as figures alone.
std::vector<std::string> derivation_caveats(const Program& program, bool text);

/// Checkpoints whose recomputation XLA undid when the program was captured: there its memory isn't what residuals and plans say.
std::vector<std::string> merged_by_xla(const Inspection& inspection);

}  // namespace jaxscope
