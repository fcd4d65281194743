// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/axes/packed_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "jit/kernels/axes/axis_shape.h"
#include "jit/kernels/threads/parallel.h"

// Sorting by keys of the machine's types: the key's bits, turned so that they order as unsigned numbers. Every sort is stable. Operands are
// gathered by the positions that go with the keys; one operand that is its own key needs none.
namespace jaxscope::exec {

namespace {

/// A key of 64 bits and the position of its element. Shorter ones stand in one word.
struct Wide {
    std::uint64_t key, position;
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
    /// Has no other number this one's key?
    bool alone(Bits b) const {
        const auto magnitude = static_cast<Bits>(b & static_cast<Bits>(~kSign));
        return !floating || b == 0 || (magnitude <= infinity && magnitude >= normal);
    }
    /// The number that a key stands for, of those that stand alone.
    Bits number(Bits key) const {
        if (!floating) return signed_ ? static_cast<Bits>(key ^ kSign) : key;
        return key & kSign ? static_cast<Bits>(key & static_cast<Bits>(~kSign)) : static_cast<Bits>(~key);
    }
};

using AnyOrder = std::variant<Order<std::uint8_t>, Order<std::uint16_t>, Order<std::uint32_t>, Order<std::uint64_t>>;
/// Of the types that the machine has.
std::optional<AnyOrder> order_of(DType dtype) {
    switch (dtype) {
        case DType::F32:
            return Order<std::uint32_t>{true, true, 0x7f800000u, 0x00800000u};
        case DType::F64:
            return Order<std::uint64_t>{true, true, 0x7ff0000000000000ull, 0x0010000000000000ull};
        case DType::BF16:
            return Order<std::uint16_t>{true, true, 0x7f80, 0x0080};
        case DType::F16:
            return Order<std::uint16_t>{true, true, 0x7c00};
        case DType::S8:
            return Order<std::uint8_t>{false, true};
        case DType::S16:
            return Order<std::uint16_t>{false, true};
        case DType::S32:
            return Order<std::uint32_t>{false, true};
        case DType::S64:
            return Order<std::uint64_t>{false, true};
        case DType::Bool:
        case DType::U8:
            return Order<std::uint8_t>{false, false};
        case DType::U16:
            return Order<std::uint16_t>{false, false};
        case DType::U32:
            return Order<std::uint32_t>{false, false};
        case DType::U64:
            return Order<std::uint64_t>{false, false};
        default:
            return std::nullopt;
    }
}

constexpr int digit_bits(std::int64_t n) { return n < 1 << 12 ? 8 : 11; }

/// By the lowest `bits` of key(element), least significant digit first; `spare` has room for as many. Returns where the result stands.
template <class T, class Key>
T* radix_sort(T* from, T* spare, std::int64_t n, int bits, const Key& key) {
    const int passes = (bits + digit_bits(n) - 1) / digit_bits(n), digit = (bits + passes - 1) / passes;
    const std::uint64_t mask = (std::uint64_t{1} << digit) - 1;
    for (int shift = 0; shift < bits; shift += digit) {
        const auto place = [&](const T& t) { return static_cast<std::size_t>(static_cast<std::uint64_t>(key(t)) >> shift & mask); };
        std::array<std::uint32_t, 1 << digit_bits(std::numeric_limits<std::int64_t>::max())> begin;
        std::fill_n(begin.begin(), mask + 1, 0);
        for (std::int64_t i = 0; i < n; ++i) ++begin[place(from[i])];
        if (begin[place(from[0])] == static_cast<std::uint32_t>(n)) continue;
        std::uint32_t sum = 0;
        for (std::size_t b = 0; b <= mask; ++b) {
            const std::uint32_t count = begin[b];
            begin[b] = sum, sum += count;
        }
        for (std::int64_t i = 0; i < n; ++i) spare[begin[place(from[i])]++] = from[i];
        std::swap(from, spare);
    }
    return from;
}
/// Stable. `most`: of all keys.
template <class T, class Key>
T* sort_by_key(T* from, T* spare, std::int64_t n, std::uint64_t most, const Key& key) {
    constexpr std::int64_t kWorthPass = 10;  // elements, measured
    const int bits = std::bit_width(most);
    if (bits == 0) return from;
    if (n >= kWorthPass * ((bits + digit_bits(n) - 1) / digit_bits(n))) return radix_sort(from, spare, n, bits, key);
    for (std::int64_t i = 1; i < n; ++i) {
        const T element = from[i];
        const auto own = key(element);
        std::int64_t at = i;
        for (; at > 0 && key(from[at - 1]) > own; --at) from[at] = from[at - 1];
        from[at] = element;
    }
    return from;
}

/// The least and the largest key of a line. What is sorted by is how far a key is from the least: small numbers have few digits.
template <class Bits>
struct Range {
    Bits least = std::numeric_limits<Bits>::max(), most = 0;
    void add(Bits key) { least = std::min(least, key), most = std::max(most, key); }
    std::uint64_t width() const { return most - least; }
};

/// Scratch memory of order_by, for each element.
template <class Bits>
constexpr std::int64_t kPlacesBytes = sizeof(Bits) == 8 ? 32 : 16;
/// Calls use(which) where element which(i) of `n` is the i-th by key_at(element).
template <class Bits, class KeyAt, class Use>
void order_by(std::int64_t n, char* scratch, const KeyAt& key_at, const Use& use) {
    Range<Bits> range;
    for (std::int64_t i = 0; i < n; ++i) range.add(key_at(i));
    const auto by_words = [&] {
        auto* words = reinterpret_cast<std::uint64_t*>(scratch);
        for (std::int64_t i = 0; i < n; ++i)
            words[i] = static_cast<std::uint64_t>(key_at(i) - range.least) << 32 | static_cast<std::uint64_t>(i);
        words = sort_by_key(words, words + n, n, range.width(), [](std::uint64_t w) { return w >> 32; });
        use([words](std::int64_t i) { return static_cast<std::int64_t>(words[i] & 0xffffffffu); });
    };
    if constexpr (sizeof(Bits) == 8) {
        if (range.width() > std::numeric_limits<std::uint32_t>::max()) {
            auto* words = reinterpret_cast<Wide*>(scratch);
            for (std::int64_t i = 0; i < n; ++i) words[i] = {key_at(i) - range.least, static_cast<std::uint64_t>(i)};
            words = sort_by_key(words, words + n, n, range.width(), [](const Wide& w) { return w.key; });
            return use([words](std::int64_t i) { return static_cast<std::int64_t>(words[i].position); });
        }
    }
    by_words();
}

/// Operands of `widths` bytes an element: element from(i) of the line that begins at `first` goes to place i.
template <class From>
void gather(const std::vector<std::int64_t>& widths, void* const* in, void* const* out, const AxisShape& shape, std::int64_t first,
            const From& from) {
    for (std::size_t o = 0; o < widths.size(); ++o) {
        const auto move = [&](auto type) {
            using T = decltype(type);
            const T* source = static_cast<const T*>(in[o]) + first;
            T* target = static_cast<T*>(out[o]) + first;
            for (std::int64_t i = 0; i < shape.length; ++i) target[i * shape.inner] = source[from(i) * shape.inner];
        };
        switch (widths[o]) {
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

/// Sorts line by line, each thread in scratch memory of its own.
class SortOfLines : public LibraryCall {
public:
    SortOfLines(const Op& op, int axis, std::int64_t bytes_of_element) : shape_(op.in[0]->shape, axis), each_(bytes_of_element) {
        for (const AvalRef a : op.in) widths_.push_back(byte_size(a->dtype));
    }
    std::int64_t scratch_bytes() const override { return checked_mul(each_thread(), workers()); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const double work = 20.0 * static_cast<double>(shape_.lines() * shape_.length);
        parallel_shares(work < kParallelWork ? 1 : workers(), shape_.lines(), 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            char* own = static_cast<char*>(scratch) + thread * each_thread();
            for (std::int64_t line = begin; line < end; ++line) sort_line(in, out, shape_.first(line), own);
        });
    }

protected:
    virtual void sort_line(void* const* in, void* const* out, std::int64_t first, char* scratch) const = 0;
    AxisShape shape_;
    std::vector<std::int64_t> widths_;

private:
    int workers() const { return static_cast<int>(std::clamp<std::int64_t>(shape_.lines(), 1, threads)); }
    std::int64_t each_thread() const { return checked_align(checked_mul(shape_.length, each_), 64); }
    std::int64_t each_;
};

template <class Bits>
class PackedSort final : public SortOfLines {
public:
    PackedSort(const Op& op, int axis, const Order<Bits>& order)
        : SortOfLines(op, axis, op.in.size() == 1 ? 2 * std::int64_t{sizeof(Bits)} : kPlacesBytes<Bits>), order_(order) {}

private:
    void sort_line(void* const* in, void* const* out, std::int64_t first, char* scratch) const override {
        const Bits* keys = static_cast<const Bits*>(in[0]) + first;
        if (widths_.size() == 1) return sort_numbers(keys, static_cast<Bits*>(out[0]) + first, scratch);
        order_by<Bits>(
            shape_.length, scratch, [&](std::int64_t i) { return order_.key(keys[i * shape_.inner]); },
            [&](const auto& which) { gather(widths_, in, out, shape_, first, which); });
    }
    /// Numbers that nothing follows, without their places: as keys where each has its own, else as they are.
    void sort_numbers(const Bits* in, Bits* out, char* scratch) const {
        const std::int64_t n = shape_.length;
        Bits* all = reinterpret_cast<Bits*>(scratch);
        Range<Bits> range;
        bool alone = true;
        for (std::int64_t i = 0; i < n; ++i) {
            const Bits b = in[i * shape_.inner];
            alone &= order_.alone(b);
            all[i] = order_.key(b);
            range.add(all[i]);
        }
        const auto from_least = [&](Bits key) { return static_cast<Bits>(key - range.least); };
        if (alone) {
            all = sort_by_key(all, all + n, n, range.width(), from_least);
            for (std::int64_t i = 0; i < n; ++i) out[i * shape_.inner] = order_.number(all[i]);
            return;
        }
        for (std::int64_t i = 0; i < n; ++i) all[i] = in[i * shape_.inner];
        all = sort_by_key(all, all + n, n, range.width(), [&](Bits b) { return from_least(order_.key(b)); });
        for (std::int64_t i = 0; i < n; ++i) out[i * shape_.inner] = all[i];
    }
    Order<Bits> order_;
};

/// By several keys: by the last one first, and by each of the others what came of that; every one of these sorts is stable.
class SeveralKeys final : public SortOfLines {
public:
    SeveralKeys(const Op& op, int axis, std::vector<AnyOrder> orders)
        : SortOfLines(op, axis, places_bytes(orders) + 2 * std::int64_t{sizeof(std::uint32_t)}), orders_(std::move(orders)) {}

private:
    static std::int64_t places_bytes(const std::vector<AnyOrder>& orders) {
        std::int64_t most = 0;
        for (const AnyOrder& o : orders) std::visit([&]<class Bits>(const Order<Bits>&) { most = std::max(most, kPlacesBytes<Bits>); }, o);
        return most;
    }
    void sort_line(void* const* in, void* const* out, std::int64_t first, char* scratch) const override {
        const std::int64_t n = shape_.length;
        auto* places = reinterpret_cast<std::uint32_t*>(scratch + places_bytes(orders_) * n);
        auto* next = places + n;
        for (std::int64_t i = 0; i < n; ++i) places[i] = static_cast<std::uint32_t>(i);
        for (std::size_t k = orders_.size(); k-- > 0;) {
            std::visit([&](const auto& order) { sort_by(order, in[k], first, scratch, places, next); }, orders_[k]);
            std::swap(places, next);
        }
        gather(widths_, in, out, shape_, first, [places](std::int64_t i) { return static_cast<std::int64_t>(places[i]); });
    }
    template <class Bits>
    void sort_by(const Order<Bits>& order, const void* key, std::int64_t first, char* scratch, const std::uint32_t* places,
                 std::uint32_t* next) const {
        const Bits* keys = static_cast<const Bits*>(key) + first;
        const std::int64_t n = shape_.length;
        order_by<Bits>(
            n, scratch, [&](std::int64_t i) { return order.key(keys[std::int64_t{places[i]} * shape_.inner]); },
            [&](const auto& which) {
                for (std::int64_t i = 0; i < n; ++i) next[i] = places[which(i)];
            });
    }
    std::vector<AnyOrder> orders_;
};

}  // namespace

LibraryCallPtr make_packed_sort(const Op& op, const SortKernel& spec) {
    if (op.in[0]->shape.at(static_cast<std::size_t>(spec.dimension)) > std::numeric_limits<std::uint32_t>::max()) return nullptr;
    for (const AvalRef a : op.in)
        if (const std::int64_t w = byte_size(a->dtype); w != 1 && w != 2 && w != 4 && w != 8 && w != 16) return nullptr;
    std::vector<AnyOrder> orders;
    for (std::size_t k = 0; k < static_cast<std::size_t>(spec.num_keys); ++k) {
        const std::optional<AnyOrder> order = order_of(op.in.at(k)->dtype);
        if (!order) return nullptr;
        orders.push_back(*order);
    }
    if (orders.size() > 1) return std::make_shared<SeveralKeys>(op, spec.dimension, std::move(orders));
    return std::visit(
        [&]<class Bits>(const Order<Bits>& order) -> LibraryCallPtr {
            return std::make_shared<PackedSort<Bits>>(op, spec.dimension, order);
        },
        orders.front());
}

}  // namespace jaxscope::exec
