#pragma once
#include "analysis/stages.h"
#include "analysis/subject.h"

namespace jaxscope {

/// The residual table of a subject under the choices' policy: JAX's rows (transforms/residuals.h) with the user's own line, the frames and
/// the equation beside them. With `choices.expand` rows made by jit and scan are traced to the equation in the body.
ResidualReport residual_report(const Subject& subject, const Choices& choices);

}  // namespace jaxscope
