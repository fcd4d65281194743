// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// Some equations of a jaxpr as one of their own.
struct JaxprCut {
    JaxprPtr jaxpr;
    std::vector<Var> in;   ///< of the whole: what the equations read of others, by first use; the inputs
    std::vector<Var> out;  ///< of the whole: what of theirs is read behind them; the results
};

/// Cuts one jaxpr, whose last reads are found once.
class JaxprCutter {
public:
    explicit JaxprCutter(const Jaxpr& j);
    /// Equations [begin, end) but for those that are `left_out`, copied as they are.
    JaxprCut cut(std::uint32_t begin, std::uint32_t end, Sym name = {}, const std::function<bool(const Eqn&)>& left_out = {}) const;

private:
    const Jaxpr& j_;
    std::vector<std::uint32_t> last_read_;  ///< per variable; the number of equations where it is a result, 0 where nothing reads it
};

}  // namespace jaxscope
