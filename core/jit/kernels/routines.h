#pragma once
#include "jit/kernels/library.h"

namespace jaxscope::exec {

/// Families of routines by name; null when the name is none of theirs.
LibraryCallPtr make_random_routine(const Op& op, Sym routine);
LibraryCallPtr make_linalg_routine(const Op& op, Sym routine);

}  // namespace jaxscope::exec
