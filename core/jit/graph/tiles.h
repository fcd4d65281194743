// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "jit/graph/index_map.h"
#include "jit/graph/kernel.h"

namespace jaxscope::exec {

/// Makes `k`, whose nodes have the shape `domain` (1s left out), are numbers of its rows or computed on demand, a Tiled kernel where it
/// reads large transposed operands: sets form, rows, cols, tile and scratch_bytes. `row_dims`: how many dimensions make a row's
/// number where rows are reduced. `map_of`: how an element-wise node reads its operands. False: rows in their order serve as well.
bool set_tile(Kernel& k, const Dims& domain, std::optional<std::size_t> row_dims,
              const std::function<const IndexMap&(std::uint32_t)>& map_of);

}  // namespace jaxscope::exec
