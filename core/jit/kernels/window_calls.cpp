// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/threads/parallel.h"

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
            if (!in(spec.update_window_dims, d)) rows_.push_back({updates[d], update_strides[d]});
        for (const auto d : spec.scatter_dims_to_operand_dims) {
            const auto k = static_cast<std::size_t>(d);
            given_.push_back({operand[k] - window_of_[k], strides_[k]});
        }
        for (std::size_t d = 0; d < operand.size(); ++d) room_ = room_ && window_of_[d] <= operand[d];
    }
    bool in_place(std::size_t in, std::size_t out) const override { return in == 0 && out == 0; }

    void run(void* const* in, void* const* out, void*) const override {
        if (in[0] != out[0]) std::memcpy(out[0], in[0], static_cast<std::size_t>(op_.in[0]->bytes()));
        if (op_.in[2]->size() == 0 || op_.in[0]->size() == 0) return;
        switch (op_.in[0]->dtype) {
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
        std::int64_t size, update;
    };
    /// A dimension of the operand of which an index says where the window begins.
    struct Given {
        std::int64_t last, stride;
    };

    /// Calls fn(operand, update) with where the window of each scatter row begins in both, but for those that are dropped.
    template <class Fn>
    void for_windows(const void* indices, Fn&& fn) const {
        if (op_.in[1]->dtype == DType::S32)
            walk([at = static_cast<const std::int32_t*>(indices)](std::int64_t i) { return std::int64_t{at[i]}; }, fn);
        else
            walk([indices, d = op_.in[1]->dtype](std::int64_t i) { return read_index(d, indices, i); }, fn);
    }
    template <class Index, class Fn>
    void walk(const Index& index, Fn&& fn) const {
        std::int64_t rows = 1;
        for (const RowDim& d : rows_) rows *= d.size;
        const std::int64_t depth = op_.in[1]->shape.empty() ? 1 : op_.in[1]->shape.back();
        const std::size_t given = spec_.scatter_dims_to_operand_dims.size(), batched = spec_.operand_batching_dims.size();
        std::vector<std::int64_t> position(rows_.size(), 0);
        std::int64_t update = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            std::int64_t operand = 0;
            bool inside = true;
            for (std::size_t i = 0; i < given; ++i) {
                const Given& g = given_[i];
                std::int64_t at = index(r * depth + static_cast<std::int64_t>(i));
                if (spec_.mode == OutOfBounds::Clip) at = std::clamp<std::int64_t>(at, 0, std::max<std::int64_t>(g.last, 0));
                inside = inside && at >= 0 && at <= g.last;
                operand += inside ? at * g.stride : 0;
            }
            for (std::size_t i = 0; i < batched && inside; ++i)
                operand += position[static_cast<std::size_t>(spec_.scatter_indices_batching_dims[i])] *
                           strides_[static_cast<std::size_t>(spec_.operand_batching_dims[i])];
            if (inside && room_) fn(operand, update);
            for (std::size_t d = rows_.size(); d-- > 0;) {  // the next row
                update += rows_[d].update;
                if (++position[d] < rows_[d].size) break;
                update -= rows_[d].size * rows_[d].update;
                position[d] = 0;
            }
        }
    }
    /// All elements of a window but for its last dimension.
    template <class Fn>
    void for_lines(std::int64_t operand, std::int64_t update, Fn&& fn) const {
        std::int64_t lines = 1;
        for (std::size_t d = 0; d + 1 < window_.size(); ++d) lines *= window_[d].size;
        for (std::int64_t l = 0; l < lines; ++l) {
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
    template <class T>
    void typed(void* const* in, void* const* out) const {
        T* target = static_cast<T*>(out[0]);
        const T* updates = static_cast<const T*>(in[2]);
        const WindowDim line = window_.empty() ? WindowDim{1, 1, 1} : window_.back();
        // Threads share the columns of every window, or where these are few the operand's memory, one share each, as each walks all
        // windows: two updates of one element are never on two threads, and sums stay in order.
        const bool much = static_cast<double>(op_.in[2]->size()) >= kParallelWork, by_column = line.size >= 64;
        const bool by_memory = much && !by_column && whole_line_is_a_window();
        const std::int64_t parts = !much ? 1 : by_column ? std::min<std::int64_t>(threads, line.size / 32) : by_memory ? threads : 1;
        const std::int64_t all = op_.in[0]->size();
        run_shares(threads, parts, [&](int, std::int64_t part) {
            const std::int64_t begin = by_column ? line.size * part / parts : 0,
                               end = by_column ? line.size * (part + 1) / parts : line.size;
            const std::int64_t first = by_memory ? all * part / parts : 0, last = by_memory ? all * (part + 1) / parts : all;
            for_windows(in[1], [&](std::int64_t operand, std::int64_t update) {
                if (by_memory && (operand < first || operand >= last)) return;
                for_lines(operand, update, [&](std::int64_t o, std::int64_t u) {
                    T* a = target + o;
                    const T* b = updates + u;
                    if (spec_.kind == Kind::Add && line.operand == 1 && line.update == 1)
                        for (std::int64_t i = begin; i < end; ++i) a[i] = static_cast<T>(a[i] + b[i]);
                    else
                        for (std::int64_t i = begin; i < end; ++i)
                            a[i * line.operand] = combine(spec_.kind, a[i * line.operand], b[i * line.update]);
                });
            });
        });
    }
    void each(void* const* in, void* const* out) const {
        const DType d = op_.in[0]->dtype;
        const std::int64_t width = byte_size(d);
        const WindowDim line = window_.empty() ? WindowDim{1, 1, 1} : window_.back();
        for_windows(in[1], [&](std::int64_t operand, std::int64_t update) {
            for_lines(operand, update, [&](std::int64_t o, std::int64_t u) {
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
    bool room_ = true;  ///< no window is larger than the operand
};

}  // namespace

LibraryCallPtr make_dynamic_update_slice(const Op& op) { return std::make_shared<DynamicUpdateSliceCall>(op); }
LibraryCallPtr make_scatter(const Op& op, const ScatterKernel& spec) { return std::make_shared<ScatterCall>(op, spec); }

}  // namespace jaxscope::exec
