#include <algorithm>
#include <numeric>
#include <vector>

#include "ir/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/parallel.h"
#include "lax/params/sort.h"
#include "lax/routine_primitives.h"

// approx_top_k as XLA's CPU backend has it: a stable sort by `>` or `<`, of which the first are kept.
namespace jaxscope::exec {

namespace {

class ApproxTopK final : public LibraryCall {
public:
    explicit ApproxTopK(const Op& op) : dtype_(op.in[0]->dtype), largest_(op.as<ApproxTopKParams>().is_max_k) {
        const std::int64_t given = op.as<ApproxTopKParams>().dimension, d = given < 0 ? given + op.in[0]->rank() : given;
        const Dims& shape = op.in[0]->shape;
        length_ = shape[static_cast<std::size_t>(d)], kept_ = op.out[0]->shape[static_cast<std::size_t>(d)];
        for (std::int64_t k = 0; k < std::ssize(shape); ++k)
            if (k != d) (k < d ? outer_ : inner_) *= shape[static_cast<std::size_t>(k)];
    }
    void run(void* const* in, void* const* out, void*) const override {
        const double work = 20.0 * static_cast<double>(outer_ * inner_ * length_);
        parallel_for(threads, outer_ * inner_, work, [&](std::int64_t begin, std::int64_t end) {
            std::vector<double> values(static_cast<std::size_t>(length_));
            std::vector<std::int32_t> order(static_cast<std::size_t>(length_));
            for (std::int64_t line = begin; line < end; ++line) select(in[0], out[0], out[1], line, values, order);
        });
    }

private:
    void select(const void* in, void* out, void* positions, std::int64_t line, std::vector<double>& values,
                std::vector<std::int32_t>& order) const {
        const std::int64_t width = byte_size(dtype_), before = line / inner_, rest = line % inner_;
        const auto* from = static_cast<const std::byte*>(in);
        const auto element = [&](std::int64_t i) { return from + ((before * length_ + i) * inner_ + rest) * width; };
        for (std::int64_t i = 0; i < length_; ++i) values[static_cast<std::size_t>(i)] = load_element(dtype_, element(i)).number.real();
        std::iota(order.begin(), order.end(), 0);
        const auto value = [&](std::int32_t i) { return values[static_cast<std::size_t>(i)]; };
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int32_t a, std::int32_t b) { return largest_ ? value(a) > value(b) : value(a) < value(b); });
        for (std::int64_t k = 0; k < kept_; ++k) {
            const std::int64_t to = (before * kept_ + k) * inner_ + rest;
            const std::int32_t chosen = order[static_cast<std::size_t>(k)];
            std::copy_n(element(chosen), width, static_cast<std::byte*>(out) + to * width);
            static_cast<std::int32_t*>(positions)[to] = chosen;
        }
    }
    DType dtype_;
    bool largest_;
    std::int64_t length_ = 0, kept_ = 0, outer_ = 1, inner_ = 1;
};

}  // namespace

LibraryCallPtr make_approx_top_k_routine(const Op& op) {
    if (op.prim != &kApproxTopK) return nullptr;
    return std::make_shared<ApproxTopK>(op);
}

}  // namespace jaxscope::exec
