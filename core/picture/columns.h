// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "picture/layout.h"

namespace jaxscope {

/// Lays out one level. `ranks` are our own; a level layout may find others.
using LevelLayoutFn = std::function<LevelLayout(const LevelGraph&, const std::vector<std::uint32_t>& ranks, const LayoutOptions&)>;

/// A tall level's rows, put into columns that stand side by side and are read one after the other, as those of a page.
class Columns {
public:
    /// Columns so that width and height come near `options.aspect`; one where the level is small or aspect is 0.
    Columns(const LevelGraph& graph, const std::vector<std::uint32_t>& ranks, const LayoutOptions& options);
    bool one() const { return first_.size() <= 1; }
    /// Do two rows stand in one column, or the first at the end of one and the second at the beginning of the next?
    bool joined(std::uint32_t from_rank, std::uint32_t to_rank) const;
    /// Each column by `level`; edges between columns, which join them, lead around their ends.
    LevelLayout lay_out(const LevelGraph& graph, const std::vector<std::uint32_t>& ranks, const LayoutOptions& options,
                        const LevelLayoutFn& level) const;

private:
    std::uint32_t column_of(std::uint32_t rank) const;
    std::vector<std::uint32_t> first_;  ///< per column: its first row
};

}  // namespace jaxscope
