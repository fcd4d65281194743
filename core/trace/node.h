// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor of core/trace: what stands behind an Array.
#include <atomic>
#include <cstdint>
#include <memory>

#include <jaxscope/array.h>

#include "ir/types/attr.h"
#include "ir/value.h"

namespace jaxscope::jax::detail {

struct DeviceShards;

/// A concrete array, or a tracer: a value of a trace that is known by its serial number, so that one of an ended trace dangles nowhere.
class Node {
public:
    mutable std::atomic<int> refs{1};
    AvalRef aval;
    ArrayPtr array;           ///< of a concrete array; null once it was deleted
    std::uint64_t trace = 0;  ///< of a tracer; 0: concrete
    Value value;              ///< of a tracer; the literal of an array that was made of a number: closed over, it is one again
    Where where;              ///< what made it, where that is known; of a deleted array: what it was given to
    std::shared_ptr<const DeviceShards> shards;  ///< of a result of sharded_jit or pmap: what each device has
    /// Of a tracer: the positions in its trace (EvaluationOrder) of the equations that were recorded for the expression that it is the
    /// value of, as far as that is known. Empty for inputs.
    std::uint32_t begin = 0, end = 0;

    /// In place of a trace: an array of which only shape and type are known (ShapeDtypeStruct).
    static constexpr std::uint64_t kAbstract = UINT64_MAX;
    bool is_tracer() const { return trace != 0; }
    bool deleted() const { return trace == 0 && !array; }
};

/// `where`: what made it.
Array concrete(ArrayPtr array, const Where& where = Where("", 0, ""));
Array abstract_array(AvalRef aval, const Where& where);
/// The elements of a concrete array. Throws JAX's errors for deleted arrays and for tracers.
const ArrayPtr& elements(const Node& n);
/// Deletes the elements of a concrete array. `where`: the function that it was donated to, or the call that deletes it.
void give_away(const Node& n, const Where& where);
/// JAX's error for an array that was donated or deleted.
[[noreturn]] void refuse_deleted(const Node& n);
/// The same in the words of what reads its memory.
[[noreturn]] void refuse_gone_buffer(const Node& n, const char* text, const Where& where);
/// `float32[3]`, as JAX's errors write avals.
std::string long_aval(AvalRef aval);

}  // namespace jaxscope::jax::detail
