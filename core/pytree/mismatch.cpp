// SPDX-License-Identifier: Apache-2.0
// Where two trees differ, told as JAX tells it.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include <jaxscope/tree_map.h>

#include "base/error.h"
#include "pytree/line_difference.h"
#include "pytree/tree.h"

namespace jaxscope::jax::detail {

namespace {

using Kind = TreeWriter::Kind;

std::string class_of(const TreeNode& n, const char* leaf_class) {
    return std::string("    <class '") + (n.kind == Kind::leaf ? leaf_class : kind_name(n)) + "'>";
}
std::string indented(const std::string& text) {
    std::string out = "    ";
    for (std::size_t i = 0; i < text.size(); ++i) {
        out += text[i];
        if (text[i] == '\n' && i + 1 < text.size() && text[i + 1] != '\n') out += "    ";
    }
    return out;
}

/// Key sets of two nodes with different numbers of children.
std::string key_difference(const TreeNode& prefix, const TreeNode& full) {
    std::set<std::string> a, b, one;
    for (const TreeNode::Key& k : prefix.keys) a.insert(unquoted(k.text));
    for (const TreeNode::Key& k : full.keys) b.insert(unquoted(k.text));
    std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(one, one.end()));
    const auto joined = [](const std::set<std::string>& keys) {
        std::string out;
        for (const std::string& k : keys) out += (out.empty() ? "" : " ") + k;
        return out;
    };
    return fmt::format(
        "with {} child keys\n    {}\nbut at the same key path the full pytree has a subtree of the same type but with {} child "
        "keys\n    {}\nso the symmetric difference on key sets is\n    {}",
        a.size(), joined(a), b.size(), joined(b), joined(one));
}

}  // namespace

void structure_differences(std::vector<std::string>& out, const TreeNode& prefix, const TreeNode& full, std::vector<TreeNode::Key>& path,
                           const std::string& name, const char* leaf_class, bool leaves_are_prefixes) {
    const auto place = [&](const char* what) {
        return fmt::format("pytree structure error: {} at key path\n    {}\nAt that key path, the prefix pytree {} has a subtree of type",
                           what, name + keystr(path), name);
    };
    const auto add = [&](std::string text) { out.push_back(std::move(text)); };
    if (prefix.kind == Kind::leaf && (leaves_are_prefixes || full.kind == Kind::leaf)) return;
    if (prefix.kind != full.kind || (prefix.kind == Kind::custom && prefix.type != full.type))
        return add(place("different types") + "\n" + class_of(prefix, leaf_class) +
                   "\nbut at the same key path the full pytree has a subtree of different type\n" + class_of(full, leaf_class) + ".");
    const std::size_t n = prefix.children.size();
    const std::string kind = kind_name(prefix);
    if (n != full.children.size() && (prefix.kind == Kind::tuple || prefix.kind == Kind::list))
        return add(place(("different lengths of " + kind).c_str()) +
                   fmt::format(" {} of length {}, but the full pytree has a subtree of the same type but of length {}.", kind, n,
                               full.children.size()));
    if (n != full.children.size())
        return add(place("different numbers of pytree children") + "\n" + class_of(prefix, leaf_class) + "\n" +
                   key_difference(prefix, full));
    if (const std::string a = metadata(prefix), b = metadata(full); a != b)
        return add(place("different pytree metadata") + "\n" + class_of(prefix, leaf_class) + "\nwith metadata\n    " + a +
                   "\nbut at the same key path the full pytree has a subtree of the same type but with metadata\n    " + b +
                   "\nso the diff in the metadata at these pytree nodes is\n" + indented(line_difference(a, b)));
    for (std::size_t i = 0; i < n; ++i) {
        path.push_back(prefix.keys[i]);
        structure_differences(out, *prefix.children[i], *full.children[i], path, name, leaf_class, leaves_are_prefixes);
        path.pop_back();
    }
}

void trees_differ(const PyTreeDef& a, const PyTreeDef& b, const char* name, const Where& where, bool leaves_are_prefixes) {
    std::vector<TreeNode::Key> path;
    std::vector<std::string> found;
    structure_differences(found, *a.node(), *b.node(), path, std::string(name) + " tree", "jaxlib._jax.ArrayImpl", leaves_are_prefixes);
    throw Error(ErrorCode::BadUsage, found.empty() ? "trees differ: " + a.str() + " and " + b.str() : found.front())
        .at({where.file, where.line, 0})
        .advise("give trees of one structure: jax::tree_structure(t) prints that of each");
}

void refuse_empty_reduce() {
    throw Error(ErrorCode::BadUsage, "reduce() of empty iterable with no initial value")
        .advise("give a value to begin with as the last argument");
}
void Side::differ() const { trees_differ(make_tree(first), make_tree(other), "tree_map", where, true); }
void check_only_nodes(const PyTreeDef& tree, std::size_t nodes, const Where& where) {
    if (nodes == tree.num_leaves()) return;
    throw Error(ErrorCode::BadUsage,
                fmt::format("tree_flatten: {} of the tree's {} leaves are arrays outside of the nodes that is_leaf names",
                            tree.num_leaves() - nodes, tree.num_leaves()))
        .at({where.file, where.line, 0})
        .advise("tree_leaves(t, is_leaf<Node>()) gives the nodes alone, tree_map calls its function with both");
}

}  // namespace jaxscope::jax::detail
