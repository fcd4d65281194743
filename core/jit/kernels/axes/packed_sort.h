// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/kernels/library.h"

namespace jaxscope::exec {

/// A sort by keys of types that the machine has; null for others.
LibraryCallPtr make_packed_sort(const Op& op, const SortKernel& spec);

}  // namespace jaxscope::exec
