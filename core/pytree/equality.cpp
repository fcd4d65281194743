// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <set>

#include "base/error.h"
#include "pytree/tree.h"

namespace jaxscope::jax::detail {

namespace {

using Kind = TreeWriter::Kind;

std::string type_text(const TreeNode& n) { return n.kind == Kind::leaf ? "a pytree leaf" : "a <class '" + kind_name(n) + "'>"; }

/// The keys that one of two dicts has alone.
std::string one_sided_keys(const TreeNode& a, const TreeNode& b) {
    if (a.kind != Kind::dict) return "";
    std::set<std::string> one, other, alone;
    for (const TreeNode::Key& k : a.keys) one.insert(k.text);
    for (const TreeNode::Key& k : b.keys) other.insert(k.text);
    std::set_symmetric_difference(one.begin(), one.end(), other.begin(), other.end(), std::inserter(alone, alone.end()));
    std::string text;
    for (const std::string& k : alone) text += (text.empty() ? "" : " ") + k;
    return text.empty() ? "" : ", with the symmetric difference of key sets: {" + text + "}";
}

void differences(std::vector<TreeDifference>& out, std::vector<TreeNode::Key>& path, const TreeNode& a, const TreeNode& b) {
    const auto add = [&](std::string one, std::string two, std::string why) {
        out.push_back({keystr(path), std::move(one), std::move(two), std::move(why)});
    };
    if (a.kind == Kind::leaf && b.kind == Kind::leaf) return;
    if (a.kind != b.kind || (a.kind == Kind::custom && a.type != b.type))
        return add(type_text(a), type_text(b), "their Python types differ");
    if (a.children.size() != b.children.size()) {
        const bool sequence = a.kind == Kind::tuple || a.kind == Kind::list;
        const auto text = [&](const TreeNode& n) {
            const std::string count = std::to_string(n.children.size());
            return sequence ? "a " + kind_name(n) + " of length " + count
                            : type_text(n) + " with " + count + " child" + (n.children.size() > 1 ? "ren" : "");
        };
        return add(text(a), text(b), sequence ? "the lengths do not match" : "the numbers of children do not match" + one_sided_keys(a, b));
    }
    bool same_keys = !(a.kind == Kind::fixed && !same(a, b));
    for (std::size_t i = 0; i < a.keys.size(); ++i) same_keys = same_keys && a.keys[i].text == b.keys[i].text;
    for (std::size_t i = 0; i < a.children.size(); ++i)  // static members, of which JAX makes metadata
        same_keys = same_keys &&
                    !(a.children[i]->kind == Kind::fixed && b.children[i]->kind == Kind::fixed && !same(*a.children[i], *b.children[i]));
    if (!same_keys)
        return add(type_text(a) + " with pytree metadata " + metadata(a), type_text(b) + " with pytree metadata " + metadata(b),
                   "the pytree node metadata does not match");
    for (std::size_t i = 0; i < a.children.size(); ++i) {
        path.push_back(a.keys[i]);
        differences(out, path, *a.children[i], *b.children[i]);
        path.pop_back();
    }
}

}  // namespace

std::vector<TreeDifference> tree_differences(const PyTreeDef& a, const PyTreeDef& b) {
    std::vector<TreeDifference> out;
    std::vector<TreeNode::Key> path;
    differences(out, path, *a.node(), *b.node());
    return out;
}

}  // namespace jaxscope::jax::detail
