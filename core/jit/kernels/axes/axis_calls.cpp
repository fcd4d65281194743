// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "ir/types/element.h"
#include "jit/kernels/axes/along_axis.h"
#include "jit/kernels/axes/axis_shape.h"
#include "jit/kernels/axes/packed_sort.h"
#include "jit/kernels/library.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

Element element_at(DType d, const void* base, std::int64_t i) {
    return load_element(d, static_cast<const std::byte*>(base) + i * byte_size(d));
}
void put_element(DType d, void* base, std::int64_t i, const Element& e) {
    store_element(d, static_cast<std::byte*>(base) + i * byte_size(d), e);
}

/// The order of lax.sort: -0 equals 0, NaN last, complex numbers by real then imaginary part. The only NaN of some types is negative, and
/// first.
bool is_nan_first(DType d) { return d == DType::F8E4M3B11FNUZ || d == DType::F8E4M3FNUZ || d == DType::F8E5M2FNUZ; }
int compare_floats(double a, double b, bool nan_first = false) {
    const bool na = std::isnan(a), nb = std::isnan(b);
    if (na || nb) return (static_cast<int>(na) - static_cast<int>(nb)) * (nan_first ? -1 : 1);
    return a < b ? -1 : a > b ? 1 : 0;
}
int compare(DType d, const Element& a, const Element& b) {
    if (is_complex(d)) {
        const int re = compare_floats(a.number.real(), b.number.real());
        return re ? re : compare_floats(a.number.imag(), b.number.imag());
    }
    if (is_float(d)) return compare_floats(a.number.real(), b.number.real(), is_nan_first(d));
    if (is_unsigned_int(d)) {
        const auto x = static_cast<std::uint64_t>(a.integer), y = static_cast<std::uint64_t>(b.integer);
        return x < y ? -1 : x > y ? 1 : 0;
    }
    return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
}

/// XLA takes what isn't normal in float32 and bfloat16 for 0 before it compares; elements here are doubles.
Element flushed(DType d, Element e) {
    if ((d == DType::F32 || d == DType::BF16) && std::abs(e.number.real()) < std::numeric_limits<float>::min()) e.number = 0;
    return e;
}

class SortCall final : public LibraryCall {
public:
    SortCall(const Op& op, const SortKernel& spec) : op_(op), spec_(spec), shape_(op.in[0]->shape, spec.dimension) {}
    void run(void* const* in, void* const* out, void*) const override {
        const double work = 20.0 * static_cast<double>(op_.in[0]->size());
        parallel_for(threads, shape_.lines(), work, [&](std::int64_t begin, std::int64_t end) {
            std::vector<std::int64_t> order(static_cast<std::size_t>(shape_.length));
            std::vector<std::vector<Element>> keys(static_cast<std::size_t>(spec_.num_keys));
            for (std::int64_t line = begin; line < end; ++line) sort_line(in, out, line, order, keys);
        });
    }

private:
    void sort_line(void* const* in, void* const* out, std::int64_t line, std::vector<std::int64_t>& order,
                   std::vector<std::vector<Element>>& keys) const {
        const std::int64_t first = shape_.first(line);
        for (std::size_t k = 0; k < keys.size(); ++k) {
            keys[k].clear();
            for (std::int64_t i = 0; i < shape_.length; ++i)
                keys[k].push_back(flushed(op_.in[k]->dtype, element_at(op_.in[k]->dtype, in[k], first + i * shape_.inner)));
        }
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            for (std::size_t k = 0; k < keys.size(); ++k)
                if (const int c = compare(op_.in[k]->dtype, keys[k][static_cast<std::size_t>(a)], keys[k][static_cast<std::size_t>(b)]))
                    return c < 0;
            return false;
        });
        for (std::size_t o = 0; o < op_.in.size(); ++o) {
            const std::int64_t width = byte_size(op_.in[o]->dtype);
            for (std::int64_t i = 0; i < shape_.length; ++i)
                std::memcpy(static_cast<char*>(out[o]) + (first + i * shape_.inner) * width,
                            static_cast<const char*>(in[o]) + (first + order[static_cast<std::size_t>(i)] * shape_.inner) * width,
                            static_cast<std::size_t>(width));
        }
    }
    Op op_;
    SortKernel spec_;
    AxisShape shape_;
};

