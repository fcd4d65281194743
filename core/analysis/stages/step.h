// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "analysis/choices.h"
#include "analysis/stages/stages.h"
#include "donation/pairing.h"

namespace jaxscope {

/// The function with the chosen policy laid around it.
JaxprPtr with_policy(const JaxprPtr& function, const Choices& choices);

/// What is planned and run under `choices`: the captured program where they ask for nothing else; a train step with the chosen
/// differentiation done anew; of a program that differentiates nothing, its value and gradient (a pullback where its result is no scalar).
/// Throws Error{NotFound} where the capture doesn't say how the region stands in the step.
Step make_step(const Program& program, const Choices& choices);

/// `step` as a program of its own, to be run elsewhere: its equations have the same places and lines, its inputs `values` where these are
/// given (else the program's), and what the choices donate is donated.
Program program_to_run(const Program& of, const Step& step, const DonationReport& donation, const std::vector<ArrayPtr>& values = {});

}  // namespace jaxscope
