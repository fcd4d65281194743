#pragma once
#include "ir/program.h"

namespace jaxscope {

/// Stands between every reader and everything else, and runs after every transformation in the tests: nothing that it hasn't
/// seen reaches a transformation or the JIT.
///
/// For `j` and every jaxpr below it, each once: variables are defined before they are used, dropped ones (`_`) are not used, values
/// of constvars have their avals, and every known primitive's result avals, derived again from inputs and parameters, are the
/// recorded ones (dtype and shape: weak types differ between JAX versions). Opaque primitives are believed.
///
/// Throws   Error{TypeMismatch} or Error{BadInput} that names the equation, at the user's line; Error{LimitExceeded} when jaxprs
///          nest deeper than kMaxNesting.
/// Cost     linear in the equations of distinct jaxprs.
void check_jaxpr(const Jaxpr& j);
/// The program's jaxpr, the marked one, those of regions and custom rules.
void check_program(const Program& program);

}  // namespace jaxscope
