// SPDX-License-Identifier: Apache-2.0
#pragma once
// Specifications that stand for the leaves of a tree (PrefixTree): does one fit a tree, and what stands for each leaf.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <jaxscope/tree.h>

#include "pytree/tree.h"

namespace jaxscope::jax::detail {

/// Positions of the items in the order of the tree: a dict's by key.
template <class Leaf>
std::vector<std::size_t> tree_order(const PrefixTree<Leaf>& t) {
    std::vector<std::size_t> order(t.items().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (t.kind() == TreeWriter::Kind::dict)
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return t.keys()[a] < t.keys()[b]; });
    return order;
}
/// The specification as a tree: what stands at its leaves doesn't matter for the shape.
template <class Leaf>
void describe_prefix(const void* value, TreeWriter& w) {
    const auto& t = *static_cast<const PrefixTree<Leaf>*>(value);
    if (t.kind() == TreeWriter::Kind::leaf) return w.leaf();
    w.open(t.kind(), "", t.items().size());
    for (const std::size_t i : tree_order(t)) {
        w.key(t.kind() == TreeWriter::Kind::dict ? t.keys()[i] : std::to_string(i));
        describe_prefix<Leaf>(&t.items()[i], w);
    }
    w.close();
}
/// JAX's sentences on each place where it isn't a prefix of `tree`; none: it is one.
template <class Leaf>
std::vector<std::string> prefix_problems(const std::string& name, const PyTreeDef& tree, const PrefixTree<Leaf>& spec) {
    const PyTreeDef prefix = make_tree(&spec, describe_prefix<Leaf>);
    std::vector<TreeNode::Key> path;
    std::vector<std::string> out;
    structure_differences(out, *prefix.node(), *tree.node(), path, name, "jax._src.api_util.PytreeLeaf", true);
    return out;
}
/// The first of them.
template <class Leaf>
std::string prefix_problem(const std::string& name, const PyTreeDef& tree, const PrefixTree<Leaf>& spec) {
    std::vector<std::string> all = prefix_problems(name, tree, spec);
    return all.empty() ? std::string() : std::move(all.front());
}
template <class Leaf>
void spread_prefix(const PrefixTree<Leaf>& spec, const TreeNode& full, std::vector<Leaf>& out) {
    if (spec.kind() == TreeWriter::Kind::leaf) return out.insert(out.end(), full.leaves, spec.leaf()), void();
    const std::vector<std::size_t> order = tree_order(spec);
    for (std::size_t i = 0; i < order.size(); ++i) spread_prefix(spec.items()[order[i]], *full.children[i], out);
}
/// One per leaf.
template <class Leaf>
std::vector<Leaf> spread_prefix(const PrefixTree<Leaf>& spec, const PyTreeDef& tree) {
    std::vector<Leaf> out;
    spread_prefix(spec, *tree.node(), out);
    return out;
}

}  // namespace jaxscope::jax::detail
