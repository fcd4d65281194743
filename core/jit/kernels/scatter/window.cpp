// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/scatter/window.h"

#include <algorithm>

#include "jit/kernels/library.h"

namespace jaxscope::exec {

Window scattered_window(const Op& op, const ScatterKernel& spec) {
    const Dims &operand = op.in[0]->shape, &updates = op.in[2]->shape;
    const Dims update_strides = row_major_strides(updates);
    const auto in = [](const std::vector<int>& v, std::size_t d) { return std::ranges::find(v, static_cast<int>(d)) != v.end(); };
    Window out;
    out.strides = row_major_strides(operand);
    std::size_t w = 0;
    for (std::size_t d = 0; d < operand.size(); ++d) {
        std::int64_t size = 1;
        if (!in(spec.inserted_window_dims, d) && !in(spec.operand_batching_dims, d)) {
            const auto u = static_cast<std::size_t>(spec.update_window_dims.at(w++));
            size = updates[u];
            out.dims.push_back({size, out.strides[d], update_strides[u]});
        }
        out.last.push_back(operand[d] - size);
    }
    return out;
}

Window updated_window(const Op& op) {
    const Aval &operand = *op.in[0], &update = *op.in[1];
    Window out;
    out.strides = row_major_strides(operand.shape);
    std::size_t cut = operand.shape.size();
    while (cut > 0) {
        out.run *= update.shape[--cut];
        if (update.shape[cut] != operand.shape[cut]) break;
    }
    const Dims update_strides = row_major_strides(update.shape);
    for (std::size_t d = 0; d < cut; ++d) out.dims.push_back({update.shape[d], out.strides[d], update_strides[d]});
    for (std::size_t d = 0; d < operand.shape.size(); ++d) out.last.push_back(operand.shape[d] - update.shape[d]);
    return out;
}

}  // namespace jaxscope::exec
