// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/targets.h"

namespace jaxscope::exec {

/// Which dimensions of a value stand last in a target's memory, and so what its tiles waste (docs/foresight.md):
///   of what convolutions read and make batch and features do, also of arrays of such shapes in between;
///   of rows that are gathered or scattered their own last ones;
///   of what products make and products of many matrices read (queries, keys, values, scores) a matrix's own two: each is copied into
///   such a layout, and only the copies stay;
///   of all others those that waste least.
class TargetLayouts {
public:
    TargetLayouts(const Graph& g, const TargetDevice& device);
    /// Along the features of what a convolution reads: the parts' lanes are put together in memory.
    bool joins_features(const Node& n) const;
    /// Bytes of each value, where it stands in memory. Per root: is it stored, is it stored in half of its type; and which products store.
    std::vector<std::int64_t> bytes(const std::vector<bool>& stored, const std::vector<bool>& narrow,
                                    const std::vector<ValueId>& of_products);

private:
    void find_convolved();
    void find_rows();
    void find_regrouped();
    void find_matrices(const std::vector<bool>& stored, const std::vector<ValueId>& of_products);
    /// Roots that stand in memory and that `v` is computed of, element by element, as it is read.
    std::set<ValueId> stored_behind(ValueId v, const std::vector<bool>& stored) const;
    bool is_made(ValueId root) const { return g_.values[root].kind == GraphValue::Kind::Result; }
    std::int64_t bytes_made(ValueId v) const;

    const Graph& g_;
    const TargetDevice& device_;
    std::map<Dims, std::pair<int, int>> convolved_;  ///< per shape: the dimensions that stand last
    std::set<Dims> parts_;                           ///< shapes of what is joined along a convolution's features
    std::set<Dims> rows_;                            ///< shapes whose own last dimensions stand last
    std::set<ValueId> regrouped_;                    ///< roots that are read in groups of features
    std::map<ValueId, double> matrices_;             ///< roots that are read as matrices: how many times their bytes these take
};

}  // namespace jaxscope::exec
