// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>

#include "analysis/inspection.h"
#include "picture/opened_groups.h"

namespace jaxscope {

/// The program, and the halves of its split where it has one, as graphs that open, close, move and can be searched: an element of an HTML
/// page with its data, style and script. Needs nothing from a network. Titles, lines and names are data that the script sets as text. At
/// most kMostGraphNodes nodes a graph are written; groups below them stay closed, and the page says how many equations these hold.
void write_graph_page(std::ostream& out, const Inspection& inspection, Depth depth = {});

}  // namespace jaxscope
