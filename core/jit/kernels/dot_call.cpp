#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>

#include <dnnl.h>

#include "base/checked.h"
#include "ir/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/parallel.h"

namespace jaxscope::exec {

namespace {

/// A loop around the matrix product: strides in elements, 0 where an operand doesn't move.
struct DotLoop {
    std::int64_t size, lhs, rhs, out;
};
/// The innermost product: out[m, n] (+)= sum over k of lhs[m, k] * rhs[k, n], all with strides.
struct DotCore {
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t lhs_m = 1, lhs_k = 1, rhs_k = 1, rhs_n = 1, out_m = 1, out_n = 1;
};

struct Shape {
    std::vector<DotLoop> loops;  ///< independent results: batch dimensions, free ones that don't merge
    std::vector<DotLoop> sums;   ///< contracted dimensions that don't merge: results add up
    DotCore core;
};

/// Takes dimensions (outermost first) and merges neighbours while every stride allows it: the innermost run becomes the core's
/// dimension, the rest loops.
DotLoop merge(std::vector<DotLoop> dims, std::vector<DotLoop>& rest) {
    std::erase_if(dims, [](const DotLoop& d) { return d.size == 1; });
    DotLoop core{1, 1, 1, 1};
    if (dims.empty()) return core;
    core = dims.back();
    dims.pop_back();
    while (!dims.empty()) {
        const DotLoop& o = dims.back();
        if (o.lhs != core.lhs * core.size || o.rhs != core.rhs * core.size || o.out != core.out * core.size) break;
        core.size *= o.size;
        dims.pop_back();
    }
    rest.insert(rest.end(), dims.begin(), dims.end());
    return core;
}

Shape analyse(const Op& op, const DotKernel& spec, const Layouts& layouts) {
    const Dims &l = op.in[0]->shape, &r = op.in[1]->shape, &o = op.out[0]->shape;
    const auto strides = [&](std::size_t i, const Dims& shape) {
        return i < layouts.size() && !layouts[i].empty() ? layouts[i] : row_major_strides(shape);
    };
    const Dims ls = strides(0, l), rs = strides(1, r), os = strides(2, o);
    const auto in = [](const std::vector<int>& v, std::size_t d) { return std::find(v.begin(), v.end(), static_cast<int>(d)) != v.end(); };
    Shape s;
    std::size_t at = 0;  // dimension of the result
    for (std::size_t b = 0; b < spec.lhs_batch.size(); ++b, ++at)
        s.loops.push_back(
            {o[at], ls[static_cast<std::size_t>(spec.lhs_batch[b])], rs[static_cast<std::size_t>(spec.rhs_batch[b])], os[at]});
    std::vector<DotLoop> m, n, k;
    for (std::size_t d = 0; d < l.size(); ++d)
        if (!in(spec.lhs_contract, d) && !in(spec.lhs_batch, d)) m.push_back({l[d], ls[d], 0, os[at++]});
    for (std::size_t d = 0; d < r.size(); ++d)
        if (!in(spec.rhs_contract, d) && !in(spec.rhs_batch, d)) n.push_back({r[d], 0, rs[d], os[at++]});
    for (std::size_t c = 0; c < spec.lhs_contract.size(); ++c) {
        const auto a = static_cast<std::size_t>(spec.lhs_contract[c]), b = static_cast<std::size_t>(spec.rhs_contract[c]);
        k.push_back({l[a], ls[a], rs[b], 0});
    }
    // The order of summation is free: outermost first in memory merges best.
    std::stable_sort(k.begin(), k.end(), [](const DotLoop& a, const DotLoop& b) { return a.lhs > b.lhs; });
    const DotLoop cm = merge(m, s.loops), cn = merge(n, s.loops), ck = merge(k, s.sums);
    s.core = {cm.size, cn.size, ck.size, cm.lhs, ck.lhs, ck.rhs, cn.rhs, cm.out, cn.out};
    return s;
}

void check(dnnl_status_t status) {
    if (status != dnnl_success)
        throw Error(ErrorCode::CannotRun, "the matrix library failed with status " + std::to_string(static_cast<int>(status)));
}

/// lhs, rhs with one stride of 1 each, out with rows or columns of stride 1.
void sgemm(const DotCore& c, const float* a, const float* b, float* out, float beta) {
    if (c.out_n != 1 && c.n != 1) {  // the result is stored by columns: the transposed product
        const DotCore t{c.n, c.m, c.k, c.rhs_n, c.rhs_k, c.lhs_k, c.lhs_m, c.out_n, c.out_m};
        return sgemm(t, b, a, out, beta);
    }
    const bool at = !(c.lhs_k == 1 || c.k == 1), bt = !(c.rhs_n == 1 || c.n == 1);
    const auto leading = [](std::int64_t stride, std::int64_t rows, std::int64_t cols) {
        return rows == 1 ? std::max<std::int64_t>(cols, 1) : std::max(stride, cols);
    };
    const std::int64_t lda = at ? leading(c.lhs_k, c.k, c.m) : leading(c.lhs_m, c.m, c.k);
    const std::int64_t ldb = bt ? leading(c.rhs_n, c.n, c.k) : leading(c.rhs_k, c.k, c.n);
    const std::int64_t ldc = leading(c.out_m, c.m, c.n);
    check(dnnl_sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', c.m, c.n, c.k, 1.0f, a, lda, b, ldb, beta, out, ldc));
}

/// Any type, any strides: rows of the right operand are added up, so that the inner loop runs along the result.
template <class T>
void plain_product(const DotCore& c, const T* a, const T* b, T* out, bool add) {
    for (std::int64_t m = 0; m < c.m; ++m) {
        T* row = out + m * c.out_m;
        if (!add)
            for (std::int64_t n = 0; n < c.n; ++n) row[n * c.out_n] = T(0);
        for (std::int64_t k = 0; k < c.k; ++k) {
            const T x = a[m * c.lhs_m + k * c.lhs_k];
            const T* right = b + k * c.rhs_k;
            if (c.out_n == 1 && c.rhs_n == 1)
                for (std::int64_t n = 0; n < c.n; ++n) row[n] += x * right[n];
            else
                for (std::int64_t n = 0; n < c.n; ++n) row[n * c.out_n] += x * right[n * c.rhs_n];
        }
    }
}

enum class Arithmetic : std::uint8_t { F32, F64, C64, C128, Integer };
Arithmetic arithmetic_for(DType d) {
    if (d == DType::F64) return Arithmetic::F64;
    if (d == DType::C64) return Arithmetic::C64;
    if (d == DType::C128) return Arithmetic::C128;
    return is_float(d) ? Arithmetic::F32 : Arithmetic::Integer;
}
std::int64_t width(Arithmetic a) { return a == Arithmetic::F32 ? 4 : a == Arithmetic::C128 ? 16 : 8; }
bool native(Arithmetic a, DType d) {
    return (a == Arithmetic::F32 && d == DType::F32) || (a == Arithmetic::F64 && d == DType::F64) ||
           (a == Arithmetic::C64 && d == DType::C64) || (a == Arithmetic::C128 && d == DType::C128) ||
           (a == Arithmetic::Integer && (d == DType::S64 || d == DType::U64));
}

template <class T>
T to_number(const Element& e, DType d) {
    if constexpr (std::is_same_v<T, std::uint64_t>)
        return is_inexact(d) ? static_cast<std::uint64_t>(e.number.real()) : static_cast<std::uint64_t>(e.integer);
    else if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(is_inexact(d) ? e.number.real() : static_cast<double>(e.integer));
    else
        return is_inexact(d) ? T(static_cast<typename T::value_type>(e.number.real()), static_cast<typename T::value_type>(e.number.imag()))
                             : T(static_cast<typename T::value_type>(e.integer));
}
template <class T>
Element to_element(T v) {
    if constexpr (std::is_same_v<T, std::uint64_t>)
        return {static_cast<std::int64_t>(v), {}};
    else if constexpr (std::is_floating_point_v<T>)
        return {0, {static_cast<double>(v), 0}};
    else
        return {0, {v.real(), v.imag()}};
}

template <class T>
void widen(const void* from, DType d, std::int64_t n, T* to) {
    if constexpr (std::is_same_v<T, float>) {
        if (d == DType::BF16) {
            const auto* p = static_cast<const std::uint16_t*>(from);
            for (std::int64_t i = 0; i < n; ++i) {
                const std::uint32_t bits = static_cast<std::uint32_t>(p[i]) << 16;
                std::memcpy(&to[i], &bits, 4);
            }
            return;
        }
    }
    for (std::int64_t i = 0; i < n; ++i) to[i] = to_number<T>(load_element(d, static_cast<const std::byte*>(from) + i * byte_size(d)), d);
}
template <class T>
void narrow(const T* from, DType d, std::int64_t n, void* to) {
    for (std::int64_t i = 0; i < n; ++i) store_element(d, static_cast<std::byte*>(to) + i * byte_size(d), to_element(from[i]));
}

class DotCall final : public LibraryCall {
public:
    DotCall(const Op& op, const DotKernel& spec, const Layouts& layouts)
        : op_(op), shape_(analyse(op, spec, layouts)), arithmetic_(arithmetic_for(op.out[0]->dtype)) {
        for (const AvalRef a : op.in)  // products of floats with an integer result don't occur; the wider of the operands decides
            if (is_complex(a->dtype))
                arithmetic_ =
                    std::max(arithmetic_, arithmetic_for(a->dtype), [](Arithmetic x, Arithmetic y) { return width(x) < width(y); });
        std::int64_t at = 0;
        const auto reserve = [&](AvalRef a) {
            const std::int64_t here = at;
            at = checked_add(at, native(arithmetic_, a->dtype) ? 0 : checked_align(checked_mul(a->size(), width(arithmetic_)), 64));
            return here;
        };
        lhs_at_ = reserve(op.in[0]), rhs_at_ = reserve(op.in[1]), out_at_ = reserve(op.out[0]);
        if (arithmetic_ == Arithmetic::F32 && !unit(shape_.core.lhs_m, shape_.core.m, shape_.core.lhs_k, shape_.core.k)) plain_ = true;
        if (arithmetic_ == Arithmetic::F32 && !unit(shape_.core.rhs_k, shape_.core.k, shape_.core.rhs_n, shape_.core.n)) plain_ = true;
        if (arithmetic_ == Arithmetic::F32 && !unit(shape_.core.out_m, shape_.core.m, shape_.core.out_n, shape_.core.n)) plain_ = true;
        bytes_ = at;
    }
    std::int64_t scratch_bytes() const override { return bytes_; }

    void run(void* const* in, void* const* out, void* scratch) const override {
        switch (arithmetic_) {
            case Arithmetic::F32:
                return run_as<float>(in, out, static_cast<char*>(scratch));
            case Arithmetic::F64:
                return run_as<double>(in, out, static_cast<char*>(scratch));
            case Arithmetic::C64:
                return run_as<std::complex<float>>(in, out, static_cast<char*>(scratch));
            case Arithmetic::C128:
                return run_as<std::complex<double>>(in, out, static_cast<char*>(scratch));
            case Arithmetic::Integer:
                return run_as<std::uint64_t>(in, out, static_cast<char*>(scratch));
        }
    }

private:
    static bool unit(std::int64_t a, std::int64_t na, std::int64_t b, std::int64_t nb) { return a == 1 || b == 1 || na == 1 || nb == 1; }

    template <class T>
    void run_as(void* const* in, void* const* out, char* scratch) const {
        const auto operand = [&](std::size_t i, std::int64_t at) -> const T* {
            if (native(arithmetic_, op_.in[i]->dtype)) return static_cast<const T*>(in[i]);
            widen(in[i], op_.in[i]->dtype, op_.in[i]->size(), reinterpret_cast<T*>(scratch + at));
            return reinterpret_cast<const T*>(scratch + at);
        };
        const T *a = operand(0, lhs_at_), *b = operand(1, rhs_at_);
        const bool direct = native(arithmetic_, op_.out[0]->dtype);
        T* result = direct ? static_cast<T*>(out[0]) : reinterpret_cast<T*>(scratch + out_at_);
        const std::int64_t n = op_.out[0]->size();
        if (n == 0) return;
        products(a, b, result);
        if (!direct) narrow(result, op_.out[0]->dtype, n, out[0]);
    }

    template <class T>
    void products(const T* a, const T* b, T* out) const {
        std::int64_t count = 1;
        for (const DotLoop& l : shape_.loops) count *= l.size;
        const DotCore& c = shape_.core;
        const double flops = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
        // Many small products: one thread each. The library runs on one thread when called inside a parallel region.
        const bool outer = count >= threads && (count > 1) && flops < 2e8;
        const auto range = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) one(a, b, out, i);
        };
        if (outer)
            parallel_for(threads, count, flops * static_cast<double>(count), range);
        else if constexpr (std::is_same_v<T, float>)
            range(0, count);
        else
            by_rows(a, b, out, count, flops);
    }
    /// What the library doesn't do in parallel: rows of each product over the threads.
    template <class T>
    void by_rows(const T* a, const T* b, T* out, std::int64_t count, double flops) const {
        for (std::int64_t i = 0; i < count; ++i)
            parallel_for(threads, shape_.core.m, flops, [&](std::int64_t begin, std::int64_t end) {
                DotCore part = shape_.core;
                part.m = end - begin;
                one_part(a, b, out, i, part, begin);
            });
    }
    template <class T>
    void one(const T* a, const T* b, T* out, std::int64_t index) const {
        one_part(a, b, out, index, shape_.core, 0);
    }

