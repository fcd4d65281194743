// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equinox's filter_vmap, filter_checkpoint and filter_closure_convert.
#include <jaxscope/filter.h>

namespace jaxscope::jax {

/// Axes by argument; for what is no array they mean nothing, as with Equinox's `if_array(axis)`.
inline Axis if_array(int axis) { return Axis(axis); }
template <class F>
auto filter_vmap(F&& f, VmapOptions options = {}, Where where = {}) {
    return detail::Mapped<true, detail::Stored<F>>{static_cast<F&&>(f), std::move(options), where};
}
template <class F>
auto filter_checkpoint(F&& f, const CheckpointOptions& options = {}, Where where = {}) {
    return Checkpointed<detail::Stored<F>, true>{static_cast<F&&>(f), where, detail::make_trace_cache(options, where)};
}

namespace detail {
class Converted;
void retain(Converted* c) noexcept;
void release(Converted* c) noexcept;
Converted* closure_convert(Call& call);
std::vector<Array> call_converted(const Converted& c, Call& call);
}  // namespace detail
/// A function without its closure: a jaxpr and what it closed over. Demands arguments like those it was made with.
template <class F, class R, class... A>
class ClosureConverted {
public:
    ClosureConverted(F f, R result, detail::Converted* c) : f_(std::move(f)), result_(std::move(result)), converted_(c) {}
    ClosureConverted(const ClosureConverted& o) : f_(o.f_), result_(o.result_), converted_(o.converted_) { detail::retain(converted_); }
    ClosureConverted& operator=(const ClosureConverted&) = delete;
    ~ClosureConverted() { detail::release(converted_); }
    R operator()(const A&... a) const {
        detail::FilterCallOf<F, A...> call(f_, a...);
        return detail::with_arrays(result_, detail::call_converted(*converted_, call));
    }

private:
    F f_;
    R result_;
    detail::Converted* converted_;
};
template <class F, class... A>
auto filter_closure_convert(const F& f, const A&... a) {
    detail::FilterCallOf<F, A...> call(f, a...);
    detail::Converted* c = detail::closure_convert(call);
    using R = typename detail::FilterCallOf<F, A...>::Result;
    return ClosureConverted<F, R, A...>(f, call.result(), c);
}

}  // namespace jaxscope::jax
