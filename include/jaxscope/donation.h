// SPDX-License-Identifier: Apache-2.0
#pragma once
// Donation as the systems wrote it that it comes from: filter_jit with the modes of Equinox's pull request 235 ("arrays", "warn", "none")
// and with that request's first design (by argument, by name, the function's own arrays, a default); keys that can be used once. Today's
// filter_jit stands in filter.h.
#include <jaxscope/filter.h>
#include <jaxscope/random.h>
#include <jaxscope/tree.h>

namespace jaxscope::jax::donation {

/// `{{"model", true}}`
class DonateKwargs {
public:
    using Entry = std::pair<std::string, bool>;
    DonateKwargs();
    DonateKwargs(std::initializer_list<Entry> entries);
    DonateKwargs(std::vector<Entry> entries);  // NOLINT(google-explicit-constructor)
    DonateKwargs(const DonateKwargs& o);
    DonateKwargs& operator=(const DonateKwargs& o);
    ~DonateKwargs();
    const std::vector<Entry>& entries() const { return *entries_; }

private:
    std::vector<Entry>* entries_;
};
/// Which arguments are donated; what is no array donates nothing.
struct DonateSpecs {
    std::vector<bool> donate_args = {};  ///< by position
    DonateKwargs donate_kwargs = {};     ///< by the name that it is passed by
    bool donate_fn = false;              ///< arrays of the function object itself
    bool donate_default = false;         ///< arguments of which nothing is said
};
namespace detail {
jax::detail::JitHandle filter_jit(const std::string& mode, bool function_is_argument, const Where& where);
jax::detail::JitHandle filter_jit(const DonateSpecs& specs, bool function_is_argument, const Where& where);
}  // namespace detail

/// "arrays": all arrays are donated and nothing is said of those that can't be used; "warn": it is said; "none": no donation.
template <class F>
FilterJitted<jax::detail::Stored<F>> filter_jit(F&& f, const char* donate = "arrays", Where where = {}) {
    return {static_cast<F&&>(f), detail::filter_jit(donate, jax::detail::has_arrays_of_its_own<jax::detail::Stored<F>>(), where)};
}
template <class F>
FilterJitted<jax::detail::Stored<F>> filter_jit(F&& f, const DonateSpecs& specs, Where where = {}) {
    return {static_cast<F&&>(f), detail::filter_jit(specs, jax::detail::has_arrays_of_its_own<jax::detail::Stored<F>>(), where)};
}

/// The same function with numbers turned into arrays first, so that they are traced: `as_arrays(filter_jit(f))(x, 2)`.
template <class F>
auto as_arrays(F&& f) {
    return [f = jax::detail::Stored<F>(static_cast<F&&>(f))](const auto&... a) {
        const auto one = []<class T>(const T& v) {
            if constexpr (jax::detail::Number<T>)
                return Array(v);
            else
                return v;
        };
        return f(one(a)...);
    };
}

/// A tree's arrays under new handles; the old ones are deleted.
template <class T>
T move(const T& tree) {
    static const auto moved = jit([](const T& t) { return t; }, {.donate_argnums = {0}});
    return moved(tree);
}
/// jax.random.uniform with a key that can be used once: the key is consumed. A traced key is refused.
Array safe_eager_uniform(const Array& key, const Shape& shape = {}, double minval = 0., double maxval = 1.);

}  // namespace jaxscope::jax::donation

namespace jaxscope::jax {

struct DevicePutOptions {
    bool donate = false;
    std::optional<bool> may_alias = {};  ///< false: a copy, if anybody else asks for the memory
};
namespace detail {
std::vector<Array> put_on_device(const std::vector<Array>& leaves, const DevicePutOptions& options, const Where& where);
}  // namespace detail
/// jax.device_put on a machine of one device: the array is there already, so it stays alive even if it is donated. In a trace it is an
/// equation, one for a whole tree.
Array device_put(const Array& x, const DevicePutOptions& options = {}, Where where = {});
template <class T>
requires(!std::is_convertible_v<const T&, Array>) T device_put(const T& tree, const DevicePutOptions& options = {}, Where where = {}) {
    const std::vector<Array> put = detail::put_on_device(tree_leaves(tree), options, where);
    const Array* next = put.data();
    return detail::with_leaves(tree, next);
}
/// Waits for every array of a tree; throws where one was deleted.
template <class T>
const T& block_until_ready(const T& tree, Where where = {}) {
    for (const Array& a : tree_leaves(tree)) a.block_until_ready(where);
    return tree;
}

}  // namespace jaxscope::jax
