// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/checked.h"
#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/threads/parallel.h"
#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

std::int64_t read_index(DType d, const void* base, std::int64_t i) {
    return load_element(d, static_cast<const std::byte*>(base) + i * byte_size(d)).integer;
}

// ---- dynamic_update_slice -------------------------------------------------------------------------------------------------------
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

// ---- scatter --------------------------------------------------------------------------------------------------------------------
using Kind = ScatterKernel::Kind;

template <class T>
T combine(Kind k, T a, T b) {
    switch (k) {
        case Kind::Set:
            return b;
        case Kind::Add:
            return static_cast<T>(a + b);
        case Kind::Mul:
            if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
            return static_cast<T>(a * b);
        case Kind::Min:
            return b != b || b < a ? b : a;
        case Kind::Max:
            return b != b || b > a ? b : a;
    }
    return a;
}
/// Of two complex numbers the one whose real part, then whose imaginary part, is smaller or larger; the second where neither is.
const Element& chosen(Kind k, const Element& a, const Element& b) {
    const bool same = a.number.real() == b.number.real();
    const double x = same ? a.number.imag() : a.number.real(), y = same ? b.number.imag() : b.number.real();
    return (k == Kind::Min ? x < y : x > y) ? a : b;
}
Element combine_elements(Kind k, DType d, const Element& a, const Element& b) {
    if (k == Kind::Set) return b;
    if (is_complex(d) && (k == Kind::Min || k == Kind::Max)) return chosen(k, a, b);
    if (is_complex(d)) return {0, k == Kind::Add ? a.number + b.number : a.number * b.number};
    if (is_float(d)) return {0, {combine(k, a.number.real(), b.number.real()), 0}};
    if (is_unsigned_int(d) || d == DType::Bool)
        return {static_cast<std::int64_t>(combine(k, static_cast<std::uint64_t>(a.integer), static_cast<std::uint64_t>(b.integer))), {}};
    return {k == Kind::Min || k == Kind::Max
                ? combine(k, a.integer, b.integer)
                : static_cast<std::int64_t>(combine(k, static_cast<std::uint64_t>(a.integer), static_cast<std::uint64_t>(b.integer))),
            {}};
}

/// A dimension of the operand of which an index says where the window begins.
struct Given {
    std::int64_t last, stride;
};
/// Adds to each offset what its index says; `inside` becomes 0 where that is outside of the operand.
template <class Index>
JAXSCOPE_INLINED void add_each_offset(const Index* index, std::int64_t depth, std::int64_t count, Given g, bool clip, std::int64_t* offset,
                                      std::int64_t* inside) {
    const std::int64_t most = clip ? std::max<std::int64_t>(g.last, 0) : std::numeric_limits<std::int64_t>::max();
    const std::int64_t least = clip ? 0 : std::numeric_limits<std::int64_t>::min();
    for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = std::clamp<std::int64_t>(index[r * depth], least, most);
        const std::int64_t fits = at >= 0 && at <= g.last ? 1 : 0;
        inside[r] &= fits;
        offset[r] += fits != 0 ? at * g.stride : 0;
    }
}
#define JAXSCOPE_ADD_OFFSETS(T)                                                                                                      \
    JAXSCOPE_WIDE void add_offsets(const T* index, std::int64_t depth, std::int64_t count, Given g, bool clip, std::int64_t* offset, \
                                   std::int64_t* inside) {                                                                           \
        add_each_offset(index, depth, count, g, clip, offset, inside);                                                               \
    }
JAXSCOPE_ADD_OFFSETS(std::int32_t)
JAXSCOPE_ADD_OFFSETS(std::uint32_t)
JAXSCOPE_ADD_OFFSETS(std::int64_t)
#undef JAXSCOPE_ADD_OFFSETS

/// Copies the places of windows that lie inside and begin in [first, last), and returns how many these are. Without a branch: which they
/// are may be random.
std::int64_t keep_between(std::int64_t count, const std::int64_t* __restrict inside, std::int64_t first, std::int64_t last,
                          const std::int64_t* __restrict operand, const std::int64_t* __restrict update,
                          std::int64_t* __restrict kept_operand, std::int64_t* __restrict kept_update) {
    std::int64_t kept = 0;
    const auto length = static_cast<std::uint64_t>(last - first);
    for (std::int64_t i = 0; i < count; ++i) {
        kept_operand[kept] = operand[i], kept_update[kept] = update[i];
        kept += inside[i] & static_cast<std::int64_t>(static_cast<std::uint64_t>(operand[i] - first) < length);
    }
    return kept;
}

