// SPDX-License-Identifier: Apache-2.0
#pragma once
class QAccessibleInterface;

namespace jaxscope::views {

class GraphView;

/// What a screen reader finds in a graph: its nodes as children, each with its words, its place on the screen and what can be done to it
/// (press picks it, toggle opens or closes it). Qt knows nothing of items in a scene. Called once, before the first graph is asked for.
void install_accessible_graphs();
/// The child of `view`'s accessible interface that a node is.
int accessible_child(const GraphView& view, int part, int node);

}  // namespace jaxscope::views
