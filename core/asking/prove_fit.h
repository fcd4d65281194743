// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "analysis/fit/fit_budget.h"
#include "analysis/fit/fit_proof.h"
#include "asking/recapture.h"

namespace jaxscope {

/// Writes what `fit` advises into copies of the sources of `request.target` (which changes no file of the user's), captures the program
/// anew from those, plans it and runs it in a process of its own: the step that `inspection` plans. `why_not_run`: a reason not to run it;
/// empty: none.
/// Throws Error{Cancelled}; whatever else goes wrong is the proof's `problem`.
FitProof prove_fit(const BudgetFit& fit, const Inspection& inspection, const RecaptureRequest& request, const std::string& why_not_run);

}  // namespace jaxscope
