// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/primitive.h"

namespace jaxscope {

/// While it lives, the axis that this thread batches has this name (jax.vmap's axis_name; empty: none). Collectives over the name become
/// operations on the batch axis; an inner vmap hides the outer one's name, whose collectives stay.
class NamedBatchAxis {
public:
    explicit NamedBatchAxis(Sym name);
    ~NamedBatchAxis();
    NamedBatchAxis(const NamedBatchAxis&) = delete;
    NamedBatchAxis& operator=(const NamedBatchAxis&) = delete;
    static Sym current();

private:
    Sym outer_;
};

/// Do the parameters `axes` or `axis_name` of an application name that axis?
bool names_axis(const ParamsRef& params, Sym name);
/// The same for an equation, the jaxprs that it holds included: such equations are batched although no operand is.
bool reaches_axis(const Primitive& prim, const ParamsRef& params, Sym name);

}  // namespace jaxscope
