// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "ir/types/element.h"
#include "jit/kernels/library.h"

namespace jaxscope::exec {

namespace {

std::int64_t read_index(DType d, const void* base, std::int64_t i) {
    return load_element(d, static_cast<const std::byte*>(base) + i * byte_size(d)).integer;
}

class DynamicUpdateSliceCall final : public LibraryCall {
public:
    explicit DynamicUpdateSliceCall(const Op& op) : op_(op), strides_(row_major_strides(op.in[0]->shape)) {}
    bool in_place(std::size_t in, std::size_t out) const override { return in == 0 && out == 0; }

    void run(void* const* in, void* const* out, void*) const override {
        const Aval &operand = *op_.in[0], &update = *op_.in[1];
        const std::int64_t width = byte_size(operand.dtype);
        if (in[0] != out[0]) std::memcpy(out[0], in[0], static_cast<std::size_t>(operand.bytes()));
        if (update.size() == 0) return;
        std::int64_t start = 0;
        for (std::size_t d = 0; d < operand.shape.size(); ++d) {
            const std::int64_t at = read_index(op_.in[2 + d]->dtype, in[2 + d], 0);
            start += std::clamp<std::int64_t>(at, 0, operand.shape[d] - update.shape[d]) * strides_[d];
        }
        // Trailing dimensions that are taken whole make one run with the one before them.
        std::size_t cut = operand.shape.size();
        std::int64_t run = 1;
        while (cut > 0) {
            run *= update.shape[--cut];
            if (update.shape[cut] != operand.shape[cut]) break;
        }
        const std::int64_t runs = update.size() / run;
        for (std::int64_t r = 0; r < runs; ++r) {
            std::int64_t rest = r, offset = start;
            for (std::size_t d = cut; d-- > 0;) {
                offset += rest % update.shape[d] * strides_[d];
                rest /= update.shape[d];
            }
            std::memmove(static_cast<char*>(out[0]) + offset * width, static_cast<const char*>(in[1]) + r * run * width,
                         static_cast<std::size_t>(run * width));
        }
    }

private:
    Op op_;
    Dims strides_;
};

}  // namespace

LibraryCallPtr make_dynamic_update_slice(const Op& op) { return std::make_shared<DynamicUpdateSliceCall>(op); }

}  // namespace jaxscope::exec
