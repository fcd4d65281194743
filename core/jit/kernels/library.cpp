// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/library.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/collectives/collectives.h"

namespace jaxscope::exec {

Dims row_major_strides(const Dims& shape) {
    Dims s(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) s[d - 1] = s[d] * std::max<std::int64_t>(shape[d], 1);
    return s;
}

namespace {
/// Stands in plans of one device's program. What runs it is the team of devices, between two of their programs (core/devices).
class MeetingCall final : public LibraryCall {
public:
    void run(void* const*, void* const*, void*) const override { JAXSCOPE_ASSERT(false); }
};
}  // namespace

LibraryCallPtr make_routine(const Op& op, const RuntimeKernel& spec) {
    if (LibraryCallPtr call = make_refusal(op)) return call;
    if (LibraryCallPtr call = make_transfer(op)) return call;
    if (LibraryCallPtr call = make_joining(op)) return call;
    if (LibraryCallPtr call = make_host_call(op)) return call;
    if (LibraryCallPtr call = make_onlooker(op, spec.writes)) return call;
    if (names_mesh_axes(op)) return std::make_shared<MeetingCall>();
    static constexpr LibraryCallPtr (*families[])(const Op&) = {
        make_random_routine, make_generator_routine, make_gamma_routine, make_special_routine,   make_fft_routine,
        make_top_k_routine,  make_linalg_routine,    make_eigen_routine, make_reflector_routine, make_tridiagonal_routine};
    for (const auto make : families)
        if (LibraryCallPtr call = make(op)) return call;
    throw Error(ErrorCode::NoRule, "expected a routine of the runtime for " + op.prim->name + ", found none named '" + op.prim->name + "'");
}

namespace {
std::atomic<ScopedCallWrapper::Wrap> wrapper{nullptr};
}  // namespace

ScopedCallWrapper::ScopedCallWrapper(Wrap wrap) { wrapper = wrap; }
ScopedCallWrapper::~ScopedCallWrapper() { wrapper = nullptr; }

LibraryCallPtr make_library_call(const Op& op, const KernelSpec& spec, const Layouts& layouts, int threads) {
    const auto make = [&](const auto& k) -> LibraryCallPtr {
        using K = std::decay_t<decltype(k)>;
        if constexpr (std::is_same_v<K, DotKernel>)
            return make_dot(op, k, layouts, threads);
        else if constexpr (std::is_same_v<K, ConvKernel>)
            return make_conv(op, k, threads);
        else if constexpr (std::is_same_v<K, ScatterKernel>)
            return make_scatter(op, k);
        else if constexpr (std::is_same_v<K, DynamicUpdateSliceKernel>)
            return make_dynamic_update_slice(op);
        else if constexpr (std::is_same_v<K, SortKernel>)
            return make_sort(op, k);
        else if constexpr (std::is_same_v<K, CumulativeKernel>)
            return make_cumulative(op, k);
        else if constexpr (std::is_same_v<K, ReduceKernel>)
            return make_arg_reduce(op, k);
        else
            return make_routine(op, k);
    };
    const SerialLibraries prepared_for_one_thread;
    LibraryCallPtr call = std::visit(make, spec.kind);
    if (const ScopedCallWrapper::Wrap wrap = wrapper) call = wrap(op, std::move(call));
    call->threads = threads;
    return call;
}

}  // namespace jaxscope::exec
