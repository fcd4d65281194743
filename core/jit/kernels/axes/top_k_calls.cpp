// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "ir/types/element.h"
#include "jit/kernels/axes/axis_shape.h"
#include "jit/kernels/library.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"

// top_k by selection, and approx_top_k as XLA's CPU backend has it: the largest of float32 are its top_k's where it recognizes it; else a
// sort by `>` or `<` that isn't stable, of which the first are kept. It is the C++ library's, and so are the places of equal elements.
namespace jaxscope::exec {

namespace {

/// An array around the axis along which it is looked through, which may be counted from the end.
AxisShape lines_along(const Aval& array, std::int64_t axis) {
    return {array.shape, static_cast<int>(axis < 0 ? axis + array.rank() : axis)};
}

class ApproxTopK final : public LibraryCall {
public:
    explicit ApproxTopK(const Op& op)
        : dtype_(op.in[0]->dtype),
          largest_(op.as<ApproxTopKParams>().is_max_k),
          shape_(lines_along(*op.in[0], op.as<ApproxTopKParams>().dimension)),
          kept_(lines_along(*op.out[0], op.as<ApproxTopKParams>().dimension).length) {}
    void run(void* const* in, void* const* out, void*) const override {
        const double work = 20.0 * static_cast<double>(shape_.lines() * shape_.length);
        parallel_for(threads, shape_.lines(), work, [&](std::int64_t begin, std::int64_t end) {
            std::vector<double> values(static_cast<std::size_t>(shape_.length));
            std::vector<std::int32_t> order(static_cast<std::size_t>(shape_.length));
            for (std::int64_t line = begin; line < end; ++line) select(in[0], out[0], out[1], line, values, order);
        });
    }

private:
    void select(const void* in, void* out, void* positions, std::int64_t line, std::vector<double>& values,
                std::vector<std::int32_t>& order) const {
        const std::int64_t width = byte_size(dtype_), first = shape_.first(line), before = line / shape_.inner, rest = line % shape_.inner;
        const auto* from = static_cast<const std::byte*>(in);
        const auto element = [&](std::int64_t i) { return from + (first + i * shape_.inner) * width; };
        for (std::int64_t i = 0; i < shape_.length; ++i)
            values[static_cast<std::size_t>(i)] = load_element(dtype_, element(i)).number.real();
        std::iota(order.begin(), order.end(), 0);
        const auto value = [&](std::int32_t i) { return values[static_cast<std::size_t>(i)]; };
        std::sort(order.begin(), order.end(),
                  [&](std::int32_t a, std::int32_t b) { return largest_ ? value(a) > value(b) : value(a) < value(b); });
        for (std::int64_t k = 0; k < kept_; ++k) {
            const std::int64_t to = (before * kept_ + k) * shape_.inner + rest;
            const std::int32_t chosen = order[static_cast<std::size_t>(k)];
            std::copy_n(element(chosen), width, static_cast<std::byte*>(out) + to * width);
            static_cast<std::int32_t*>(positions)[to] = chosen;
        }
    }
    DType dtype_;
    bool largest_;
    AxisShape shape_;
    std::int64_t kept_;
};

/// The k largest of each line in XLA's total order: floats by their bits (NaN above infinity, -NaN below everything, -0 below 0), what is
/// equal by position. A line is read once: what exceeds the least of the candidates so far joins them, and when they are twice as many as
/// wanted the lesser half goes. Long lines are cut, one part a share, and the parts' candidates joined.
class TopK final : public LibraryCall {
public:
    TopK(const Op& op, std::int64_t axis, std::int64_t k) : dtype_(op.in[0]->dtype), shape_(lines_along(*op.in[0], axis)), kept_(k) {
        const std::int64_t lines = shape_.lines();
        if (lines < kFewLines && shape_.length / kPart > 1 && kept_ < kPart / 4) parts_ = std::min(shape_.length / kPart, kFewLines);
        joined_bytes_ = parts_ > 1 ? bytes(checked_mul(lines, checked_mul(parts_, kept_))) : 0;
        own_bytes_ = bytes(room());
    }
    std::int64_t scratch_bytes() const override { return checked_add(joined_bytes_, checked_mul(own_bytes_, threads)); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const std::int64_t lines = shape_.lines();
        if (lines == 0 || kept_ == 0) return;
        auto* joined = static_cast<Candidate*>(scratch);
        char* own = static_cast<char*>(scratch) + joined_bytes_;
        const double work = 2.0 * static_cast<double>(lines * shape_.length);
        parallel_shares(work < kParallelWork ? 1 : threads, lines * parts_, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            auto* room = reinterpret_cast<Candidate*>(own + thread * own_bytes_);
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t line = i / parts_, part = i % parts_;
                const std::int64_t n = select_typed(in[0], line, shape_.length * part / parts_, shape_.length * (part + 1) / parts_, room);
                if (parts_ > 1)
                    std::copy_n(room, n, joined + i * kept_);
                else
                    write(in[0], out, line, room);
            }
        });
        for (std::int64_t line = 0; parts_ > 1 && line < lines; ++line) {
            Candidate* all = joined + line * parts_ * kept_;
            sort_first(all, kept_, parts_ * kept_);
            write(in[0], out, line, all);
        }
    }

private:
    static constexpr std::int64_t kPart = 8192, kFewLines = 16;
    struct Candidate {
        std::uint64_t key;
        std::int64_t position;
    };
    static bool before(const Candidate& a, const Candidate& b) { return a.key != b.key ? a.key > b.key : a.position < b.position; }
    static void sort_first(Candidate* all, std::int64_t wanted, std::int64_t n) {
        if (wanted < n) std::nth_element(all, all + wanted, all + n, before);
        std::sort(all, all + wanted, before);
    }
    static std::int64_t bytes(std::int64_t n) { return checked_align(checked_mul(n, static_cast<std::int64_t>(sizeof(Candidate))), 64); }
    std::int64_t room() const { return std::min(shape_.length, checked_add(checked_mul(kept_, 2), 64)); }

