// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/graph/graph.h"

namespace jaxscope::exec {

// What a target's compiler sees in a node.

bool is_loop_node(const Node& n);
/// A product over one position: what it makes is a product of two elements, and no routine's work.
bool is_outer_product(const Node& n);
bool is_product(const Node& n);
/// Elements by a list of indices: XLA reads them from memory. A slice at a place that is computed isn't one.
bool is_gather(const Node& n);
/// By one list of indices, as graphs do: what is picked is stored, row after row.
bool picks_rows(const Node& n);
/// Every second element, or elements with room between them: XLA's fusions hold none of these (the steps of an associative scan).
bool skips_elements(const Node& n);
/// XLA's default: no precision is asked for, or DEFAULT of every operand.
bool at_default_precision(const Node& n);

}  // namespace jaxscope::exec
