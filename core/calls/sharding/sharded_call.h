// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/params.h"
#include "ir/primitive.h"

namespace jaxscope {

/// Parameters of sharded_call (sharded_jit of December 2021): per input and result into how many parts it is cut (PartitionSpec records,
/// None: replicated). What JAX keeps of the results' specs is a function that is called when they are known; `out_parts` is what it says,
/// which no text shows.
struct ShardedCallParams {
    Attr::JaxprRef call_jaxpr;
    Attr in_parts;
    Attr local_in_parts;
    std::optional<std::int64_t> local_nparts;
    Attr local_out_parts_thunk;
    Sym name;
    std::optional<std::int64_t> nparts;
    Attr out_parts_thunk;
    Attr out_parts = {};
    static constexpr auto kFields =
        std::tuple(field("call_jaxpr", &ShardedCallParams::call_jaxpr), field("in_parts", &ShardedCallParams::in_parts),
                   field("local_in_parts", &ShardedCallParams::local_in_parts), field("local_nparts", &ShardedCallParams::local_nparts),
                   field("local_out_parts_thunk", &ShardedCallParams::local_out_parts_thunk), field("name", &ShardedCallParams::name),
                   field("nparts", &ShardedCallParams::nparts), field("out_parts_thunk", &ShardedCallParams::out_parts_thunk),
                   optional_field("out_parts", &ShardedCallParams::out_parts));
};
extern const Primitive kShardedCall;

}  // namespace jaxscope
