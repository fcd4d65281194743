// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace jaxscope::cli {

/// From now on work that takes more than a second shows on standard error how far it is, in one line that goes away. Does nothing where
/// standard error is no terminal, or where the terminal can't take a line back.
void show_progress_on_terminal();

}  // namespace jaxscope::cli
