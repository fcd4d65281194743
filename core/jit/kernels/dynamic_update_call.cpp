// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/scatter/window.h"

namespace jaxscope::exec {

namespace {

std::int64_t read_index(DType d, const void* base, std::int64_t i) {
    return load_element(d, static_cast<const std::byte*>(base) + i * byte_size(d)).integer;
}

class DynamicUpdateSliceCall final : public LibraryCall {
public:
    explicit DynamicUpdateSliceCall(const Op& op) : op_(op), window_(updated_window(op)) {}
    bool in_place(std::size_t in, std::size_t out) const override { return in == 0 && out == 0; }

    void run(void* const* in, void* const* out, void*) const override {
        const Aval &operand = *op_.in[0], &update = *op_.in[1];
        const std::int64_t width = byte_size(operand.dtype);
        if (in[0] != out[0]) std::memcpy(out[0], in[0], static_cast<std::size_t>(operand.bytes()));
        if (update.size() == 0) return;
        std::int64_t start = 0;
        for (std::size_t d = 0; d < operand.shape.size(); ++d) {
            const std::int64_t at = read_index(op_.in[2 + d]->dtype, in[2 + d], 0);
            start += std::clamp<std::int64_t>(at, 0, window_.last[d]) * window_.strides[d];
        }
        const std::int64_t run = window_.run;
        for (std::int64_t r = 0; r < update.size() / run; ++r) {
            std::int64_t rest = r, offset = start;
            for (std::size_t d = window_.dims.size(); d-- > 0; rest /= window_.dims[d].size)
                offset += rest % window_.dims[d].size * window_.dims[d].operand;
            std::memmove(static_cast<char*>(out[0]) + offset * width, static_cast<const char*>(in[1]) + r * run * width,
                         static_cast<std::size_t>(run * width));
        }
    }

private:
    Op op_;
    Window window_;
};

}  // namespace

LibraryCallPtr make_dynamic_update_slice(const Op& op) { return std::make_shared<DynamicUpdateSliceCall>(op); }

}  // namespace jaxscope::exec
