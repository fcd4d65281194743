// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "jit/kernels/library.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kManyOperands = 4;  ///< fewer are chosen from where the result is read
constexpr std::int64_t kShortStrip = 32;   ///< bytes: shorter ones cost more to copy than to choose
constexpr std::int64_t kSmall = 1 << 16;   ///< bytes of a result that costs less than a step of its own

std::size_t joined_axis(const Op& op) {
    if (op.prim == &kStack) return static_cast<std::size_t>(op.as<StackParams>().axis);
    return static_cast<std::size_t>(op.as<ConcatenateParams>().dimension);
}

bool joins_many(const Op& op) { return (op.prim == &kConcatenate || op.prim == &kStack) && std::ssize(op.in) >= kManyOperands; }

/// The operands' strips, one behind the other, for each place in front of the dimension along which they are joined.
class Joining final : public LibraryCall {
public:
    explicit Joining(const Op& op) {
        const Dims& shape = op.out[0]->shape;
        for (std::size_t d = 0; d < joined_axis(op); ++d) outer_ *= shape[d];
        if (outer_ == 0) return;
        for (const AvalRef a : op.in) strips_.push_back(a->bytes() / outer_);
        row_ = op.out[0]->bytes() / outer_;
    }
    void run(void* const* in, void* const* out, void*) const override {
        const double work = static_cast<double>(outer_ * row_) / 4;
        if (outer_ < threads) {
            for (std::int64_t r = 0; r < outer_; ++r) copy_long(in, static_cast<char*>(out[0]) + r * row_, r, work);
            return;
        }
        parallel_for(threads, outer_, work, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t r = begin; r < end; ++r) {
                char* to = static_cast<char*>(out[0]) + r * row_;
                for (std::size_t i = 0; i < strips_.size(); to += strips_[i], ++i)
                    std::memcpy(to, static_cast<const char*>(in[i]) + r * strips_[i], static_cast<std::size_t>(strips_[i]));
            }
        });
    }

private:
    void copy_long(void* const* in, char* to, std::int64_t r, double work) const {
        for (std::size_t i = 0; i < strips_.size(); to += strips_[i], ++i) {
            const char* from = static_cast<const char*>(in[i]) + r * strips_[i];
            parallel_for(threads, strips_[i], work, [&](std::int64_t begin, std::int64_t end) {
                std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
            });
        }
    }
    std::int64_t outer_ = 1, row_ = 0;  ///< rows of the result, and the bytes of one
    std::vector<std::int64_t> strips_;  ///< bytes of each operand in a row
};

}  // namespace

bool joins_in_rows(const Op& op) {
    constexpr std::int64_t kMostLoops = 16, kLongRow = 32;
    if (!joins_many(op) || std::ssize(op.in) > kMostLoops) return false;
    const Dims& shape = op.out[0]->shape;
    const auto axis = shape.begin() + static_cast<std::ptrdiff_t>(joined_axis(op));
    return axis + 1 < shape.end() && shape.back() >= kLongRow && std::all_of(shape.begin(), axis, [](std::int64_t d) { return d == 1; });
}

bool joins_by_copying(const Op& op) {
    if (!joins_many(op) || joins_in_rows(op) || op.out[0]->bytes() < kSmall) return false;
    const auto count = std::ssize(op.in);
    std::int64_t rows = 1;
    for (std::size_t d = 0; d < joined_axis(op); ++d) rows *= op.out[0]->shape[d];
    return op.out[0]->bytes() / rows >= kShortStrip * count;
}

LibraryCallPtr make_joining(const Op& op) { return joins_by_copying(op) ? std::make_shared<Joining>(op) : nullptr; }

}  // namespace jaxscope::exec
