// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/axes/packed_sort.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "jit/kernels/threads/parallel.h"

// Sorting by one key: the key's bits, turned so that they order as unsigned numbers, with the position of the element. What is equal then
// orders by position, so every sort is stable; operands are gathered by the positions.
namespace jaxscope::exec {

namespace {

/// An element in 64 bits (keys of up to 32), or in two words.
struct Wide {
    std::uint64_t key;
    std::uint64_t position;
    friend bool operator<(const Wide& a, const Wide& b) { return a.key != b.key ? a.key < b.key : a.position < b.position; }
};

/// Bits of `Bits`' width that order as the numbers do: -0 equals 0, and so do denormals, which XLA flushes before it compares (those of
/// float16 are normal numbers where it does); all NaNs are equal and last, as in lax.sort.
template <class Bits>
struct Order {
    static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));
    bool floating = false, signed_ = false;
    Bits infinity = 0;  ///< of floats: above it, without the sign, are NaNs
    Bits normal = 1;    ///< of floats: the smallest number that isn't 0
    Bits key(Bits b) const {
        if (!floating) return signed_ ? static_cast<Bits>(b ^ kSign) : b;
        const auto magnitude = static_cast<Bits>(b & static_cast<Bits>(~kSign));
        if (magnitude > infinity) return std::numeric_limits<Bits>::max();
        if (magnitude < normal) return kSign;
        return b & kSign ? static_cast<Bits>(~b) : static_cast<Bits>(b | kSign);
    }
};

/// Least significant digit first; `spare` has room for as many. Returns where the result stands.
std::uint64_t* radix_sort(std::uint64_t* from, std::uint64_t* spare, std::int64_t n, int key_bits) {
    constexpr int kDigit = 11, kFirst = 32;
    constexpr std::uint64_t kMask = (1u << kDigit) - 1;
    for (int shift = kFirst; shift < kFirst + key_bits; shift += kDigit) {
        std::array<std::int64_t, kMask + 1> begin{};
        for (std::int64_t i = 0; i < n; ++i) ++begin[from[i] >> shift & kMask];
        std::int64_t sum = 0;
        for (std::int64_t& b : begin) {
            const std::int64_t count = b;
            b = sum, sum += count;
        }
        for (std::int64_t i = 0; i < n; ++i) spare[begin[from[i] >> shift & kMask]++] = from[i];
        std::swap(from, spare);
    }
    return from;
}

template <class Bits>
class PackedSort final : public LibraryCall {
public:
    static constexpr bool kNarrow = sizeof(Bits) <= 4;
    PackedSort(const Op& op, int axis, Order<Bits> order) : order_(order) {
        const Dims& shape = op.in[0]->shape;
        for (int d = 0; d < static_cast<int>(shape.size()); ++d)
            (d < axis ? outer_ : d == axis ? length_ : inner_) *= shape[static_cast<std::size_t>(d)];
        for (const AvalRef a : op.in) widths_.push_back(byte_size(a->dtype));
    }
    std::int64_t scratch_bytes() const override { return checked_mul(each_thread(), workers()); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const double work = 20.0 * static_cast<double>(outer_ * inner_ * length_);
        parallel_shares(work < kParallelWork ? 1 : workers(), outer_ * inner_, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            char* own = static_cast<char*>(scratch) + thread * each_thread();
            for (std::int64_t line = begin; line < end; ++line) sort_line(in, out, line / inner_ * length_ * inner_ + line % inner_, own);
        });
    }

