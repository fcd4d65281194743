// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/pytree: shapes of trees, without the types that they came of. In: values with what the public headers say of their types
// (jaxscope/pytree.h). Out: treedefs that compare, hash and print as JAX's, key paths, and the functions of JAX's api_util on flat lists.
// Never here: arrays, traces.
#include <atomic>
#include <string>
#include <vector>

#include <jaxscope/pytree.h>

namespace jaxscope::jax::detail {

/// Writes a tree, from the outside in.
class TreeWriter {
public:
    using Kind = TreeKind;
    virtual void open(Kind kind, const std::string& type, std::size_t children) = 0;
    virtual void name(const std::string& member) = 0;  ///< of the next child: `.w`
    virtual void key(const std::string& repr) = 0;     ///< `['a']`, `[0]`
    virtual void close() = 0;
    virtual void leaf() = 0;
    virtual void none() = 0;
    virtual void fixed(const void* value, const FixedType& type) = 0;

protected:
    ~TreeWriter() = default;
};
/// Writes the tree of a value by its type. `leaf`: nodes of this type are leaves, arrays even without a value.
void describe(const Description& d, TreeWriter& w, const TreeType* leaf = nullptr);
/// The tree that `describe` writes of something else.
PyTreeDef make_tree(const void* value, void (*describe)(const void* value, TreeWriter& w));

/// One node of a tree; children are shared and never change.
struct TreeNode {
    using Kind = TreeKind;
    struct Key {
        bool member = false;
        std::string text;
    };
    struct Fixed {
        void* value = nullptr;
        bool (*equal)(const void*, const void*) = nullptr;
        void (*drop)(void*) = nullptr;
    };
    mutable std::atomic<int> refs{1};
    Kind kind = Kind::none;
    std::string type;  ///< of a struct; of a fixed value its text
    std::vector<Key> keys;
    std::vector<const TreeNode*> children;
    Fixed fixed;
    std::size_t leaves = 0, nodes = 1, hash = 0;
    TreeNode() = default;
    TreeNode(const TreeNode&) = delete;
    TreeNode& operator=(const TreeNode&) = delete;
    ~TreeNode();
};
bool same(const TreeNode& a, const TreeNode& b);
/// A tuple of trees; a dict of them, keys sorted. Only their shape is taken over: a static value has none.
PyTreeDef tuple_of_trees(const std::vector<PyTreeDef>& trees);
PyTreeDef dict_of_trees(const std::vector<std::pair<std::string, PyTreeDef>>& trees);
/// A key without its quotes, as it is; what isn't quoted stays.
std::string unquoted(const std::string& repr);
/// `['a'].w[0]`; plain: `a/w/0`.
std::string keystr(const std::vector<TreeNode::Key>& path, bool simple = false, const std::string& separator = "");
/// What JAX keeps of a node beside its children, a tuple: a dict's keys, a struct's static values.
std::string metadata(const TreeNode& n);
/// JAX's sentences on each place where `full` differs from `prefix`. `leaf_class`: what leaves are called.
void structure_differences(std::vector<std::string>& out, const TreeNode& prefix, const TreeNode& full, std::vector<TreeNode::Key>& path,
                           const std::string& name, const char* leaf_class, bool leaves_are_prefixes);
/// JAX's name of a node's type, for errors: "tuple", "list", "dict".
std::string kind_name(const TreeNode& n);
/// A place where two trees differ, in JAX's words: `['b']`, "a tuple of length 2", "a pytree leaf", "their Python types differ".
struct TreeDifference {
    std::string path, one, other, why;
};
/// All of them, from the outside in.
std::vector<TreeDifference> tree_differences(const PyTreeDef& a, const PyTreeDef& b);

}  // namespace jaxscope::jax::detail