/// Adds [begin, end) of each line of the updates to the operand's; the two are different memory.
template <class T>
JAXSCOPE_INLINED void add_each_line(T* __restrict target, const T* __restrict updates, const std::int64_t* operand,
                                    const std::int64_t* update, std::int64_t count, std::int64_t begin, std::int64_t end) {
    if (end - begin == 1) {
        for (std::int64_t w = 0; w < count; ++w) {
            T& a = target[operand[w] + begin];
            a = static_cast<T>(a + updates[update[w] + begin]);
        }
        return;
    }
    constexpr std::int64_t kAhead = 8;
    for (std::int64_t w = 0; w < count; ++w) {
        if (w + kAhead < count) __builtin_prefetch(target + operand[w + kAhead] + begin, 1);
        T* a = target + operand[w];
        const T* b = updates + update[w];
        for (std::int64_t i = begin; i < end; ++i) a[i] = static_cast<T>(a[i] + b[i]);
    }
}
#define JAXSCOPE_ADD_LINES(T)                                                                                                              \
    JAXSCOPE_WIDE void add_lines(T* target, const T* updates, const std::int64_t* operand, const std::int64_t* update, std::int64_t count, \
                                 std::int64_t begin, std::int64_t end) {                                                                   \
        add_each_line(target, updates, operand, update, count, begin, end);                                                                \
    }
JAXSCOPE_ADD_LINES(float)
JAXSCOPE_ADD_LINES(double)
JAXSCOPE_ADD_LINES(std::uint8_t)
JAXSCOPE_ADD_LINES(std::uint16_t)
JAXSCOPE_ADD_LINES(std::uint32_t)
JAXSCOPE_ADD_LINES(std::uint64_t)
#undef JAXSCOPE_ADD_LINES

/// target[index * stride] takes the next of the updates, for each index up to `last`; others are dropped, or brought to the nearest.
template <class T, class Index, class Combine>
void combine_each(T* __restrict target, const T* __restrict updates, const Index* __restrict index, std::int64_t count, Given g, bool clip,
                  const Combine& combined) {
    const std::int64_t most = clip ? std::max<std::int64_t>(g.last, 0) : std::numeric_limits<std::int64_t>::max();
    const std::int64_t least = clip ? 0 : std::numeric_limits<std::int64_t>::min();
    const auto last = static_cast<std::uint64_t>(g.last);
    for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = std::clamp<std::int64_t>(index[r], least, most);
        if (static_cast<std::uint64_t>(at) <= last) target[at * g.stride] = combined(target[at * g.stride], updates[r]);
    }
}

class ScatterCall final : public LibraryCall {
public:
    ScatterCall(const Op& op, const ScatterKernel& spec) : op_(op), spec_(spec) {
        const Dims &operand = op.in[0]->shape, &updates = op.in[2]->shape;
        strides_ = row_major_strides(operand);
        const Dims update_strides = row_major_strides(updates);
        const auto in = [](const std::vector<int>& v, std::size_t d) {
            return std::find(v.begin(), v.end(), static_cast<int>(d)) != v.end();
        };
        window_of_.assign(operand.size(), 1);
        std::size_t w = 0;
        for (std::size_t d = 0; d < operand.size(); ++d) {
            if (in(spec.inserted_window_dims, d) || in(spec.operand_batching_dims, d)) continue;
            const auto u = static_cast<std::size_t>(spec.update_window_dims.at(w++));
            window_of_[d] = updates[u];
            window_.push_back({updates[u], strides_[d], update_strides[u]});
        }
        for (std::size_t d = 0; d < updates.size(); ++d)
            if (!in(spec.update_window_dims, d)) rows_.push_back({updates[d], update_strides[d], 0});
        for (std::size_t i = 0; i < spec.operand_batching_dims.size(); ++i)
            rows_.at(static_cast<std::size_t>(spec.scatter_indices_batching_dims[i])).operand =
                strides_[static_cast<std::size_t>(spec.operand_batching_dims[i])];
        merge_rows();
        for (const auto d : spec.scatter_dims_to_operand_dims) {
            const auto k = static_cast<std::size_t>(d);
            given_.push_back({operand[k] - window_of_[k], strides_[k]});
        }
        for (std::size_t d = 0; d < operand.size(); ++d) room_ = room_ && window_of_[d] <= operand[d];
        for (std::size_t d = 0; d + 1 < window_.size(); ++d) lines_ = checked_mul(lines_, window_[d].size);
    }
    bool in_place(std::size_t in, std::size_t out) const override { return in == 0 && out == 0; }

