// SPDX-License-Identifier: Apache-2.0
#pragma once
// What XLA made of the equations, in words. Comes in: EquationsInXla. Goes out: sentences, a section of a page.
#include <string>
#include <vector>

#include "analysis/dumps/equations_in_xla.h"
#include "report/page.h"

namespace jaxscope {

/// What became of the recomputation, a sentence for each kind of checkpoint: "XLA merged the recomputation of block_3 back (...)".
std::vector<std::string> recomputation_in_xla(const EquationsInXla& in_xla);
/// The same of those alone of whose recomputation XLA dropped more than a twentieth of the work.
std::vector<std::string> recomputation_undone(const EquationsInXla& in_xla);
void equations_in_xla_section(Page& page, const EquationsInXla& in_xla);

}  // namespace jaxscope
