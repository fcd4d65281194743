// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equations that move a value from one spec to another, and that tell a device where it is. In: a value of one device and how it lies. Out:
// collectives and slices, noted in the report. Never here: which spec a value is to have.
#include "ir/builder.h"
#include "ir/partition_rule.h"
#include "lax/collectives/collectives.h"
#include "sharding/partition.h"

namespace jaxscope::sharding {

class Resharding {
public:
    Resharding(Builder& b, Partitioned& report) : b_(b), report_(report) {}

    /// What collectives are noted for next; null: for themselves.
    const Primitive* asked_by = nullptr;
    /// How often the program being written runs in one run of the whole; 0: not known.
    std::int64_t times = 1;

    /// `global`: the type of the whole value.
    Value moved(Value v, AvalRef global, const Spec& from, const Spec& to);
    /// Parts of a sum or extremum put together along `axes`.
    Value combined(Value v, Combine combine, const AxisNames& axes);
    /// The same, where each device keeps its part of dimension `dim` alone.
    Value scattered(Value v, std::size_t dim, const AxisNames& axes);
    /// `v` with `neutral` beyond the end of dimension `dim`, which has `size` elements in all.
    Value masked(Value v, std::size_t dim, const AxisNames& axes, std::int64_t size, LiteralRef neutral);
    /// Which part of what is cut along `axes` a device has: a scalar.
    Value position(const AxisNames& axes);
    /// Notes a collective that stands in the program already.
    void note(const Op& op);

private:
    Value collective(const Primitive& prim, Value v, ParamsRef params);
    Value gathered(Value v, std::size_t dim, const AxisNames& axes, std::int64_t size);
    Value part(Value v, std::size_t dim, const AxisNames& axes);
    bool exchange(Value& v, AvalRef global, Spec& from, const Spec& to);
    bool permute(Value& v, AvalRef global, const Spec& from, const Spec& to);
    Builder& b_;
    Partitioned& report_;
};

}  // namespace jaxscope::sharding
