#pragma once
#include "jit/kernels/library.h"

namespace jaxscope::exec {

/// An equation that can't run, in a branch that may never be entered (a check's callback): the run that enters it ends with this error.
Op refused_when_met(Op op, const Error& error);
/// Its call; null for any other equation.
LibraryCallPtr make_refusal(const Op& op);

}  // namespace jaxscope::exec
