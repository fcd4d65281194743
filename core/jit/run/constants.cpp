// SPDX-License-Identifier: Apache-2.0
#include "jit/run/constants.h"

#include "ir/types/element.h"

namespace jaxscope::exec {

void fill_pool(Computation& c) {
    for (Computation::PoolEntry& e : c.pool) {
        const auto bytes = static_cast<std::size_t>(e.aval->bytes());
        e.data.assign(bytes, std::byte{0});
        if (e.literal) {
            const Literal& l = **e.literal;
            if (bytes) store_element(l.aval->dtype, e.data.data(), Element{l.integer, {l.real, l.imag}});
        } else if (e.array && e.array->known() && e.array->data.size() == bytes) {
            e.data = e.array->data;
        }
    }
    for (Thunk& t : c.thunks)
        for (const ComputationPtr& b : t.bodies) fill_pool(const_cast<Computation&>(*b));
}

}  // namespace jaxscope::exec
