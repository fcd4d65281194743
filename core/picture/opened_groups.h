// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <set>
#include <string>

#include "picture/graph_model.h"

namespace jaxscope {

/// How many levels of groups a picture opens, 0 for none; nothing: as many as leave it easy to read (GraphModel::first_look).
using Depth = std::optional<int>;

/// No picture shows more: what lies below stays closed, or is refused where it was asked for.
constexpr std::size_t kMostGraphNodes = 6000;

/// Keys of the groups that are open. Throws Error{LimitExceeded} where `depth` would draw more than can be laid out.
std::set<std::string> opened_groups(const GraphModel& model, Depth depth, std::size_t budget = 40);

}  // namespace jaxscope
