// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of a trace that are known while it goes on: JAX runs the operations of grad, jvp and vmap as it meets them, so that Python
// branches on them. Here they are recorded, and run when the program asks.
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "trace/node.h"

namespace jaxscope::jax::detail {

class KnownValues {
public:
    /// What the inputs are, in their order; where one isn't known, an Array without a value. Without this call: none is.
    void inputs_are(std::vector<Array> inputs) { inputs_ = std::move(inputs); }
    /// The elements of a value of the jaxpr that is being built; null where they depend on an input that isn't known, on a place among
    /// mapped ones, or on what has effects. `constants`: the arrays that constants of the jaxpr stand for.
    ArrayPtr of(const JaxprBuilder& builder, Value v, const std::unordered_map<const ArrayConst*, Array>& constants);

private:
    ArrayPtr leaf(const ::jaxscope::Jaxpr& j, std::uint32_t index, const std::unordered_map<const ArrayConst*, Array>& constants) const;
    std::vector<Array> inputs_;
    std::unordered_map<std::uint32_t, ArrayPtr> computed_;  ///< by the builder's numbers: what earlier questions computed on their way
};

/// The elements of an array that are known here and now; null where there are none.
ArrayPtr known_elements(const Node& n);

}  // namespace jaxscope::jax::detail
