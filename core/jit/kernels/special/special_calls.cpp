// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/special/special_functions.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"

// Special functions that are loops of their own for each element (lax/elementwise/gamma.cpp): operands of one shape, or scalars and unit
// dimensions that stretch. Types narrower than float are computed as float, as JAX does.
namespace jaxscope::exec {

namespace {

constexpr std::size_t kMostOperands = 3;
constexpr double kWork = 200;  ///< scalar operations an element, about

template <class T>
using Function = T (*)(const T* x);

template <class T>
Function<T> function_of(const Primitive* p) {
    using namespace special;
    if (p == &kIgamma) return [](const T* x) { return igamma(x[0], x[1]); };
    if (p == &kIgammac) return [](const T* x) { return igammac(x[0], x[1]); };
    if (p == &kIgammaGradA) return [](const T* x) { return igamma_grad_a(x[0], x[1]); };
    if (p == &kRandomGammaGrad) return [](const T* x) { return random_gamma_grad(x[0], x[1]); };
    if (p == &kZeta) return [](const T* x) { return zeta(x[0], x[1]); };
    if (p == &kPolygamma) return [](const T* x) { return polygamma(x[0], x[1]); };
    if (p == &kBetainc) return [](const T* x) { return betainc(x[0], x[1], x[2]); };
    return nullptr;
}

/// T: float or double, in which an element of the operands' dtype is computed.
template <class T>
class SpecialCall final : public LibraryCall {
public:
    explicit SpecialCall(const Op& op)
        : dtype_(op.in[0]->dtype), f_(function_of<T>(op.prim)), shape_(op.out[0]->shape), n_(op.out[0]->size()) {
        for (const AvalRef a : op.in) strides_.push_back(stretched_strides(a->shape));
    }
    void run(void* const* in, void* const* out, void*) const override {
        parallel_for(threads, n_, kWork * static_cast<double>(n_), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                std::array<T, kMostOperands> x{};
                for (std::size_t k = 0; k < strides_.size(); ++k) x[k] = load(in[k], position(strides_[k], i));
                store(out[0], i, f_(x.data()));
            }
        });
    }

private:
    Dims stretched_strides(const Dims& from) const {
        Dims s = row_major_strides(from);
        if (from.empty()) return Dims(shape_.size(), 0);
        for (std::size_t d = 0; d < from.size(); ++d)
            if (from[d] == 1) s[d] = 0;
        return s;
    }
    std::int64_t position(const Dims& strides, std::int64_t i) const {
        std::int64_t at = 0;
        for (std::size_t d = shape_.size(); d-- > 0;) {
            at += i % shape_[d] * strides[d];
            i /= shape_[d];
        }
        return at;
    }
    T load(const void* from, std::int64_t i) const {
        if (byte_size(dtype_) == static_cast<std::int64_t>(sizeof(T))) return static_cast<const T*>(from)[i];
        return static_cast<T>(load_element(dtype_, static_cast<const std::byte*>(from) + i * byte_size(dtype_)).number.real());
    }
    void store(void* to, std::int64_t i, T v) const {
        if (byte_size(dtype_) == static_cast<std::int64_t>(sizeof(T)))
            static_cast<T*>(to)[i] = v;
        else
            store_element(dtype_, static_cast<std::byte*>(to) + i * byte_size(dtype_), {0, static_cast<double>(v)});
    }
    DType dtype_;
    Function<T> f_;
    Dims shape_;
    std::int64_t n_;
    std::vector<Dims> strides_;
};

}  // namespace

LibraryCallPtr make_special_routine(const Op& op) {
    if (!function_of<double>(op.prim)) return nullptr;
    if (op.in[0]->dtype == DType::F64) return std::make_shared<SpecialCall<double>>(op);
    return std::make_shared<SpecialCall<float>>(op);
}

}  // namespace jaxscope::exec
