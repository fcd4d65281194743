// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "picture/graph_model.h"

namespace jaxscope {

/// Per node of a picture: does `of` depend on it, through open groups and calls too? Itself and what it holds count.
std::vector<bool> made_of(const VisibleGraph& graph, std::uint32_t of);
/// Does it depend on `of`?
std::vector<bool> made_from(const VisibleGraph& graph, std::uint32_t of);
/// What lies on a way from `from` to `to`, these two among it; nothing where there is none.
std::vector<bool> between(const VisibleGraph& graph, std::uint32_t from, std::uint32_t to);

}  // namespace jaxscope
