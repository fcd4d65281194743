// SPDX-License-Identifier: Apache-2.0
#pragma once
// JAX's api_util: prefixes of trees, argument numbers, donation by leaf.
#include <jaxscope/pytree.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax {

/// A specification that stands for the leaves of a tree: one for all leaves below, or a tuple, list or dict of specifications.
template <class Leaf>
class PrefixTree {
public:
    using Kind = detail::TreeKind;
    template <class V>
    requires std::is_convertible_v<V, Leaf> PrefixTree(V&& leaf) : leaf_(static_cast<V&&>(leaf)) {}  // NOLINT(google-explicit-constructor)
    static PrefixTree tuple(std::vector<PrefixTree> items) { return PrefixTree(Kind::tuple, {}, std::move(items)); }
    static PrefixTree list(std::vector<PrefixTree> items) { return PrefixTree(Kind::list, {}, std::move(items)); }
    static PrefixTree dict(std::vector<std::pair<std::string, PrefixTree>> items) {
        std::vector<std::string> keys;
        std::vector<PrefixTree> values;
        for (auto& [key, value] : items) keys.push_back("'" + key + "'"), values.push_back(std::move(value));
        return PrefixTree(Kind::dict, std::move(keys), std::move(values));
    }
    Kind kind() const { return kind_; }
    const Leaf& leaf() const { return leaf_; }
    /// As they were given: a dict's aren't sorted.
    const std::vector<std::string>& keys() const { return keys_; }
    const std::vector<PrefixTree>& items() const { return items_; }

private:
    PrefixTree(Kind kind, std::vector<std::string> keys, std::vector<PrefixTree> items)
        : kind_(kind), leaf_(none), keys_(std::move(keys)), items_(std::move(items)) {}
    Kind kind_ = Kind::leaf;
    Leaf leaf_;
    std::vector<std::string> keys_;
    std::vector<PrefixTree> items_;
};
using AxisTree = PrefixTree<Axis>;
/// One axis per leaf. Throws "NAME specification must be a tree prefix of the corresponding value" with the first place that doesn't fit.
std::vector<Axis> flatten_axes(const std::string& name, const PyTreeDef& tree, const AxisTree& axes);

/// Per leaf of the positional arguments, then of the keyword arguments sorted by name: is it donated?
std::vector<bool> donation_vector(const std::vector<int>& donate_argnums, const std::vector<std::string>& donate_argnames,
                                  const std::vector<PyTreeDef>& args, const std::vector<std::pair<std::string, PyTreeDef>>& kwargs);
/// Numbers of donated arguments among those that aren't static: sorted, without duplicates. Throws where both hold an argument.
std::vector<int> rebase_donate_argnums(const std::vector<int>& donate_argnums, const std::vector<int>& static_argnums);

}  // namespace jaxscope::jax