    void run(void* const* in, void* const* out, void*) const override {
        if (in[0] != out[0]) std::memcpy(out[0], in[0], static_cast<std::size_t>(op_.in[0]->bytes()));
        if (op_.in[2]->size() == 0 || op_.in[0]->size() == 0) return;
        const DType d = op_.in[0]->dtype;
        const bool part_of_byte = d == DType::S2 || d == DType::U2 || d == DType::S4 || d == DType::U4;
        const bool modular = is_integer(d) && !part_of_byte && (spec_.kind == Kind::Add || spec_.kind == Kind::Mul);
        if (spec_.kind == Kind::Set || modular) return words(in, out);
        switch (d) {
            case DType::F32:
                return typed<float>(in, out);
            case DType::F64:
                return typed<double>(in, out);
            case DType::S32:
                return typed<std::int32_t>(in, out);
            case DType::U32:
                return typed<std::uint32_t>(in, out);
            default:
                return each(in, out);
        }
    }

private:
    struct WindowDim {
        std::int64_t size, operand, update;  ///< strides
    };
    struct RowDim {
        std::int64_t size, update, operand;  ///< strides; of the operand's where the two are one batching dimension, else 0
    };
    /// Dimensions of the updates that follow each other in memory are one.
    void merge_rows() {
        std::vector<RowDim> merged;
        for (const RowDim& d : rows_)
            if (!merged.empty() && merged.back().update == d.size * d.update && merged.back().operand == d.size * d.operand)
                merged.back() = {checked_mul(merged.back().size, d.size), d.update, d.operand};
            else
                merged.push_back(d);
        rows_ = std::move(merged);
    }

