// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

/// One application under vmap: the primitive's batch rule, its expansion's, or the equation itself when nothing is mapped.
BatchResult batch_eqn(Builder& b, const Op& op, EffectSet effects, const Values& x, const std::vector<int>& dims, std::int64_t size);

struct BatchedJaxpr {
    JaxprPtr jaxpr;
    std::vector<int> out_dims;  ///< kNotMapped where an output has no batch axis
};
/// Told of each jaxpr of a call that vmap maps, in the thread where it is set: captures follow calls through vmap.
class BatchFollower {
public:
    virtual ~BatchFollower() = default;
    virtual void follow(const JaxprPtr& from, const BatchedJaxpr& to, std::int64_t size, const std::vector<int>& in_dims) = 0;
};
BatchFollower*& batch_follower();
/// vmap of a jaxpr: input i has its batch axis of length `size` at `in_dims[i]`, or kNotMapped. Outputs keep the axis where the
/// rules put it (JAX's batch_jaxpr2). Cached by identity. Throws Error{NoRule}, context "batching eqn 7: ...".
const BatchedJaxpr& batch_jaxpr(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims);
/// The same with batch axes of outputs moved to the front (JAX's batch_jaxpr_axes, zero_if_mapped); `instantiate` per output: broadcast
/// where it has none.
const BatchedJaxpr& batch_jaxpr_front(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims,
                                      const std::vector<bool>& instantiate);

/// The same with the batch axis of each output at `out_dims[k]` (JAX's batch_jaxpr_axes); kNotMapped: the output has none. Not cached.
JaxprPtr batch_jaxpr_axes(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims, const std::vector<int>& out_dims);

/// jax.vmap of a program: `out_dims` per output where the axis is to be, kNotMapped is refused for mapped outputs.
/// `axis_name`: collectives over it are operations on the new axis. `out_paths`: what outputs are called in errors, `['b'][0]`.
JaxprPtr vmap(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims, const std::vector<int>& out_dims, Sym axis_name = {},
              const std::vector<std::string>& out_paths = {});

}  // namespace jaxscope
