#pragma once
#include "jit/kernels/library.h"

namespace jaxscope::exec {

/// Families of routines by primitive; null when it is none of theirs.
LibraryCallPtr make_random_routine(const Op& op);
LibraryCallPtr make_linalg_routine(const Op& op);

}  // namespace jaxscope::exec
