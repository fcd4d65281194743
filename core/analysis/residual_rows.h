// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "analysis/stages/stages.h"
#include "analysis/stages/subject.h"
#include "sharding/partition.h"

namespace jaxscope {

/// Over which devices a function's values are spread, and how its inputs lie; without a mesh: over none.
struct Shares {
    std::optional<sharding::Mesh> mesh;
    std::vector<std::optional<sharding::Spec>> closed_over, in;  ///< of constvars without values, as a region has them; of inputs
};
/// Of the function that a region differentiates, where the step calls it; of the program itself (no region). What the region's mark doesn't
/// say has the spec of the program's input of that name, or none.
Shares shares_of(const Program& program, const sharding::Partitioned& cut, std::optional<int> region);

/// The residual table of a subject under the choices' policy: JAX's rows (transforms/residuals.h) with the user's own line, the frames and
/// the equation beside them. `derivation`: the number of the
/// forward part, for the rows' identities. With `choices.expand` rows made by jit and scan are traced to the equation in the body.
ResidualReport residual_report(const Subject& subject, const Choices& choices, std::uint64_t derivation, const Shares& shares);

/// What the policies in the function had no answer to. A policy around the function overrules those inside: they aren't asked.
std::vector<UnknownVerdictRow> unknown_rows(const Subject& s, const Choices& c);

}  // namespace jaxscope