    template <class T>
    void one_part(const T* a, const T* b, T* out, std::int64_t index, const DotCore& core, std::int64_t first_row) const {
        a += first_row * core.lhs_m;
        out += first_row * core.out_m;
        for (std::size_t l = shape_.loops.size(); l-- > 0;) {
            const DotLoop& loop = shape_.loops[l];
            const std::int64_t i = index % loop.size;
            index /= loop.size;
            a += i * loop.lhs, b += i * loop.rhs, out += i * loop.out;
        }
        std::int64_t sums = 1;
        for (const DotLoop& l : shape_.sums) sums *= l.size;
        if (sums == 0) sums = 1;
        for (std::int64_t s = 0; s < sums; ++s) {
            const T *pa = a, *pb = b;
            std::int64_t rest = s;
            for (std::size_t l = shape_.sums.size(); l-- > 0;) {
                const DotLoop& loop = shape_.sums[l];
                if (loop.size == 0) break;
                pa += rest % loop.size * loop.lhs, pb += rest % loop.size * loop.rhs;
                rest /= loop.size;
            }
            if constexpr (std::is_same_v<T, float>) {
                if (!plain_ && core.k > 0) {
                    sgemm(core, pa, pb, out, s ? 1.0f : 0.0f);
                    continue;
                }
            }
            plain_product(core, pa, pb, out, s > 0);
        }
    }

    Op op_;
    Shape shape_;
    Arithmetic arithmetic_;
    std::int64_t lhs_at_ = 0, rhs_at_ = 0, out_at_ = 0, bytes_ = 0;
    bool plain_ = false;
};

}  // namespace

LibraryCallPtr make_dot(const Op& op, const DotKernel& spec, const Layouts& layouts) {
    return std::make_shared<DotCall>(op, spec, layouts);
}

}  // namespace jaxscope::exec
