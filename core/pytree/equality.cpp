// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "pytree/tree.h"

namespace jaxscope::jax::detail {

namespace {

using Kind = TreeWriter::Kind;

std::string type_text(const TreeNode& n) { return n.kind == Kind::leaf ? "a pytree leaf" : "a <class '" + kind_name(n) + "'>"; }

void differences(std::vector<TreeDifference>& out, std::vector<TreeNode::Key>& path, const TreeNode& a, const TreeNode& b) {
    const auto add = [&](std::string one, std::string two, const char* why) {
        out.push_back({keystr(path), std::move(one), std::move(two), why});
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
        return add(text(a), text(b), sequence ? "the lengths do not match" : "the numbers of children do not match");
    }
    bool same_keys = !(a.kind == Kind::fixed && !same(a, b));
    for (std::size_t i = 0; i < a.keys.size(); ++i) same_keys = same_keys && a.keys[i].text == b.keys[i].text;
    if (!same_keys) return add(type_text(a), type_text(b), "the pytree node metadata does not match");
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
