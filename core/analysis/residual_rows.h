#pragma once
#include "analysis/stages.h"
#include "analysis/subject.h"

namespace jaxscope {

/// The residual table of a subject under the choices' policy: JAX's rows (transforms/residuals.h) with the user's own line, the frames and
/// the equation beside them. `derivation`: the number of the
/// forward part, for the rows' identities. With `choices.expand` rows made by jit and scan are traced to the equation in the body.
ResidualReport residual_report(const Subject& subject, const Choices& choices, std::uint64_t derivation);

/// What the policies in the function had no answer to. A policy around the function overrules those inside: they aren't asked.
std::vector<UnknownVerdictRow> unknown_rows(const Subject& s, const Choices& c);

}  // namespace jaxscope
