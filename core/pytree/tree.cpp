// SPDX-License-Identifier: Apache-2.0
#include "pytree/tree.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <utility>

#include <jaxscope/tree.h>
#include <jaxscope/tree_of.h>

#include "base/error.h"
#include "base/intern.h"

namespace jaxscope::jax {

namespace detail {

using Kind = TreeWriter::Kind;

TreeNode::~TreeNode() {
    for (const TreeNode* c : children) release_tree(c);
    if (fixed.value) fixed.drop(fixed.value);
}

void retain_tree(const TreeNode* t) noexcept { t->refs.fetch_add(1, std::memory_order_relaxed); }
void release_tree(const TreeNode* t) noexcept {
    if (t->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete t;
}

namespace {

/// Builds the nodes from the outside in; a node's figures are summed when it is closed.
class Maker final : public TreeWriter {
public:
    void open(Kind kind, const std::string& type, std::size_t children) override {
        auto n = std::make_unique<TreeNode>();
        n->kind = kind;
        n->type = type;
        n->children.reserve(children);
        stack_.push_back(std::move(n));
    }
    void name(const std::string& member) override { stack_.back()->keys.push_back({true, member}); }
    void key(const std::string& repr) override { stack_.back()->keys.push_back({false, repr}); }
    void close() override {
        std::unique_ptr<TreeNode> n = std::move(stack_.back());
        stack_.pop_back();
        std::size_t h = hash_mix(static_cast<std::size_t>(n->kind), std::hash<std::string>{}(n->type));
        for (const TreeNode::Key& k : n->keys) h = hash_mix(h, std::hash<std::string>{}(k.text));
        for (const TreeNode* c : n->children) {
            n->leaves += c->leaves;
            n->nodes += c->nodes;
            h = hash_mix(h, c->hash);
        }
        n->hash = h;
        add(std::move(n));
    }
    void leaf() override { simple(Kind::leaf); }
    void none() override { simple(Kind::none); }
    void fixed(const void* value, const FixedType& type) override {
        auto n = std::make_unique<TreeNode>();
        n->kind = Kind::fixed;
        n->type = type.text(value);
        n->fixed = {type.copy(value), type.equal, type.drop};
        n->hash = hash_mix(17, std::hash<std::string>{}(n->type));
        add(std::move(n));
    }
    ~Maker() {
        if (root_) release_tree(root_);
    }
    const TreeNode* take() { return std::exchange(root_, nullptr); }

private:
    /// Leaves and Nones are as many as arrays, and all alike: there is one node of each.
    void simple(Kind kind) {
        static const TreeNode* const leaf = make_simple(Kind::leaf);
        static const TreeNode* const none = make_simple(Kind::none);
        const TreeNode* n = kind == Kind::leaf ? leaf : none;
        retain_tree(n);
        add(n);
    }
    static const TreeNode* make_simple(Kind kind) {
        auto* n = new TreeNode;
        n->kind = kind;
        n->leaves = kind == Kind::leaf;
        n->hash = static_cast<std::size_t>(kind) + 1;
        return n;
    }
    void add(std::unique_ptr<TreeNode> n) { add(n.release()); }
    void add(const TreeNode* n) {
        if (stack_.empty()) {
            if (root_) release_tree(root_);
            root_ = n;
        } else {
            stack_.back()->children.push_back(n);
        }
    }
    std::vector<std::unique_ptr<TreeNode>> stack_;
    const TreeNode* root_ = nullptr;
};

void print(const TreeNode& n, std::string& out);

void print_children(const TreeNode& n, std::string& out, const char* begin, const char* end) {
    out += begin;
    bool first = true;
    for (std::size_t i = 0; i < n.children.size(); ++i) {
        if (n.kind == Kind::custom && n.children[i]->kind == Kind::fixed) continue;
        if (!first) out += ", ";
        first = false;
        if (n.kind == Kind::dict) out += n.keys[i].text + ": ";
        print(*n.children[i], out);
    }
    if (n.kind == Kind::tuple && n.children.size() == 1) out += ",";
    out += end;
}

void print(const TreeNode& n, std::string& out) {
    switch (n.kind) {
        case Kind::leaf:
            out += '*';
            break;
        case Kind::none:
            out += "None";
            break;
        case Kind::fixed:
            out += n.type;
            break;
        case Kind::tuple:
            print_children(n, out, "(", ")");
            break;
        case Kind::list:
            print_children(n, out, "[", "]");
            break;
        case Kind::dict:
            print_children(n, out, "{", "}");
            break;
        case Kind::custom:
            print_children(n, out, ("CustomNode(" + n.type + "[" + metadata(n) + "], [").c_str(), "])");
            break;
    }
}

template <class F>
void each_path(const TreeNode& n, std::vector<TreeNode::Key>& path, const F& f) {
    if (n.kind == Kind::leaf) return f(path);
    for (std::size_t i = 0; i < n.children.size(); ++i) {
        path.push_back(n.keys[i]);
        each_path(*n.children[i], path, f);
        path.pop_back();
    }
}
/// The steps of a path; a variant's alternative stands for the variant.
KeyPath steps_of(const TreeNode& root, const std::vector<TreeNode::Key>& path) {
    KeyPath out;
    const TreeNode* at = &root;
    for (const TreeNode::Key& k : path) {
        std::size_t child = 0;
        while (at->keys[child].text != k.text) ++child;
        using Step = KeyEntry::Kind;
        if (!k.text.empty()) out.push_back({k.member ? Step::attribute : at->kind == Kind::dict ? Step::dict : Step::sequence, k.text});
        at = at->children[child];
    }
    return out;
}

}  // namespace

namespace {
void write_tree(const TreeNode& n, TreeWriter& w) {
    if (n.kind == Kind::leaf) return w.leaf();
    if (n.kind == Kind::none || n.kind == Kind::fixed) return w.none();
    w.open(n.kind, n.type, n.children.size());
    for (std::size_t i = 0; i < n.children.size(); ++i) {
        n.keys[i].member ? w.name(n.keys[i].text) : w.key(n.keys[i].text);
        write_tree(*n.children[i], w);
    }
    w.close();
}
}  // namespace
PyTreeDef tuple_of_trees(const std::vector<PyTreeDef>& trees) {
    return make_tree(&trees, [](const void* value, TreeWriter& w) {
        const auto& all = *static_cast<const std::vector<PyTreeDef>*>(value);
        w.open(Kind::tuple, "", all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            w.key(std::to_string(i));
            write_tree(*all[i].node(), w);
        }
        w.close();
    });
}
PyTreeDef dict_of_trees(const std::vector<std::pair<std::string, PyTreeDef>>& trees) {
    return make_tree(&trees, [](const void* value, TreeWriter& w) {
        const auto& all = *static_cast<const std::vector<std::pair<std::string, PyTreeDef>>*>(value);
        w.open(Kind::dict, "", all.size());
        for (const auto& [key, tree] : all) {
            w.key(quoted_text(key));
            write_tree(*tree.node(), w);
        }
        w.close();
    });
}

bool same(const TreeNode& a, const TreeNode& b) {
    if (&a == &b) return true;
    if (a.hash != b.hash || a.kind != b.kind || a.type != b.type || a.children.size() != b.children.size()) return false;
    if (a.kind == Kind::fixed) return a.fixed.equal == b.fixed.equal && a.fixed.equal(a.fixed.value, b.fixed.value);
    for (std::size_t i = 0; i < a.children.size(); ++i)
        if (a.keys[i].text != b.keys[i].text || !same(*a.children[i], *b.children[i])) return false;
    return true;
}

std::string metadata(const TreeNode& n) {
    std::string out;
    int items = 0;
    const auto add = [&](const std::string& text) { out += (items++ ? ", " : "") + text; };
    for (std::size_t i = 0; i < n.children.size(); ++i) {
        if (n.kind == Kind::dict) add(n.keys[i].text);
        if (n.kind == Kind::custom && n.children[i]->kind == Kind::fixed) add(n.children[i]->type);
    }
    if (n.kind == Kind::fixed) add(n.type);
    return "(" + out + (items == 1 ? ",)" : ")");
}

std::string unquoted(const std::string& repr) {
    if (repr.size() < 2 || (repr.front() != '\'' && repr.front() != '"')) return repr;
    std::string out;
    for (std::size_t i = 1; i + 1 < repr.size(); ++i) {
        if (repr[i] != '\\') {
            out += repr[i];
            continue;
        }
        const char c = repr[++i];
        if (c == 'x') {
            out += static_cast<char>(std::stoi(repr.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
    }
    return out;
}

std::string keystr(const std::vector<TreeNode::Key>& path, bool simple, const std::string& separator) {
    std::string out;
    for (const TreeNode::Key& k : path) {
        if (k.text.empty()) continue;  // a variant's alternative stands for the variant
        if (simple) {
            out += (out.empty() ? "" : separator) + unquoted(k.text);
        } else {
            out += k.member ? "." + k.text : "[" + k.text + "]";
        }
    }
    return out;
}

std::string kind_name(const TreeNode& n) {
    switch (n.kind) {
        case Kind::leaf:
            return "leaf";
        case Kind::none:
            return "NoneType";
        case Kind::fixed:
            return "static";
        case Kind::tuple:
            return "tuple";
        case Kind::list:
            return "list";
        case Kind::dict:
            return "dict";
        case Kind::custom:
            break;
    }
    return n.type;
}

PyTreeDef make_tree(const Description& d) {
    Maker m;
    describe(d, m);
    return PyTreeDef(m.take());
}
PyTreeDef make_tree(const Description& d, const TreeType* leaf) {
    Maker m;
    describe(d, m, leaf);
    return PyTreeDef(m.take());
}
PyTreeDef make_tree(const void* value, void (*describe)(const void* value, TreeWriter& w)) {
    Maker m;
    describe(value, m);
    return PyTreeDef(m.take());
}

std::string function_text(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || !info.dli_sname || info.dli_saddr != address) return fmt::format("<function at {}>", address);
    int failed = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &failed), std::free);
    const std::string name = plain ? plain.get() : info.dli_sname;
    return "<function " + name.substr(0, name.find('(')) + ">";
}
Places::Places() = default;
Places::~Places() { delete[] first_; }
void Places::add(const void* entry) {
    if (n_ == room_) {
        room_ = room_ ? 2 * room_ : 16;
        const void** const grown = new const void*[room_];
        std::copy(first_, first_ + n_, grown);
        delete[] first_;
        first_ = grown;
    }
    first_[n_++] = entry;
}
void Places::sort(bool (*less)(const void*, const void*)) { std::sort(first_, first_ + n_, less); }

void no_such_member(Name name) {
    throw Error(ErrorCode::BadUsage, "TreeOf: the member isn't one of those that are the tree of " + std::string(name.text, name.size));
}
std::string joined_names(const Name* names, std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) (out += i ? ", " : "").append(names[i].text, names[i].size);
    return out;
}
void check_leaf_count(const PyTreeDef& tree, std::size_t n, const Where& where) {
    if (n == tree.num_leaves()) return;
    const std::string wanted = std::to_string(tree.num_leaves());
    throw Error(ErrorCode::BadUsage, n < tree.num_leaves()
                                         ? "Too few leaves for PyTreeDef; expected " + wanted + ", got " + std::to_string(n)
                                         : "Too many leaves for PyTreeDef; expected " + wanted + ".")
        .at({where.file, where.line, 0});
}

}  // namespace detail

PyTreeDef::PyTreeDef(const PyTreeDef& o) noexcept : tree_(o.tree_) {
    if (tree_) detail::retain_tree(tree_);
}
PyTreeDef::~PyTreeDef() {
    if (tree_) detail::release_tree(tree_);
}
std::size_t PyTreeDef::num_leaves() const { return tree_ ? tree_->leaves : 0; }
std::size_t PyTreeDef::num_nodes() const { return tree_ ? tree_->nodes : 0; }
std::size_t PyTreeDef::hash() const { return tree_ ? tree_->hash : 0; }
std::string PyTreeDef::str() const {
    std::string out;
    if (tree_) detail::print(*tree_, out);
    return "PyTreeDef(" + out + ")";
}
std::vector<PyTreeDef> PyTreeDef::children() const {
    std::vector<PyTreeDef> out;
    if (tree_)
        for (const detail::TreeNode* c : tree_->children) {
            detail::retain_tree(c);
            out.emplace_back(c);
        }
    return out;
}
std::vector<std::string> PyTreeDef::paths() const { return paths(false, ""); }
std::vector<std::string> PyTreeDef::paths(bool simple, const std::string& separator) const {
    std::vector<std::string> out;
    std::vector<detail::TreeNode::Key> path;
    if (tree_) detail::each_path(*tree_, path, [&](const auto& p) { out.push_back(detail::keystr(p, simple, separator)); });
    return out;
}
std::vector<KeyPath> key_paths(const PyTreeDef& tree) {
    std::vector<KeyPath> out;
    std::vector<detail::TreeNode::Key> path;
    if (const detail::TreeNode* root = tree.node())
        detail::each_path(*root, path, [&](const auto& p) { out.push_back(detail::steps_of(*root, p)); });
    return out;
}
std::vector<std::pair<KeyPath, Array>> detail::leaves_with_paths(const PyTreeDef& tree, const std::vector<Array>& leaves) {
    std::vector<KeyPath> paths = key_paths(tree);
    std::vector<std::pair<KeyPath, Array>> out;
    for (std::size_t i = 0; i < leaves.size(); ++i) out.emplace_back(std::move(paths[i]), leaves[i]);
    return out;
}
std::string keystr(const KeyPath& path, const KeystrOptions& options) {
    std::vector<detail::TreeNode::Key> keys;
    for (const KeyEntry& e : path) keys.push_back({e.kind == KeyEntry::Kind::attribute, e.key});
    return detail::keystr(keys, options.simple, options.separator);
}
std::string KeyEntry::str() const {
    switch (kind) {
        case Kind::dict:
            return "DictKey(key=" + key + ")";
        case Kind::sequence:
            return "SequenceKey(idx=" + key + ")";
        case Kind::attribute:
            break;
    }
    return "GetAttrKey(name='" + key + "')";
}
bool operator==(const PyTreeDef& a, const PyTreeDef& b) {
    if (!a.tree_ || !b.tree_) return a.tree_ == b.tree_;
    return detail::same(*a.tree_, *b.tree_);
}
// JAX asks for one node: None and empty containers are such, too.
bool treedef_is_leaf(const PyTreeDef& tree) { return tree.node() && tree.children().empty(); }
PyTreeDef treedef_tuple(const std::vector<PyTreeDef>& trees) { return detail::tuple_of_trees(trees); }
void detail::refuse_transpose(const PyTreeDef& given, const PyTreeDef& wanted, const Where& where) {
    throw Error(ErrorCode::TypeMismatch, "Mismatch\n" + given.str() + "\n != \n" + wanted.str())
        .at({where.file, where.line, 0})
        .advise("the tree to transpose has outer's structure, with inner's in the place of each leaf");
}
std::ostream& operator<<(std::ostream& out, const PyTreeDef& d) { return out << d.str(); }

}  // namespace jaxscope::jax