    std::int64_t select_typed(const void* in, std::int64_t line, std::int64_t begin, std::int64_t end, Candidate* room) const {
        switch (byte_size(dtype_)) {
            case 1:
                return select<std::uint8_t>(in, line, begin, end, room);
            case 2:
                return select<std::uint16_t>(in, line, begin, end, room);
            case 4:
                return select<std::uint32_t>(in, line, begin, end, room);
            default:
                return select<std::uint64_t>(in, line, begin, end, room);
        }
    }
    /// Puts the largest of [begin, end) of a line into `room`, in order, and says how many.
    template <class Bits>
    std::int64_t select(const void* in, std::int64_t line, std::int64_t begin, std::int64_t end, Candidate* room) const {
        constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
        const bool floats = is_float(dtype_), signs = floats || !(is_unsigned_int(dtype_) || dtype_ == DType::Bool);
        const Bits flip = signs ? kSign : Bits{0}, flip_negative = floats ? static_cast<Bits>(~kSign) : Bits{0};
        const Bits* from = static_cast<const Bits*>(in) + shape_.first(line);
        const std::int64_t most = this->room();
        std::int64_t n = 0;
        bool full = false;
        Bits least = 0;  // of the candidates, when there are enough
        const auto key = [&](std::int64_t i) {
            const Bits bits = from[i * shape_.inner];
            return static_cast<Bits>(bits ^ flip ^ (bits & kSign ? flip_negative : Bits{0}));
        };
        for (std::int64_t i = begin; i < end; ++i) {
            const Bits k = key(i);
            if (full && k <= least) continue;  // what is equal and comes later isn't chosen
            room[n++] = {k, i};
            if (n < most || i + 1 == end) continue;
            std::nth_element(room, room + kept_ - 1, room + n, before);
            n = kept_, full = true, least = static_cast<Bits>(room[kept_ - 1].key);
        }
        const std::int64_t chosen = std::min(n, kept_);
        sort_first(room, chosen, n);
        return chosen;
    }
    void write(const void* in, void* const* out, std::int64_t line, const Candidate* chosen) const {
        const std::int64_t width = byte_size(dtype_), first = shape_.first(line), before = line / shape_.inner, rest = line % shape_.inner;
        for (std::int64_t k = 0; k < kept_; ++k) {
            const std::int64_t to = (before * kept_ + k) * shape_.inner + rest, from = first + chosen[k].position * shape_.inner;
            std::copy_n(static_cast<const std::byte*>(in) + from * width, width, static_cast<std::byte*>(out[0]) + to * width);
            static_cast<std::int32_t*>(out[1])[to] = static_cast<std::int32_t>(chosen[k].position);
        }
    }
    DType dtype_;
    AxisShape shape_;
    std::int64_t kept_, parts_ = 1, joined_bytes_ = 0, own_bytes_ = 0;
};

}  // namespace

LibraryCallPtr make_top_k_routine(const Op& op) {
    if (op.prim == &kTopK) return std::make_shared<TopK>(op, op.as<TopKParams>().axis, op.as<TopKParams>().k);
    if (op.prim != &kApproxTopK) return nullptr;
    const auto& p = op.as<ApproxTopKParams>();
    const std::int64_t rank = op.in[0]->rank();
    const bool along_last = rank <= 2 || p.dimension == -1 || p.dimension == rank - 1;  // of matrices XLA turns the other one
    if (p.is_max_k && p.aggregate && along_last && op.in[0]->dtype == DType::F32) return std::make_shared<TopK>(op, p.dimension, p.k);
    return std::make_shared<ApproxTopK>(op);
}

}  // namespace jaxscope::exec
