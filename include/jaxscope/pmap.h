// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.pmap and equinox.filter_pmap: one program on several devices at once, each of which has one element of the mapped axis. Devices are
// virtual (`jax::set_virtual_devices(8)`, sharding.h); where there are none, there is one. The program is today's: a shard_map in a jit.
#include <jaxscope/filter.h>
#include <jaxscope/sharding.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax {

struct PmapOptions {
    std::string axis_name = {};  ///< collectives over it (collectives.h) see all devices
    Axis in_axes = 0;            ///< one for all arguments, or a tuple with one each; arguments by name are mapped over their first axis
    Axis out_axes = 0;           ///< a prefix of the result's tree; none: one device's, which all should have
    Argnums static_broadcasted_argnums = {}, donate_argnums = {};
    std::int64_t axis_size = 0;
    Argnames arg_names = {};
    const char* name = "<unnamed function>";
};
/// `donate`: "all" (all arrays of all arguments, and of the function), "warn" (the same, with JAX's warnings), "none".
struct FilterPmapOptions {
    std::string donate = "none";
    std::string axis_name = {};
    Axis in_axes = 0;  ///< of arrays; or a dict by `arg_names`, where arguments that aren't named have 0
    Axis out_axes = 0;
    std::int64_t axis_size = 0;  ///< needed where no argument is mapped
    Argnames arg_names = {};
    const char* name = "<unnamed function>";
};

namespace detail {
class PmapState;
class PmapHandle {
public:
    PmapHandle(const PmapOptions& options, const Where& where);
    PmapHandle(const FilterPmapOptions& options, bool function_is_argument, const Where& where);
    PmapHandle(const PmapHandle& o) noexcept;
    PmapHandle& operator=(const PmapHandle& o) noexcept;
    ~PmapHandle();
    PmapState& operator*() const { return *state_; }

private:
    PmapState* state_;
};
Called pmap_call(PmapState& state, Call& call);
ShardingReport pmap_report(PmapState& state, Call& call);
std::string pmap_donations(PmapState& state, Call& call);
}  // namespace detail

/// What `pmap` and `filter_pmap` (`Filter`) return.
template <bool Filter, class F>
class Pmapped {
    static constexpr bool kOwn = Filter && detail::has_arrays_of_its_own<F>();
    template <class G, class... A>
    using CallOf = std::conditional_t<Filter, detail::FilterCallOf<G, A...>, detail::CallOf<G, A...>>;

public:
    Pmapped(F f, detail::PmapHandle state) : f_(std::move(f)), state_(std::move(state)) {}
    template <class... A>
    auto operator()(const A&... a) const {
        return with_call(
            [&](auto& call) {
                detail::Called r = detail::pmap_call(*state_, call);
                return std::remove_cvref_t<decltype(call)>::filled(r.prototype, r.leaves.data());
            },
            a...);
    }
    /// The program of one device, its collectives, and the memory of each device in the last run.
    template <class... A>
    ShardingReport report(const A&... a) const {
        return with_call([&](auto& call) { return detail::pmap_report(*state_, call); }, a...);
    }
    /// What becomes of donated arguments, by path: of what one device has.
    template <class... A>
    std::string donation_report(const A&... a) const {
        return with_call([&](auto& call) { return detail::pmap_donations(*state_, call); }, a...);
    }

private:
    template <class Use, class... A>
    auto with_call(const Use& use, const A&... a) const {
        if constexpr (kOwn) {
            const detail::Invoke invoke;
            CallOf<detail::Invoke, F, A...> call(invoke, f_, a...);
            return use(call);
        } else {
            CallOf<F, A...> call(f_, a...);
            return use(call);
        }
    }
    F f_;
    detail::PmapHandle state_;
};

/// jax.pmap. Throws where a number is static and donated.
template <class F>
Pmapped<false, detail::Stored<F>> pmap(F&& f, const PmapOptions& options = {}, Where where = {}) {
    return {static_cast<F&&>(f), detail::PmapHandle(options, where)};
}
/// equinox.filter_pmap: arrays are mapped, all other values static. Throws for an unknown `donate`.
template <class F>
Pmapped<true, detail::Stored<F>> filter_pmap(F&& f, const FilterPmapOptions& options = {}, Where where = {}) {
    return {static_cast<F&&>(f), detail::PmapHandle(options, detail::has_arrays_of_its_own<detail::Stored<F>>(), where)};
}

}  // namespace jaxscope::jax
