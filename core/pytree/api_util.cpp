// SPDX-License-Identifier: Apache-2.0
#include <jaxscope/api_util.h>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "pytree/prefix.h"
#include "pytree/tree.h"

namespace jaxscope::jax {

namespace {

using detail::TreeNode;
using AxisKind = AxisTree::Kind;

}  // namespace

std::vector<Axis> flatten_axes(const std::string& name, const PyTreeDef& tree, const AxisTree& axes, bool tupled_args, Where where) {
    const std::vector<std::string> problems = detail::prefix_problems(name, tree, axes);
    if (problems.empty()) return detail::spread_prefix(axes, tree);
    std::string hint;
    if (tupled_args) {
        hint = fmt::format(" Note that {} that are non-trivial pytrees should always be wrapped in a tuple representing the argument list.",
                           name);
        const bool one = tree.children().size() == 1 && axes.kind() == AxisKind::tuple && axes.items().size() != 1;
        if (one)
            hint += fmt::format(
                " In particular, you're passing in a single argument which means that {} might need to be wrapped in a "
                "singleton tuple.",
                name);
    }
    throw Error(ErrorCode::BadUsage,
                fmt::format("{} specification must be a tree prefix of the corresponding value; {}\n  Mismatch details ({} found):\n  {}",
                            name, hint, problems.size(), fmt::join(problems, "\n  ")))
        .at({where.file, where.line, 0});
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

std::vector<int> rebase_donate_argnums(const std::vector<int>& donate_argnums, const std::vector<int>& static_argnums, Where where) {
    const std::set<int> donated(donate_argnums.begin(), donate_argnums.end()), fixed(static_argnums.begin(), static_argnums.end());
    std::vector<int> out;
    for (const int d : donated) {
        if (fixed.count(d))
            throw Error(ErrorCode::BadUsage, fmt::format("`static_argnums` [{}] and `donate_argnums` [{}] cannot intersect.",
                                                         fmt::join(fixed, ", "), fmt::join(donated, ", ")))
                .at({where.file, where.line, 0});
        out.push_back(d - static_cast<int>(std::distance(fixed.begin(), fixed.lower_bound(d))));
    }
    return out;
}

namespace detail {
void expected_another_tree(const PyTreeDef& expected, const PyTreeDef& got) {
    throw Error(ErrorCode::BadUsage, fmt::format("Expected {}, got {}", expected.str(), got.str()));
}
void Store::set(PyTreeDef tree) {
    if (set_) throw Error(ErrorCode::BadUsage, "Store occupied");
    tree_ = std::move(tree);
    set_ = true;
}
const PyTreeDef& Store::operator()() const {
    if (!set_) throw Error(ErrorCode::BadUsage, "Store empty");
    return tree_;
}

namespace {
/// Positional arguments as they come, then keyword arguments by name.
std::vector<std::size_t> order_of_call(const char* const* names, std::size_t n) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return names[b] && (!names[a] || std::string_view(names[a]) < names[b]); });
    return order;
}
}  // namespace

std::vector<Array> leaves_of_call(const char* const* names, const std::vector<Array>* leaves, std::size_t n) {
    std::vector<Array> out;
    for (const std::size_t i : order_of_call(names, n)) out.insert(out.end(), leaves[i].begin(), leaves[i].end());
    return out;
}
std::vector<std::size_t> first_leaves(const char* const* names, const std::vector<std::size_t>& sizes) {
    std::vector<std::size_t> out(sizes.size());
    std::size_t first = 0;
    for (const std::size_t i : order_of_call(names, sizes.size())) {
        out[i] = first;
        first += sizes[i];
    }
    return out;
}
PyTreeDef tree_of_call(const CallPart* given, std::size_t n) {
    struct Parts {
        std::vector<Description> args;
        std::vector<std::pair<std::string, Description>> kwargs;
    } parts;
    std::vector<const char*> names;
    for (std::size_t i = 0; i < n; ++i) names.push_back(given[i].name);
    for (const std::size_t i : order_of_call(names.data(), n)) {
        if (given[i].name)
            parts.kwargs.emplace_back(given[i].name, given[i].value);
        else
            parts.args.push_back(given[i].value);
    }
    return make_tree(&parts, [](const void* value, TreeWriter& w) {
        const auto& p = *static_cast<const Parts*>(value);
        w.open(AxisKind::tuple, "", 2);
        w.key("0");
        w.open(AxisKind::tuple, "", p.args.size());
        for (std::size_t i = 0; i < p.args.size(); ++i) {
            w.key(std::to_string(i));
            describe(p.args[i], w);
        }
        w.close();
        w.key("1");
        w.open(AxisKind::dict, "", p.kwargs.size());
        for (const auto& [name, d] : p.kwargs) {
            w.key(quoted_text(name));
            describe(d, w);
        }
        w.close();
        w.close();
    });
}
std::string formatted(std::string pattern, const std::string& name, const std::string& doc) {
    const auto put = [&](const std::string& mark, const std::string& text) {
        for (std::size_t at = 0; (at = pattern.find(mark, at)) != std::string::npos; at += text.size())
            pattern.replace(at, mark.size(), text);
    };
    put("{fun}", name);
    put("{doc}", doc);
    return pattern;
}
}  // namespace detail

}  // namespace jaxscope::jax