private:
    int workers() const { return static_cast<int>(std::clamp<std::int64_t>(outer_ * inner_, 1, threads)); }
    std::int64_t each_thread() const { return checked_align(checked_mul(length_, 16), 64); }
    void sort_line(void* const* in, void* const* out, std::int64_t first, char* scratch) const {
        const Bits* keys = static_cast<const Bits*>(in[0]) + first;
        if constexpr (kNarrow) {
            auto* packed = reinterpret_cast<std::uint64_t*>(scratch);
            for (std::int64_t i = 0; i < length_; ++i)
                packed[i] = static_cast<std::uint64_t>(order_.key(keys[i * inner_])) << 32 | static_cast<std::uint64_t>(i);
            constexpr std::int64_t kWorthRadix = 1024;
            if (length_ < kWorthRadix)
                std::sort(packed, packed + length_);
            else
                packed = radix_sort(packed, packed + length_, length_, std::numeric_limits<Bits>::digits);
            gather(in, out, first, [packed](std::int64_t i) { return static_cast<std::int64_t>(packed[i] & 0xffffffffu); });
        } else {
            auto* packed = reinterpret_cast<Wide*>(scratch);
            for (std::int64_t i = 0; i < length_; ++i) packed[i] = {order_.key(keys[i * inner_]), static_cast<std::uint64_t>(i)};
            std::sort(packed, packed + length_);
            gather(in, out, first, [packed](std::int64_t i) { return static_cast<std::int64_t>(packed[i].position); });
        }
    }
    template <class From>
    void gather(void* const* in, void* const* out, std::int64_t first, const From& from) const {
        for (std::size_t o = 0; o < widths_.size(); ++o) {
            const auto move = [&](auto type) {
                using T = decltype(type);
                const T* source = static_cast<const T*>(in[o]) + first;
                T* target = static_cast<T*>(out[o]) + first;
                for (std::int64_t i = 0; i < length_; ++i) target[i * inner_] = source[from(i) * inner_];
            };
            switch (widths_[o]) {
                case 1:
                    move(std::uint8_t{});
                    break;
                case 2:
                    move(std::uint16_t{});
                    break;
                case 4:
                    move(std::uint32_t{});
                    break;
                case 8:
                    move(std::uint64_t{});
                    break;
                default:
                    move(std::array<std::uint64_t, 2>{});
            }
        }
    }
    Order<Bits> order_;
    std::int64_t outer_ = 1, length_ = 1, inner_ = 1;
    std::vector<std::int64_t> widths_;
};

template <class Bits>
LibraryCallPtr packed(const Op& op, const SortKernel& spec, bool floating, bool is_signed, Bits infinity = 0, Bits normal = 1) {
    return std::make_shared<PackedSort<Bits>>(op, spec.dimension, Order<Bits>{floating, is_signed, infinity, normal});
}

}  // namespace

LibraryCallPtr make_packed_sort(const Op& op, const SortKernel& spec) {
    if (spec.num_keys != 1 || op.in[0]->shape.at(static_cast<std::size_t>(spec.dimension)) > std::numeric_limits<std::uint32_t>::max())
        return nullptr;
    for (const AvalRef a : op.in)
        if (const std::int64_t w = byte_size(a->dtype); w != 1 && w != 2 && w != 4 && w != 8 && w != 16) return nullptr;
    switch (op.in[0]->dtype) {
        case DType::F32:
            return packed<std::uint32_t>(op, spec, true, true, 0x7f800000u, 0x00800000u);
        case DType::F64:
            return packed<std::uint64_t>(op, spec, true, true, 0x7ff0000000000000ull, 0x0010000000000000ull);
        case DType::BF16:
            return packed<std::uint16_t>(op, spec, true, true, 0x7f80, 0x0080);
        case DType::F16:
            return packed<std::uint16_t>(op, spec, true, true, 0x7c00);
        case DType::S8:
            return packed<std::uint8_t>(op, spec, false, true);
        case DType::S16:
            return packed<std::uint16_t>(op, spec, false, true);
        case DType::S32:
            return packed<std::uint32_t>(op, spec, false, true);
        case DType::S64:
            return packed<std::uint64_t>(op, spec, false, true);
        case DType::Bool:
        case DType::U8:
            return packed<std::uint8_t>(op, spec, false, false);
        case DType::U16:
            return packed<std::uint16_t>(op, spec, false, false);
        case DType::U32:
            return packed<std::uint32_t>(op, spec, false, false);
        case DType::U64:
            return packed<std::uint64_t>(op, spec, false, false);
        default:
            return nullptr;
    }
}

}  // namespace jaxscope::exec