    /// Where the windows of some scatter rows begin, one after the other.
    struct Windows {
        static constexpr std::int64_t kMost = 256;
        std::int64_t count = 0;
        std::array<std::int64_t, kMost> operand, update;
    };
    /// Calls fn(windows) with those that begin in [first, last) of the operand, in order, but for those that are dropped.
    template <class Fn>
    void for_windows(const void* indices, std::int64_t first, std::int64_t last, Fn&& fn) const {
        if (!room_) return;
        std::int64_t rows = 1;
        for (const RowDim& d : rows_) rows *= d.size;
        Windows all, taken;
        std::array<std::int64_t, Windows::kMost> inside, widened;
        const bool everywhere = first == 0 && last == op_.in[0]->size();
        for (std::int64_t r = 0; r < rows; r += all.count) {
            all.count = std::min(Windows::kMost, rows - r);
            rows_from(r, all);
            add_given(indices, r, all, inside, widened);
            if (everywhere && std::accumulate(inside.begin(), inside.begin() + all.count, std::int64_t{0}) == all.count) {
                fn(all);
                continue;
            }
            taken.count = keep_between(all.count, inside.data(), first, last, all.operand.data(), all.update.data(), taken.operand.data(),
                                       taken.update.data());
            if (taken.count > 0) fn(taken);
        }
    }
    /// Where the updates of the rows from `first` on are, and where batching dimensions put their windows.
    void rows_from(std::int64_t first, Windows& windows) const {
        const auto count = static_cast<std::size_t>(windows.count);
        const std::size_t batched = spec_.operand_batching_dims.size();
        if (rows_.size() <= 1 && batched == 0) {
            const std::int64_t stride = rows_.empty() ? 0 : rows_[0].update;
            for (std::size_t r = 0; r < count; ++r) windows.update[r] = (first + static_cast<std::int64_t>(r)) * stride;
            std::fill_n(windows.operand.begin(), count, 0);
            return;
        }
        for (std::size_t r = 0; r < count; ++r) {
            std::int64_t rest = first + static_cast<std::int64_t>(r);
            windows.update[r] = windows.operand[r] = 0;
            for (std::size_t d = rows_.size(); d-- > 0;) {
                const std::int64_t at = rest % rows_[d].size;
                rest /= rows_[d].size;
                windows.update[r] += at * rows_[d].update, windows.operand[r] += at * rows_[d].operand;
            }
        }
    }
    /// Adds what the indices of the rows from `first` on say.
    void add_given(const void* indices, std::int64_t first, Windows& windows, std::array<std::int64_t, Windows::kMost>& inside,
                   std::array<std::int64_t, Windows::kMost>& widened) const {
        const std::int64_t depth = op_.in[1]->shape.empty() ? 1 : op_.in[1]->shape.back();
        std::fill_n(inside.begin(), windows.count, 1);
        for (std::size_t i = 0; i < given_.size(); ++i) {
            const std::int64_t at = first * depth + static_cast<std::int64_t>(i);
            const auto add = [&](const auto* index, std::int64_t stride) {
                add_offsets(index, stride, windows.count, given_[i], spec_.mode == OutOfBounds::Clip, windows.operand.data(),
                            inside.data());
            };
            switch (const DType d = op_.in[1]->dtype) {
                case DType::S32:
                    add(static_cast<const std::int32_t*>(indices) + at, depth);
                    break;
                case DType::U32:
                    add(static_cast<const std::uint32_t*>(indices) + at, depth);
                    break;
                case DType::S64:
                    add(static_cast<const std::int64_t*>(indices) + at, depth);
                    break;
                default: {
                    for (std::int64_t r = 0; r < windows.count; ++r)
                        widened[static_cast<std::size_t>(r)] = read_index(d, indices, at + r * depth);
                    add(widened.data(), std::int64_t{1});
                }
            }
        }
    }
    /// Calls fn(operand, update) with all elements of the windows but for their last dimension.
    template <class Fn>
    void for_lines(const Windows& windows, Fn&& fn) const {
        for (std::size_t w = 0; w < static_cast<std::size_t>(windows.count); ++w) window_lines(windows.operand[w], windows.update[w], fn);
    }
    template <class Fn>
    void window_lines(std::int64_t operand, std::int64_t update, Fn&& fn) const {
        for (std::int64_t l = 0; l < lines_; ++l) {
            std::int64_t rest = l, o = operand, u = update;
            for (std::size_t d = window_.size() - (window_.empty() ? 0 : 1); d-- > 0;) {
                o += rest % window_[d].size * window_[d].operand;
                u += rest % window_[d].size * window_[d].update;
                rest /= window_[d].size;
            }
            fn(o, u);
        }
    }