double logaddexp(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    const double m = std::max(a, b);
    if (std::isinf(m)) return m;
    return m + std::log1p(std::exp(std::min(a, b) - m));
}

/// Is `a` chosen of two complex numbers? By real parts, then by imaginary ones.
bool ahead(ReduceKind kind, std::complex<double> a, std::complex<double> b) {
    const bool same = a.real() == b.real();
    const double x = same ? a.imag() : a.real(), y = same ? b.imag() : b.real();
    return kind == ReduceKind::Max ? x > y : x < y;
}

Element combine(const CumulativeKernel& k, DType d, const Element& a, const Element& b) {
    if (is_complex(d)) {
        if (k.kind == ReduceKind::Max || k.kind == ReduceKind::Min) return ahead(k.kind, a.number, b.number) ? a : b;
        return {0, k.kind == ReduceKind::Prod ? a.number * b.number : a.number + b.number};
    }
    if (is_float(d)) {
        const double x = a.number.real(), y = b.number.real();
        if (k.logsumexp) return {0, {logaddexp(x, y), 0}};
        switch (k.kind) {
            case ReduceKind::Prod:
                return {0, {x * y, 0}};
            case ReduceKind::Max:
                return {0, {std::isnan(x) || x > y ? x : y, 0}};
            case ReduceKind::Min:
                return {0, {std::isnan(x) || x < y ? x : y, 0}};
            default:
                return {0, {x + y, 0}};
        }
    }
    const auto x = static_cast<std::uint64_t>(a.integer), y = static_cast<std::uint64_t>(b.integer);
    const bool less = is_unsigned_int(d) || d == DType::Bool ? x < y : a.integer < b.integer;
    switch (k.kind) {
        case ReduceKind::Prod:
            return {static_cast<std::int64_t>(x * y), {}};
        case ReduceKind::Max:
            return less ? b : a;
        case ReduceKind::Min:
            return less ? a : b;
        case ReduceKind::And:
            return {a.integer & b.integer, {}};
        case ReduceKind::Or:
            return {a.integer | b.integer, {}};
        case ReduceKind::Xor:
            return {a.integer ^ b.integer, {}};
        default:
            return {d == DType::Bool ? (a.integer | b.integer) : static_cast<std::int64_t>(x + y), {}};
    }
}

/// What is typed runs over blocks of neighbouring lines, `most` at once: calls fn(first element, how many lines, number of the first line).
template <class Fn>
void for_blocks(int threads, const AxisShape& shape, std::int64_t most, double work, const Fn& fn) {
    constexpr std::int64_t kFewColumns = 64, kTasks = 4;  // whole cache lines; enough of them for each thread
    const std::int64_t share = shape.outer * shape.inner / (kTasks * threads) / kFewColumns * kFewColumns;
    const std::int64_t columns = std::clamp(share, kFewColumns, most), blocks = (shape.inner + columns - 1) / columns;
    parallel_for(threads, shape.outer * blocks, work, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t outer = i / blocks, column = i % blocks * columns, width = std::min(columns, shape.inner - column);
            fn(outer * shape.length * shape.inner + column, width, outer * shape.inner + column);
        }
    });
}

/// Sums run in f64 (and integers modulo 2^32 or 2^64), rounded at each element that is stored.
class CumulativeCall final : public LibraryCall {
public:
    CumulativeCall(const Op& op, const CumulativeKernel& spec) : op_(op), spec_(spec), shape_(op.in[0]->shape, spec.axis) {
        const ReduceKind k = spec.kind;
        typed_ = !spec.logsumexp && (k == ReduceKind::Sum || k == ReduceKind::Prod || k == ReduceKind::Max || k == ReduceKind::Min);
    }
    bool in_place(std::size_t, std::size_t) const override { return true; }
    void run(void* const* in, void* const* out, void*) const override {
        const DType d = op_.in[0]->dtype;
        if (shape_.length == 0) return;
        if (typed_ && with_stored_type(d, [&](auto t) { typed<decltype(t)>(in, out); })) return;
        parallel_for(threads, shape_.lines(), 8.0 * static_cast<double>(op_.in[0]->size()), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t line = begin; line < end; ++line) {
                const std::int64_t first = shape_.first(line);
                Element sum{};
                for (std::int64_t i = 0; i < shape_.length; ++i) {
                    const std::int64_t at = first + (spec_.reverse ? shape_.length - 1 - i : i) * shape_.inner;
                    const Element e = element_at(d, in[0], at);
                    sum = i ? combine(spec_, d, sum, e) : e;
                    put_element(d, out[0], at, sum);
                }
            }
        });
    }

