// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace jaxscope {

/// A row of a table about memory.
struct SizedRow {
    std::int64_t bytes = 0;  ///< of all that the row stands for
    std::int64_t count = 1;
    std::vector<std::string> cells;
};

/// Rows that differ in indices alone, told as one: "params['blocks'][0]['w']" to "params['blocks'][5]['w']" are one row of
/// "params['blocks'][0-5]['w']". Indices are numbers inside square brackets, in the cells of the columns `indexed`; rows must agree in
/// everything else. Largest sum first; the order of equal ones stays.
std::vector<SizedRow> grouped(const std::vector<SizedRow>& rows, const std::vector<std::size_t>& indexed);
/// The same order, nothing put together.
std::vector<SizedRow> sorted_by_size(std::vector<SizedRow> rows);

}  // namespace jaxscope
