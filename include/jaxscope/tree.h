#pragma once
// JAX's api_util: prefixes of trees, argument numbers, donation by leaf.
#include <jaxscope/pytree.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax {

/// A specification of axes: one for all leaves below, or a tuple, list or dict of specifications.
class AxisTree {
public:
    AxisTree(int axis) : axis_(axis) {}  // NOLINT(google-explicit-constructor)
    AxisTree(None) : axis_(none) {}      // NOLINT(google-explicit-constructor)
    static AxisTree tuple(std::vector<AxisTree> items) { return AxisTree(Kind::tuple, {}, std::move(items)); }
    static AxisTree list(std::vector<AxisTree> items) { return AxisTree(Kind::list, {}, std::move(items)); }
    static AxisTree dict(std::vector<std::pair<std::string, AxisTree>> items);
    using Kind = detail::TreeWriter::Kind;
    Kind kind() const { return kind_; }
    const Axis& axis() const { return axis_; }
    const std::vector<std::string>& keys() const { return keys_; }
    const std::vector<AxisTree>& items() const { return items_; }

private:
    AxisTree(Kind kind, std::vector<std::string> keys, std::vector<AxisTree> items)
        : kind_(kind), axis_(none), keys_(std::move(keys)), items_(std::move(items)) {}
    Kind kind_ = Kind::leaf;
    Axis axis_;
    std::vector<std::string> keys_;
    std::vector<AxisTree> items_;
};
/// One axis per leaf. Throws "NAME specification must be a tree prefix of the corresponding value" with the first place that doesn't fit.
std::vector<Axis> flatten_axes(const std::string& name, const PyTreeDef& tree, const AxisTree& axes);

/// Per leaf of the positional arguments, then of the keyword arguments sorted by name: is it donated?
std::vector<bool> donation_vector(const std::vector<int>& donate_argnums, const std::vector<std::string>& donate_argnames,
                                  const std::vector<PyTreeDef>& args, const std::vector<std::pair<std::string, PyTreeDef>>& kwargs);
/// Numbers of donated arguments among those that aren't static: sorted, without duplicates. Throws where both hold an argument.
std::vector<int> rebase_donate_argnums(const std::vector<int>& donate_argnums, const std::vector<int>& static_argnums);

}  // namespace jaxscope::jax
