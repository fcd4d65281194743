// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/checked.h"
#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/scatter/scatter_rows.h"
#include "jit/kernels/scatter/window.h"
#include "jit/kernels/stored_types.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

using Kind = ScatterKernel::Kind;

/// Bytes that are only moved.
struct Sixteen {
    std::uint64_t low, high;
};

template <Kind kKind, class T>
T combined(T a, T b) {
    if constexpr (kKind == Kind::Set)
        return b;
    else if constexpr (kKind == Kind::Add)
        return static_cast<T>(a + b);
    else if constexpr (kKind == Kind::Mul && std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else if constexpr (kKind == Kind::Mul)
        return static_cast<T>(a * b);
    else if constexpr (kKind == Kind::Min)
        return b != b || b < a ? b : a;
    else
        return b != b || b > a ? b : a;
}
/// Of float16 the smaller or larger by their bits: widening both, and a branch that nobody can foretell, cost more.
template <Kind kKind, class T>
requires((kKind == Kind::Min || kKind == Kind::Max) && std::is_same_v<T, F16>) T combined(T a, T b) {
    const auto nan = [](T v) { return (v.bits & 0x7fff) > 0x7c00; };
    const auto place = [](T v) { return v.bits & 0x8000 ? -(v.bits & 0x7fff) : static_cast<int>(v.bits); };  // in the order of numbers
    const bool further = kKind == Kind::Max ? place(b) > place(a) : place(b) < place(a);
    const unsigned take = 0u - static_cast<unsigned>(nan(b) | (further & !nan(a)));
    a.bits = static_cast<std::uint16_t>(a.bits ^ ((a.bits ^ b.bits) & take));
    return a;
}
template <Kind kKind, class T>
std::complex<T> combined(std::complex<T> a, std::complex<T> b) {
    if constexpr (kKind == Kind::Set) return b;
    if constexpr (kKind == Kind::Add) return a + b;
    if constexpr (kKind == Kind::Mul) return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    // The one whose real part, then whose imaginary part, is smaller or larger; the second where neither is.
    const bool same = a.real() == b.real();
    const T x = same ? a.imag() : a.real(), y = same ? b.imag() : b.real();
    return (kKind == Kind::Min ? x < y : x > y) ? a : b;
}
/// Of a type that no kernel is made for: `d` isn't complex.
template <Kind kKind>
Element combined_elements(DType d, const Element& a, const Element& b) {
    if (is_float(d)) return {0, {combined<kKind>(a.number.real(), b.number.real()), 0}};
    if (is_unsigned_int(d) || d == DType::Bool || kKind == Kind::Add || kKind == Kind::Mul)
        return {static_cast<std::int64_t>(combined<kKind>(static_cast<std::uint64_t>(a.integer), static_cast<std::uint64_t>(b.integer))),
                {}};
    return {combined<kKind>(a.integer, b.integer), {}};
}
Element combined_elements(Kind k, DType d, const Element& a, const Element& b) {
    switch (k) {
        case Kind::Set:
            return b;
        case Kind::Add:
            return combined_elements<Kind::Add>(d, a, b);
        case Kind::Mul:
            return combined_elements<Kind::Mul>(d, a, b);
        case Kind::Min:
            return combined_elements<Kind::Min>(d, a, b);
        case Kind::Max:
            break;
    }
    return combined_elements<Kind::Max>(d, a, b);
}

std::int64_t read_index(DType d, const void* base, std::int64_t i) {
    return load_element(d, static_cast<const std::byte*>(base) + i * byte_size(d)).integer;
}

class ScatterCall final : public LibraryCall {
public:
    ScatterCall(const Op& op, const ScatterKernel& spec) : op_(op), spec_(spec) {
        const Dims &operand = op.in[0]->shape, &updates = op.in[2]->shape;
        const Dims update_strides = row_major_strides(updates);
        const auto in = [](const std::vector<int>& v, std::size_t d) {
            return std::find(v.begin(), v.end(), static_cast<int>(d)) != v.end();
        };
        const Window window = scattered_window(op, spec);
        window_ = joined(window.dims);
        for (std::size_t d = 0; d < updates.size(); ++d)
            if (!in(spec.update_window_dims, d)) rows_.push_back({updates[d], 0, update_strides[d]});
        for (std::size_t i = 0; i < spec.operand_batching_dims.size(); ++i)
            rows_.at(static_cast<std::size_t>(spec.scatter_indices_batching_dims[i])).operand =
                window.strides[static_cast<std::size_t>(spec.operand_batching_dims[i])];
        take_leading_batch(operand);
        rows_ = joined(rows_);
        for (const auto d : spec.scatter_dims_to_operand_dims) {
            const auto k = static_cast<std::size_t>(d);
            given_.push_back({window.last[k], window.strides[k]});
        }
        for (const std::int64_t last : window.last) room_ = room_ && last >= 0;
        for (std::size_t d = 0; d + 1 < window_.size(); ++d) lines_ = checked_mul(lines_, window_[d].size);
    }
    bool in_place(std::size_t in, std::size_t out) const override { return in == 0 && out == 0; }

    void run(void* const* in, void* const* out, void*) const override {
        if (in[0] != out[0]) std::memcpy(out[0], in[0], static_cast<std::size_t>(op_.in[0]->bytes()));
        if (op_.in[2]->size() == 0 || op_.in[0]->size() == 0) return;
        const Part all{static_cast<std::byte*>(out[0]), static_cast<const std::byte*>(in[2]), static_cast<const std::byte*>(in[1]),
                       batches_, batches_ == 1 ? threads : 1};
        if (batches_ == 1) return into(all);
        const bool much = static_cast<double>(op_.in[2]->size()) >= kParallelWork;
        parallel_shares(much ? threads : 1, batches_, 1,
                        [&](int, std::int64_t begin, std::int64_t end) { into(batches_of(all, begin, end - begin)); });
    }

private:
    /// The operand, the updates and the indices of some batches, and how many threads may share the work of one.
    struct Part {
        std::byte* target;
        const std::byte *updates, *indices;
        std::int64_t batches;
        int threads;
    };
    Part batches_of(const Part& p, std::int64_t first, std::int64_t count) const {
        const std::int64_t width = byte_size(op_.in[0]->dtype), of_updates = op_.in[2]->size() / batches_ * width,
                           of_indices = op_.in[1]->size() / batches_ * byte_size(op_.in[1]->dtype);
        return {p.target + first * operand_size_ * width, p.updates + first * of_updates, p.indices + first * of_indices, count, p.threads};
    }
    void into(const Part& part) const {
        const DType d = op_.in[0]->dtype;
        const bool part_of_byte = d == DType::S2 || d == DType::U2 || d == DType::S4 || d == DType::U4;
        const bool modular = is_integer(d) && !part_of_byte && (spec_.kind == Kind::Add || spec_.kind == Kind::Mul);
        if (spec_.kind == Kind::Set || modular) return words(part);
        if (d == DType::C64) return typed<std::complex<float>>(part);
        if (d == DType::C128) return typed<std::complex<double>>(part);
        const bool done = with_stored_type(d == DType::Bool ? DType::U8 : d, [&]<class T>(T) {
            if constexpr (std::is_integral_v<T> && sizeof(T) < 4)
                extremes<T>(part);
            else
                typed<T>(part);
        });
        if (!done) each(part);
    }
    /// Of types whose sums and products are words'.
    template <class T>
    void extremes(const Part& part) const {
        if (spec_.kind == Kind::Min) return of_kind<Kind::Min, T>(part);
        if (spec_.kind == Kind::Max) return of_kind<Kind::Max, T>(part);
        each(part);
    }
    /// Batching dimensions that come first everywhere: as many scatters, one after the other or side by side.
    void take_leading_batch(const Dims& operand) {
        const std::size_t count = spec_.operand_batching_dims.size();
        operand_size_ = op_.in[0]->size();
        batched_ = count > 0;
        for (std::size_t d = 0; d < count; ++d) {
            const int want = static_cast<int>(d);
            const bool window =
                std::find(spec_.update_window_dims.begin(), spec_.update_window_dims.end(), want) != spec_.update_window_dims.end();
            if (spec_.operand_batching_dims[d] != want || spec_.scatter_indices_batching_dims[d] != want || window) return;
        }
        if (count == 0 || operand_size_ == 0 || op_.in[2]->size() == 0) return;
        for (std::size_t d = 0; d < count; ++d) batches_ *= operand[d];
        operand_size_ /= batches_;
        rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(count));
        batched_ = false;
    }
    /// Dimensions that follow each other in memory of both are one.
    static std::vector<WindowDim> joined(const std::vector<WindowDim>& dims) {
        std::vector<WindowDim> out;
        for (const WindowDim& d : dims)
            if (!out.empty() && out.back().operand == d.size * d.operand && out.back().update == d.size * d.update)
                out.back() = {checked_mul(out.back().size, d.size), d.operand, d.update};
            else
                out.push_back(d);
        return out;
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
        for (const WindowDim& d : rows_) rows *= d.size;
        Windows all, taken;
        std::array<std::int64_t, Windows::kMost> inside, widened;
        const bool everywhere = first == 0 && last == operand_size_;
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
        if (rows_.size() <= 1 && !batched_) {
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
        // The last dimensions are taken whole: no index says where in them the window begins.
        const Dims& operand = op_.in[0]->shape;
        std::int64_t line = 1;
        for (std::size_t d = operand.size(); d > 0 && line < window_.back().size;) line *= operand[--d];
        return window_.back().operand == 1 && line == window_.back().size;
    }
    /// Windows of one line each, in the order of the updates, from one index or two 32-bit ones.
    bool plain_rows() const {
        const DType d = op_.in[1]->dtype;
        const bool line = window_.empty() || (window_.back().operand == 1 && window_.back().update == 1) || window_.back().size == 1;
        const std::int64_t width = window_.empty() ? 1 : window_.back().size;
        if (!room_ || lines_ != 1 || !line || batched_) return false;
        if (!rows_.empty() && (rows_.size() != 1 || rows_[0].update != width)) return false;
        return d == DType::S32 ? given_.size() == 1 || given_.size() == 2 : given_.size() == 1 && (d == DType::U32 || d == DType::S64);
    }
    /// `width` of target, from where kDims indices say, take the next ones of the updates; those of windows outside are dropped, or brought
    /// inside.
    template <Kind kKind, std::size_t kDims, class T, class Index>
    void combine_rows(T* __restrict target, const T* __restrict updates, const Index* __restrict index, std::int64_t width,
                      std::int64_t batches) const {
        const std::int64_t count = rows_.empty() ? 1 : rows_[0].size;
        const bool clip = spec_.mode == OutOfBounds::Clip;
        std::array<Given, kDims> given;
        std::copy_n(given_.begin(), kDims, given.begin());
        const auto rows_of_batch = [&](const auto& combine_row) {
            for (std::int64_t r = 0; r < count; ++r) {
                std::int64_t offset = 0;
                bool inside = true;
                for (std::size_t d = 0; d < kDims; ++d) {
                    std::int64_t at = index[r * std::ssize(given) + static_cast<std::int64_t>(d)];
                    if (clip) at = std::clamp<std::int64_t>(at, 0, given[d].last);
                    inside = inside && static_cast<std::uint64_t>(at) <= static_cast<std::uint64_t>(given[d].last);
                    offset += inside ? at * given[d].stride : 0;
                }
                if (inside) combine_row(target + offset, updates + r * width);
            }
        };
        const auto rows = [&](const auto& combine_row) {
            for (std::int64_t b = 0; b < batches; ++b) {
                rows_of_batch(combine_row);
                target += operand_size_, updates += count * width, index += count * std::ssize(given);
            }
        };
        // Of a length that the compiler knows, a row is a few instructions; a loop over two or three costs twice as much.
        const auto rows_of = [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>) {
            rows([](T* __restrict a, const T* __restrict b) {
                for (std::size_t i = 0; i < kWidth; ++i) a[i] = combined<kKind>(a[i], b[i]);
            });
        };
        if (width == 1) return rows_of(std::integral_constant<std::size_t, 1>{});
        if constexpr (kKind == Kind::Set || kKind == Kind::Add) {
            if (width == 2) return rows_of(std::integral_constant<std::size_t, 2>{});
            if (width == 3) return rows_of(std::integral_constant<std::size_t, 3>{});
            if (width == 4) return rows_of(std::integral_constant<std::size_t, 4>{});
        }
        rows([width](T* __restrict a, const T* __restrict b) {
            for (std::int64_t i = 0; i < width; ++i) a[i] = combined<kKind>(a[i], b[i]);
        });
    }
    template <Kind kKind, class T>
    void short_rows(const Part& part, std::int64_t width) const {
        T* target = reinterpret_cast<T*>(part.target);
        const T* updates = reinterpret_cast<const T*>(part.updates);
        const auto with = [&]<std::size_t kDims, class Index>(const Index* index) {
            combine_rows<kKind, kDims>(target, updates, index, width, part.batches);
        };
        switch (op_.in[1]->dtype) {
            case DType::S32: {
                const auto* narrow = reinterpret_cast<const std::int32_t*>(part.indices);
                return given_.size() == 1 ? with.template operator()<1>(narrow) : with.template operator()<2>(narrow);
            }
            case DType::U32:
                return with.template operator()<1>(reinterpret_cast<const std::uint32_t*>(part.indices));
            default:
                return with.template operator()<1>(reinterpret_cast<const std::int64_t*>(part.indices));
        }
    }
    template <class T>
    void typed(const Part& part) const {
        switch (spec_.kind) {
            case Kind::Set:
                return of_kind<Kind::Set, T>(part);
            case Kind::Add:
                return of_kind<Kind::Add, T>(part);
            case Kind::Mul:
                return of_kind<Kind::Mul, T>(part);
            case Kind::Min:
                return of_kind<Kind::Min, T>(part);
            case Kind::Max:
                return of_kind<Kind::Max, T>(part);
        }
    }
    template <Kind kKind, class T>
    void of_kind(const Part& part) const {
        const WindowDim line = window_.empty() ? WindowDim{1, 1, 1} : window_.back();
        // A window of a cache line costs less than finding out whose it is.
        if (line.size * static_cast<std::int64_t>(sizeof(T)) <= 64 && plain_rows()) return short_rows<kKind, T>(part, line.size);
        for (std::int64_t b = 0; b < part.batches; ++b) long_rows<kKind, T>(batches_of(part, b, 1), line);
    }
    template <Kind kKind, class T>
    void long_rows(const Part& part, const WindowDim& line) const {
        T* target = reinterpret_cast<T*>(part.target);
        const T* updates = reinterpret_cast<const T*>(part.updates);
        // Threads share the columns of every window, or where these are few the operand's memory, one share each, as each walks all
        // windows: two updates of one element are never on two threads, and sums stay in order.
        const std::int64_t of_one = op_.in[2]->size() / batches_;
        const bool much = static_cast<double>(of_one) >= kParallelWork, by_column = line.size >= 64;
        const bool by_memory = much && line.size >= 4 && !by_column && whole_line_is_a_window();
        const std::int64_t parts = !much       ? 1
                                   : by_column ? std::min<std::int64_t>(part.threads, line.size / 32)
                                   : by_memory ? part.threads
                                               : 1;
        const std::int64_t all = operand_size_;
        run_shares(part.threads, parts, [&](int, std::int64_t share) {
            const std::int64_t begin = by_column ? line.size * share / parts : 0,
                               end = by_column ? line.size * (share + 1) / parts : line.size;
            const std::int64_t first = by_memory ? all * share / parts : 0, last = by_memory ? all * (share + 1) / parts : all;
            for_windows(part.indices, first, last, [&](const Windows& w) {
                if constexpr (kKind == Kind::Add && !(std::is_integral_v<T> && std::is_signed_v<T>))
                    if (lines_ == 1 && line.operand == 1 && line.update == 1)
                        return add_lines(target, updates, w.operand.data(), w.update.data(), w.count, begin, end);
                for_lines(w, [&](std::int64_t o, std::int64_t u) {
                    for (std::int64_t i = begin; i < end; ++i)
                        target[o + i * line.operand] = combined<kKind>(target[o + i * line.operand], updates[u + i * line.update]);
                });
            });
        });
    }
    /// Where values are moved, and for sums and products of integers modulo their width, of a type that alone counts.
    void words(const Part& part) const {
        switch (byte_size(op_.in[0]->dtype)) {
            case 1:
                return typed<std::uint8_t>(part);
            case 2:
                return typed<std::uint16_t>(part);
            case 4:
                return typed<std::uint32_t>(part);
            case 8:
                return typed<std::uint64_t>(part);
            case sizeof(Sixteen):  // complex numbers have their own sums
                return of_kind<Kind::Set, Sixteen>(part);
            default:
                return each(part);
        }
    }
    void each(const Part& all) const {
        for (std::int64_t b = 0; b < all.batches; ++b) each_of(batches_of(all, b, 1));
    }
    void each_of(const Part& part) const {
        const DType d = op_.in[0]->dtype;
        const std::int64_t width = byte_size(d);
        const WindowDim line = window_.empty() ? WindowDim{1, 1, 1} : window_.back();
        for_windows(part.indices, 0, operand_size_, [&](const Windows& w) {
            for_lines(w, [&](std::int64_t o, std::int64_t u) {
                for (std::int64_t i = 0; i < line.size; ++i) {
                    std::byte* a = part.target + (o + i * line.operand) * width;
                    const std::byte* b = part.updates + (u + i * line.update) * width;
                    if (spec_.kind == Kind::Set)
                        std::memcpy(a, b, static_cast<std::size_t>(width));
                    else
                        store_element(d, a, combined_elements(spec_.kind, d, load_element(d, a), load_element(d, b)));
                }
            });
        });
    }

    Op op_;
    ScatterKernel spec_;
    std::vector<WindowDim> window_;
    std::vector<WindowDim>
        rows_;  ///< of the updates, that aren't the window's; the operand's stride where the two are one batching dimension, else 0
    std::vector<Given> given_;
    std::int64_t batches_ = 1, operand_size_ = 0;  ///< leading batching dimensions, and elements of the operand in each
    bool batched_ = true;                          ///< there are batching dimensions that don't come first
    std::int64_t lines_ = 1;                       ///< of a window: its elements but for the last dimension
    bool room_ = true;                             ///< no window is larger than the operand
};

}  // namespace

LibraryCallPtr make_scatter(const Op& op, const ScatterKernel& spec) { return std::make_shared<ScatterCall>(op, spec); }

}  // namespace jaxscope::exec