    /// Is a window one line that begins where another one begins, or apart from it? Then one thread can have all that begin in its part.
    bool whole_line_is_a_window() const {
        for (std::size_t d = 0; d + 1 < window_.size(); ++d)
            if (window_[d].size != 1) return false;
        if (window_.empty() || window_.back().size == 1) return true;
        // The line is taken whole: no index says where in it the window begins.
        return window_.back().operand == 1 && op_.in[0]->shape.back() == window_.back().size;
    }
    /// Windows of one element in the order of the updates, each from one index.
    bool single_elements() const {
        const DType d = op_.in[1]->dtype;
        return room_ && given_.size() == 1 && given_[0].last >= 0 && lines_ == 1 && (window_.empty() || window_.back().size == 1) &&
               spec_.operand_batching_dims.empty() && (rows_.empty() || (rows_.size() == 1 && rows_[0].update == 1)) &&
               (d == DType::S32 || d == DType::U32 || d == DType::S64);
    }
    template <class T>
    void elements(T* target, const T* updates, const void* indices) const {
        const std::int64_t count = rows_.empty() ? 1 : rows_[0].size;
        const bool clip = spec_.mode == OutOfBounds::Clip;
        const auto each_of = [&](const auto* index) {
            if (spec_.kind == Kind::Add)
                return combine_each(target, updates, index, count, given_[0], clip, [](T a, T b) { return static_cast<T>(a + b); });
            combine_each(target, updates, index, count, given_[0], clip, [&](T a, T b) { return combine(spec_.kind, a, b); });
        };
        switch (op_.in[1]->dtype) {
            case DType::S32:
                return each_of(static_cast<const std::int32_t*>(indices));
            case DType::U32:
                return each_of(static_cast<const std::uint32_t*>(indices));
            default:
                return each_of(static_cast<const std::int64_t*>(indices));
        }
    }
    template <class T>
    void typed(void* const* in, void* const* out) const {
        T* target = static_cast<T*>(out[0]);
        const T* updates = static_cast<const T*>(in[2]);
        const WindowDim line = window_.empty() ? WindowDim{1, 1, 1} : window_.back();
        if (single_elements()) return elements(target, updates, in[1]);
        // Threads share the columns of every window, or where these are few the operand's memory, one share each, as each walks all
        // windows: two updates of one element are never on two threads, and sums stay in order. A window of a few elements costs less than
        // finding out where it begins.
        const bool much = static_cast<double>(op_.in[2]->size()) >= kParallelWork, by_column = line.size >= 64;
        const bool by_memory = much && line.size >= 4 && !by_column && whole_line_is_a_window();
        const std::int64_t parts = !much ? 1 : by_column ? std::min<std::int64_t>(threads, line.size / 32) : by_memory ? threads : 1;
        const std::int64_t all = op_.in[0]->size();
        run_shares(threads, parts, [&](int, std::int64_t part) {
            const std::int64_t begin = by_column ? line.size * part / parts : 0,
                               end = by_column ? line.size * (part + 1) / parts : line.size;
            const std::int64_t first = by_memory ? all * part / parts : 0, last = by_memory ? all * (part + 1) / parts : all;
            for_windows(in[1], first, last, [&](const Windows& w) {
                if constexpr (!std::is_signed_v<T> || std::is_floating_point_v<T>)
                    if (lines_ == 1 && spec_.kind == Kind::Add && line.operand == 1 && line.update == 1)
                        return add_lines(target, updates, w.operand.data(), w.update.data(), w.count, begin, end);
                for_lines(w, [&](std::int64_t o, std::int64_t u) {
                    for (std::int64_t i = begin; i < end; ++i)
                        target[o + i * line.operand] = combine(spec_.kind, target[o + i * line.operand], updates[u + i * line.update]);
                });
            });
        });
    }
    /// Where values are moved, and for sums and products of integers modulo their width, of a type that alone counts.
    void words(void* const* in, void* const* out) const {
        switch (byte_size(op_.in[0]->dtype)) {
            case 1:
                return typed<std::uint8_t>(in, out);
            case 2:
                return typed<std::uint16_t>(in, out);
            case 4:
                return typed<std::uint32_t>(in, out);
            case 8:
                return typed<std::uint64_t>(in, out);
            default:
                return each(in, out);
        }
    }
    void each(void* const* in, void* const* out) const {
        const DType d = op_.in[0]->dtype;
        const std::int64_t width = byte_size(d);
        const WindowDim line = window_.empty() ? WindowDim{1, 1, 1} : window_.back();
        for_windows(in[1], 0, op_.in[0]->size(), [&](const Windows& w) {
            for_lines(w, [&](std::int64_t o, std::int64_t u) {
                for (std::int64_t i = 0; i < line.size; ++i) {
                    std::byte* a = static_cast<std::byte*>(out[0]) + (o + i * line.operand) * width;
                    const std::byte* b = static_cast<const std::byte*>(in[2]) + (u + i * line.update) * width;
                    if (spec_.kind == Kind::Set)
                        std::memcpy(a, b, static_cast<std::size_t>(width));
                    else
                        store_element(d, a, combine_elements(spec_.kind, d, load_element(d, a), load_element(d, b)));
                }
            });
        });
    }

    Op op_;
    ScatterKernel spec_;
    Dims strides_, window_of_;
    std::vector<WindowDim> window_;
    std::vector<RowDim> rows_;
    std::vector<Given> given_;
    std::int64_t lines_ = 1;  ///< of a window: its elements but for the last dimension
    bool room_ = true;        ///< no window is larger than the operand
};

}  // namespace

LibraryCallPtr make_dynamic_update_slice(const Op& op) { return std::make_shared<DynamicUpdateSliceCall>(op); }
LibraryCallPtr make_scatter(const Op& op, const ScatterKernel& spec) { return std::make_shared<ScatterCall>(op, spec); }

}  // namespace jaxscope::exec
