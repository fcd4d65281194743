// SPDX-License-Identifier: Apache-2.0
#pragma once
// JAX's api_util: prefixes of trees, argument numbers, donation by leaf.
#include <jaxscope/tree_map.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax {

/// A specification that stands for the leaves of a tree: one for all leaves below, or a tuple, list or dict of specifications.
template <class Leaf>
class PrefixTree {
public:
    using Kind = detail::TreeKind;
    template <class V>
    requires std::is_convertible_v<V, Leaf> PrefixTree(V&& leaf)
        : PrefixTree(Leaf(static_cast<V&&>(leaf)), Kind::leaf) {}  // NOLINT(google-explicit-constructor)
    PrefixTree(const PrefixTree&);
    PrefixTree(PrefixTree&&) noexcept;
    PrefixTree& operator=(const PrefixTree&);
    PrefixTree& operator=(PrefixTree&&) noexcept;
    ~PrefixTree();
    static PrefixTree tuple(std::vector<PrefixTree> items);
    static PrefixTree list(std::vector<PrefixTree> items);
    static PrefixTree dict(std::vector<std::pair<std::string, PrefixTree>> items);
    Kind kind() const { return kind_; }
    const Leaf& leaf() const { return leaf_; }
    /// As they were given: a dict's aren't sorted.
    const std::vector<std::string>& keys() const { return keys_; }
    const std::vector<PrefixTree>& items() const { return items_; }

private:
    PrefixTree(Leaf leaf, Kind kind);
    PrefixTree(Kind kind, std::vector<std::string> keys, std::vector<PrefixTree> items);
    Kind kind_ = Kind::leaf;
    Leaf leaf_;
    std::vector<std::string> keys_;
    std::vector<PrefixTree> items_;
};
using AxisTree = PrefixTree<Axis>;
/// One axis per leaf. Throws "NAME specification must be a tree prefix of the corresponding value" with the places that don't fit.
/// `tupled_args`: the tree is that of an argument list, and the error says so.
std::vector<Axis> flatten_axes(const std::string& name, const PyTreeDef& tree, const AxisTree& axes, bool tupled_args = false,
                               Where where = {});

/// Per leaf of the positional arguments, then of the keyword arguments sorted by name: is it donated?
std::vector<bool> donation_vector(const std::vector<int>& donate_argnums, const std::vector<std::string>& donate_argnames,
                                  const std::vector<PyTreeDef>& args, const std::vector<std::pair<std::string, PyTreeDef>>& kwargs);
/// Numbers of donated arguments among those that aren't static: sorted, without duplicates. Throws where both hold an argument.
std::vector<int> rebase_donate_argnums(const std::vector<int>& donate_argnums, const std::vector<int>& static_argnums, Where where = {});

/// One step of the way to a leaf: a dict's key, a place in a tuple or a list, a member of a struct.
struct KeyEntry {
    enum class Kind : unsigned char { dict, sequence, attribute };
    Kind kind;
    std::string key;  ///< as Python writes it: `'a'`, `0`; of a member its name
    /// `DictKey(key='a')`, `SequenceKey(idx=0)`, `GetAttrKey(name='w')`
    std::string str() const;
    friend bool operator==(const KeyEntry&, const KeyEntry&) = default;
};
using KeyPath = std::vector<KeyEntry>;
struct KeystrOptions {
    Flag simple = false;  ///< without brackets, quotes and points
    std::string separator = {};
};
/// `['a'].w[0]`; simple with the separator "/": `a/w/0`.
std::string keystr(const KeyPath& path, const KeystrOptions& options = {});
/// The way to each leaf.
std::vector<KeyPath> key_paths(const PyTreeDef& tree);

namespace detail {
std::vector<std::pair<KeyPath, Array>> leaves_with_paths(const PyTreeDef& tree, const std::vector<Array>& leaves);
}
template <class T>
std::vector<std::pair<KeyPath, Array>> tree_leaves_with_path(const T& t) {
    return detail::leaves_with_paths(tree_structure(t), tree_leaves(t));
}
template <class T>
std::pair<std::vector<std::pair<KeyPath, Array>>, PyTreeDef> tree_flatten_with_path(const T& t) {
    return {tree_leaves_with_path(t), tree_structure(t)};
}
/// f(path, leaf, leaf of the other trees...) for every leaf.
template <class F, class T, class... More>
T tree_map_with_path(F&& f, const T& t, const More&... more) {
    const auto paths = key_paths(tree_structure(t));
    std::size_t n = 0;
    return tree_map([&](const auto&... leaves) { return f(static_cast<const KeyPath&>(paths[n++]), leaves...); }, t, more...);
}
/// f(f(f(initial, leaf 0), leaf 1), ...)
template <class F, class T, class R>
R tree_reduce(F&& f, const T& t, R initial) {
    detail::each_leaf(t, [&](const Array& a) { initial = f(initial, a); });
    return initial;
}
namespace detail {
[[noreturn]] void refuse_empty_reduce();
}
/// f(f(leaf 0, leaf 1), ...)
template <class F, class T>
Array tree_reduce(F&& f, const T& t) {
    Array out;
    detail::each_leaf(t, [&](const Array& a) { out = out.has_value() ? Array(f(static_cast<const Array&>(out), a)) : a; });
    if (!out.has_value()) detail::refuse_empty_reduce();
    return out;
}

