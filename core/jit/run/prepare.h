// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace jaxscope::exec {

/// Waits for what a Preparation began, as soon as it can be left: nothing of it may count for a run's memory or take its time.
void end_of_preparation();

}  // namespace jaxscope::exec
