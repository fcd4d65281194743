#pragma once
// What the tests of programs built by hand share.
#include <utility>
#include <vector>

#include "donation/pairing.h"
#include "ir/program.h"

namespace jaxscope {

/// What of the results lies in the memory of which donated argument.
inline Aliases donated(const JaxprPtr& j, std::vector<bool> which) {
    Program p;
    p.jaxpr = j;
    return pair_donations(p, std::move(which)).alias_of_output;
}
inline AvalRef f32(Dims shape) { return AvalRef(DType::F32, std::move(shape)); }

}  // namespace jaxscope