namespace detail {
[[noreturn]] void refuse_transpose(const PyTreeDef& given, const PyTreeDef& wanted, const Where& where);
}
/// A tree with `outer`'s structure, where each leaf is a tree like `inner`, turned inside out: `inner`'s structure, with a tree like
/// `outer` for each leaf. Throws JAX's error where it has other numbers of leaves.
template <class Outer, class Inner, class T>
auto tree_transpose(const Outer& outer, const Inner& inner, const T& tree, Where where = {}) {
    const std::vector<Array> flat = tree_leaves(tree);
    const std::size_t rows = tree_leaves(outer).size(), columns = tree_leaves(inner).size();
    if (flat.size() != rows * columns) {
        const auto wanted = detail::product_of<typename detail::Product<Outer, Inner>::type>(outer, [&] { return inner; });
        detail::refuse_transpose(tree_structure(tree), tree_structure(wanted), where);
    }
    std::size_t column = 0;
    return detail::product_of<typename detail::Product<Inner, Outer>::type>(inner, [&] {
        std::vector<Array> leaves;
        for (std::size_t row = 0; row < rows; ++row) detail::append(leaves, flat[row * columns + column]);
        ++column;
        return tree_unflatten(outer, leaves, where);
    });
}
/// A tree like `full` with the leaf of the prefix that stands above each of its leaves.
template <class P, class T>
T tree_broadcast(const P& prefix, const T& full, Where where = {}) {
    detail::check_side<void>(prefix, full, where);
    T out(full);
    const auto spread = [](const Array& leaf, auto& below) { detail::each_leaf(below, [&](Array& a) { a = leaf; }); };
    detail::walk_together<void>([] {}, spread, prefix, out);
    return out;
}
std::vector<PyTreeDef> treedef_children(const PyTreeDef& tree);
bool treedef_is_leaf(const PyTreeDef& tree);
PyTreeDef treedef_tuple(const std::vector<PyTreeDef>& trees);

/// Are all leaves true (numbers that aren't zero)? Asks for their values.
template <class T>
bool tree_all(const T& t) {
    bool every = true;
    detail::each_leaf(t, [&](const Array& a) { every = every && static_cast<bool>(a); });
    return every;
}

/// jax.tree: the same functions by shorter names.
namespace tree {
inline constexpr detail::TreeMap map{};
template <class T>
std::vector<Array> leaves(const T& t) {
    return tree_leaves(t);
}
template <class T>
bool all(const T& t) {
    return tree_all(t);
}
template <class T>
PyTreeDef structure(const T& t) {
    return tree_structure(t);
}
template <class T>
auto flatten(const T& t) {
    return tree_flatten(t);
}
template <class T>
T unflatten(const T& prototype, const std::vector<Array>& leaves, Where where = {}) {
    return tree_unflatten(prototype, leaves, where);
}
template <class F, class T, class R>
R reduce(F&& f, const T& t, R initial) {
    return tree_reduce(static_cast<F&&>(f), t, static_cast<R&&>(initial));
}
template <class F, class T, class... More>
T map_with_path(F&& f, const T& t, const More&... more) {
    return tree_map_with_path(static_cast<F&&>(f), t, more...);
}
template <class T>
auto leaves_with_path(const T& t) {
    return tree_leaves_with_path(t);
}
template <class T>
auto flatten_with_path(const T& t) {
    return tree_flatten_with_path(t);
}
template <class T, class Node>
auto leaves(const T& t, LeafType<Node> leaf) {
    return tree_leaves(t, leaf);
}
template <class T, class Node>
auto flatten(const T& t, LeafType<Node> leaf, Where where = {}) {
    return tree_flatten(t, leaf, where);
}
template <class T, class Node>
PyTreeDef structure(const T& t, LeafType<Node> leaf) {
    return tree_structure(t, leaf);
}
template <class Outer, class Inner, class T>
auto transpose(const Outer& outer, const Inner& inner, const T& t, Where where = {}) {
    return tree_transpose(outer, inner, t, where);
}
template <class P, class T>
T broadcast(const P& prefix, const T& full, Where where = {}) {
    return tree_broadcast(prefix, full, where);
}
}  // namespace tree
/// The arrays as they are: here they lie in memory that a program can read.
template <class T>
T device_get(const T& t) {
    return t;
}

}  // namespace jaxscope::jax