private:
    template <class T>
    void typed(void* const* in, void* const* out) const {
        const std::int64_t start = spec_.reverse ? (shape_.length - 1) * shape_.inner : 0,
                           stride = spec_.reverse ? -shape_.inner : shape_.inner;
        for_blocks(threads, shape_, kColumns, 2.0 * static_cast<double>(op_.in[0]->size()),
                   [&](std::int64_t first, std::int64_t width, std::int64_t) {
                       cumulate(spec_.kind, {shape_.length, stride, width}, static_cast<const T*>(in[0]) + first + start,
                                static_cast<T*>(out[0]) + first + start);
                   });
    }
    Op op_;
    CumulativeKernel spec_;
    AxisShape shape_;
    bool typed_ = false;
};

/// Position of the first largest or smallest element along one axis; the first NaN wins.
class ArgReduceCall final : public LibraryCall {
public:
    ArgReduceCall(const Op& op, const ReduceKernel& spec)
        : op_(op), max_(spec.kind == ReduceKind::ArgMax), shape_(op.in[0]->shape, spec.axes.at(0)) {}
    void run(void* const* in, void* const* out, void*) const override {
        const DType d = op_.in[0]->dtype == DType::Bool ? DType::U8 : op_.in[0]->dtype;  // stored as 0 and 1
        const bool short_enough = shape_.length < std::numeric_limits<std::int32_t>::max();
        if (short_enough && with_stored_type(d, [&](auto t) { typed<decltype(t)>(in, out); })) return;
        parallel_for(threads, shape_.lines(), static_cast<double>(op_.in[0]->size()), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t line = begin; line < end; ++line) {
                const std::int64_t first = shape_.first(line);
                put(out, line, position(in[0], first));
            }
        });
    }

private:
    template <class T>
    void typed(void* const* in, void* const* out) const {
        for_blocks(threads, shape_, kExtremeColumns, static_cast<double>(op_.in[0]->size()),
                   [&](std::int64_t first, std::int64_t width, std::int64_t line) {
                       std::int64_t rows[kExtremeColumns];
                       find_extreme(max_, {shape_.length, shape_.inner, width}, static_cast<const T*>(in[0]) + first, rows);
                       if (op_.out[0]->dtype == DType::S32)
                           std::copy_n(rows, width, static_cast<std::int32_t*>(out[0]) + line);
                       else if (op_.out[0]->dtype == DType::S64)
                           std::copy_n(rows, width, static_cast<std::int64_t*>(out[0]) + line);
                       else
                           for (std::int64_t c = 0; c < width; ++c) put(out, line + c, rows[c]);
                   });
    }
    void put(void* const* out, std::int64_t line, std::int64_t at) const {
        const DType d = op_.out[0]->dtype;
        put_element(d, out[0], line, is_inexact(d) ? Element{0, {static_cast<double>(at), 0}} : Element{at, {}});
    }
    std::int64_t position(const void* base, std::int64_t first) const {
        const DType d = op_.in[0]->dtype;
        std::int64_t at = 0;
        Element best = element_at(d, base, first);
        for (std::int64_t i = 1; i < shape_.length && !(is_float(d) && std::isnan(best.number.real())); ++i) {
            const Element e = element_at(d, base, first + i * shape_.inner);
            const bool nan = is_float(d) && std::isnan(e.number.real());
            const int c = compare(d, e, best);
            if (nan || (max_ ? c > 0 : c < 0)) best = e, at = i;
        }
        return at;
    }
    Op op_;
    bool max_;
    AxisShape shape_;
};

}  // namespace

LibraryCallPtr make_sort(const Op& op, const SortKernel& spec) {
    if (LibraryCallPtr packed = make_packed_sort(op, spec)) return packed;
    return std::make_shared<SortCall>(op, spec);
}
LibraryCallPtr make_cumulative(const Op& op, const CumulativeKernel& spec) { return std::make_shared<CumulativeCall>(op, spec); }
LibraryCallPtr make_arg_reduce(const Op& op, const ReduceKernel& spec) { return std::make_shared<ArgReduceCall>(op, spec); }

}  // namespace jaxscope::exec
