// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "picture/split_graph.h"

namespace jaxscope {

/// Labels stand on the boundary, pushed apart where several lines cross it at one height.
void place_labels(std::vector<SplitPicture::Crossing>& crossings);

/// The lines of the picture's crossings, from end to end through their own labels, level there, so that no line runs through another's.
/// Boxes, tags and the titles of frames that stand in a line's way are passed above or below, where there is room.
/// Cost: crossings * nodes, and no more than some tries for each that something stands in the way of.
void route_crossings(SplitPicture& picture);

}  // namespace jaxscope
