#include <jaxscope/tree.h>

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "pytree/tree.h"

namespace jaxscope::jax {

AxisTree AxisTree::dict(std::vector<std::pair<std::string, AxisTree>> items) {
    std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> keys;
    std::vector<AxisTree> values;
    for (auto& [key, value] : items) {
        keys.push_back("'" + key + "'");
        values.push_back(std::move(value));
    }
    return AxisTree(Kind::dict, std::move(keys), std::move(values));
}

namespace {

using detail::TreeNode;
using Kind = AxisTree::Kind;

const char* name_of(Kind k) { return k == Kind::dict ? "dict" : k == Kind::list ? "list" : "tuple"; }

/// Key sets of two dicts that differ, as JAX tells it.
std::string key_difference(const AxisTree& prefix, const TreeNode& full) {
    std::string ours, theirs, only_one;
    std::set<std::string> a(prefix.keys().begin(), prefix.keys().end()), b;
    const auto plain = [](const std::string& k) { return k.size() > 1 && k.front() == '\'' ? k.substr(1, k.size() - 2) : k; };
    for (const TreeNode::Key& k : full.keys) b.insert(k.text);
    for (const std::string& k : a) ours += (ours.empty() ? "" : " ") + plain(k);
    for (const std::string& k : b) theirs += (theirs.empty() ? "" : " ") + plain(k);
    for (const std::string& k : a)
        if (!b.count(k)) only_one += (only_one.empty() ? "" : " ") + plain(k);
    for (const std::string& k : b)
        if (!a.count(k)) only_one += (only_one.empty() ? "" : " ") + plain(k);
    return fmt::format(
        "with {} child keys\n    {}\nbut at the same key path the full pytree has a subtree of the same type but with {} child "
        "keys\n    {}\nso the symmetric difference on key sets is\n    {}",
        a.size(), ours, b.size(), theirs, only_one);
}

struct Spreader {
    const std::string& name;
    std::vector<Axis> out;
    std::vector<TreeNode::Key> path;
    std::string problem;

    bool spread(const AxisTree& axes, const TreeNode& full) {
        if (axes.kind() == Kind::leaf) {
            out.insert(out.end(), full.leaves, axes.axis());
            return true;
        }
        const std::string place =
            fmt::format(" at key path\n    {}{}\nAt that key path, the prefix pytree {}{} has a subtree of type\n    <class '{}'>\n", name,
                        keystr(path), name, keystr(path), name_of(axes.kind()));
        if (axes.kind() != full.kind) {
            problem =
                "pytree structure error: different types" + place +
                fmt::format("but at the same key path the full pytree has a subtree of different type\n    <class '{}'>.", kind_name(full));
            return false;
        }
        bool keys = axes.items().size() == full.children.size();
        for (std::size_t i = 0; keys && axes.kind() == Kind::dict && i < axes.keys().size(); ++i)
            keys = axes.keys()[i] == full.keys[i].text;
        if (!keys) {
            problem = "pytree structure error: different numbers of pytree children" + place +
                      (axes.kind() == Kind::dict
                           ? key_difference(axes, full)
                           : fmt::format("with {} children, but the full pytree has {}.", axes.items().size(), full.children.size()));
            return false;
        }
        for (std::size_t i = 0; i < axes.items().size(); ++i) {
            path.push_back(full.keys[i]);
            if (!spread(axes.items()[i], *full.children[i])) return false;
            path.pop_back();
        }
        return true;
    }
};

}  // namespace

std::vector<Axis> flatten_axes(const std::string& name, const PyTreeDef& tree, const AxisTree& axes) {
    Spreader s{name, {}, {}, {}};
    if (!s.spread(axes, *tree.node())) {
        std::string indented;
        for (const char c : s.problem) indented += c;
        throw Error(
            ErrorCode::BadUsage,
            name + " specification must be a tree prefix of the corresponding value;\n  Mismatch details (1 found):\n  " + indented);
    }
    return s.out;
}

std::vector<bool> donation_vector(const std::vector<int>& donate_argnums, const std::vector<std::string>& donate_argnames,
                                  const std::vector<PyTreeDef>& args, const std::vector<std::pair<std::string, PyTreeDef>>& kwargs) {
    std::vector<bool> out;
    for (std::size_t i = 0; i < args.size(); ++i)
        out.insert(out.end(), args[i].num_leaves(), std::count(donate_argnums.begin(), donate_argnums.end(), static_cast<int>(i)) > 0);
    auto sorted = kwargs;
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [name, tree] : sorted)
        out.insert(out.end(), tree.num_leaves(), std::count(donate_argnames.begin(), donate_argnames.end(), name) > 0);
    return out;
}

std::vector<int> rebase_donate_argnums(const std::vector<int>& donate_argnums, const std::vector<int>& static_argnums) {
    const std::set<int> donated(donate_argnums.begin(), donate_argnums.end()), fixed(static_argnums.begin(), static_argnums.end());
    std::vector<int> out;
    for (const int d : donated) {
        if (fixed.count(d))
            throw Error(ErrorCode::BadUsage,
                        fmt::format("`static_argnums` and `donate_argnums` cannot intersect: both hold argument {}", d));
        out.push_back(d - static_cast<int>(std::distance(fixed.begin(), fixed.lower_bound(d))));
    }
    return out;
}

}  // namespace jaxscope::jax
