#include "base/error.h"
#include "pytree/tree.h"

namespace jaxscope::jax::detail {

namespace {

using Kind = TreeWriter::Kind;

/// JAX's sentence on the first place where `full` differs from `prefix`; empty: nowhere. `strict`: leaves of the prefix stand for leaves.
std::string difference(const TreeNode& prefix, const TreeNode& full, std::vector<TreeNode::Key>& path, const std::string& name,
                       bool strict) {
    const std::string place = " at key path\n    " + name + keystr(path) + "\nAt that key path, the prefix pytree " + name;
    if (prefix.kind == Kind::leaf && (!strict || full.kind == Kind::leaf)) return {};
    if (prefix.kind != full.kind || (prefix.kind == Kind::custom && prefix.type != full.type))
        return "pytree structure error: different types" + place + " has a subtree of type\n    <class '" + kind_name(prefix) +
               "'>\nbut at the same key path the full pytree has a subtree of different type\n    <class '" + kind_name(full) + "'>.";
    if (prefix.children.size() != full.children.size())
        return "pytree structure error: different lengths of " + kind_name(prefix) + place + " has a subtree of type " + kind_name(prefix) +
               " of length " + std::to_string(prefix.children.size()) +
               ", but the full pytree has a subtree of the same type but of length " + std::to_string(full.children.size()) + ".";
    for (std::size_t i = 0; i < prefix.children.size(); ++i)
        if (prefix.keys[i].text != full.keys[i].text)
            return "pytree structure error: different pytree metadata" + place + " has the key " + prefix.keys[i].text +
                   ", but at the same key path the full pytree has the key " + full.keys[i].text + ".";
    for (std::size_t i = 0; i < prefix.children.size(); ++i) {
        path.push_back(prefix.keys[i]);
        std::string inner = difference(*prefix.children[i], *full.children[i], path, name, strict);
        path.pop_back();
        if (!inner.empty()) return inner;
    }
    if (prefix.kind == Kind::fixed && !same(prefix, full))
        return "pytree structure error: different pytree metadata" + place + " has the static value " + prefix.type +
               ", but the full pytree has " + full.type + ".";
    return {};
}

}  // namespace

void trees_differ(const PyTreeDef& a, const PyTreeDef& b, const char* name) {
    std::vector<TreeNode::Key> path;
    std::string text = difference(*a.node(), *b.node(), path, std::string(name) + " tree", true);
    throw Error(ErrorCode::BadUsage, text.empty() ? "trees differ: " + a.str() + " and " + b.str() : text);
}

}  // namespace jaxscope::jax::detail
