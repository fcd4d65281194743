// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "calls/control_flow.h"
#include "ir/builder.h"

namespace jaxscope {

class SplitBuilder;

/// A scan as its rules read it: operands are constants, carries, scanned inputs; results are carries, stacked outputs.
class ScanView {
public:
    explicit ScanView(const Op& op);
    const ScanParams& params;
    const JaxprPtr& body;
    std::size_t num_consts, num_carry, num_xs, num_ys;

    template <class V>
    V consts(const V& in) const {
        return part(in, 0, num_consts);
    }
    template <class V>
    V carry(const V& in) const {
        return part(in, num_consts, num_carry);
    }
    template <class V>
    V xs(const V& in) const {
        return rest(in, num_consts + num_carry);
    }
    template <class V>
    V carry_out(const V& out) const {
        return part(out, 0, num_carry);
    }
    /// Marks for the body's outputs: those of the carries, none on the stacked ones.
    Flags only_carry(const Flags& carry) const { return joined(carry, Flags(num_ys, false)); }
    /// Per constant of the body and input: may a residual be that value itself? Carries change from step to step.
    Flags forwardable() const;

    /// Parameters with another body.
    ParamsRef with(JaxprPtr new_body, std::size_t consts, std::size_t carries) const;
    /// A scan over another body, of the same length.
    Values emit(Builder& b, const Values& in, const JaxprPtr& new_body, std::size_t consts, std::size_t carries, bool flip = false) const;
    Avals result_avals(const Jaxpr& new_body, std::size_t carries) const;
};

PrimalsTangents scan_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx);
Values scan_partial_eval(SplitBuilder& b, const Op& op, const Values& x);
PartialEvalCustomResult scan_partial_eval_custom(const PartialEvalCustomArgs& args);

}  // namespace jaxscope
