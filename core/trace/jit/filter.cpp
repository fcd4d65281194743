// SPDX-License-Identifier: Apache-2.0
// equinox's filtered transformations: what of them isn't a template.
#include <jaxscope/donation.h>
#include <jaxscope/filter_rules.h>
#include <jaxscope/filter_trees.h>

#include <fmt/core.h>

#include <atomic>
#include <cstdio>

#include "base/error.h"
#include "ir/print/printer.h"
#include "ir/types/element.h"
#include "lax/params/placement.h"
#include "lax/primitives.h"
#include "pytree/tree.h"
#include "trace/jit/jit_state.h"
#include "trace/refusals.h"

namespace jaxscope::jax::detail {

bool is_inexact(const Array& a) { return ::jaxscope::is_inexact(a.node()->aval->dtype); }

bool truth_of(const Array& a, const Where& where) {
    if (a.is_tracer() && !a.node()->value.is_literal())
        detail::refuse_at(where, ErrorCode::BadUsage, "`filter_spec` leaf values cannot be traced arrays.",
                          "decide outside of jit, by values or by is_array and its kin");
    if (a.dtype() != dtype::bool_ || a.size() != 1)
        detail::refuse_at(where, ErrorCode::BadUsage, "`filter_spec` must consist of booleans and callables only.",
                          "give true, false, is_array or another callable, or a tree of these that is a prefix");
    return static_cast<bool>(a);
}
void spec_is_no_prefix(const PyTreeDef& spec, const PyTreeDef& tree, const Where& where) { trees_differ(spec, tree, "tree_map", where); }
std::vector<std::string> inexact_paths(const PyTreeDef& tree, const std::vector<Array>& places) {
    const std::vector<std::string> paths = tree.paths();
    std::vector<std::string> out;
    std::size_t n = 0;
    for (const Array& a : places) {
        if (!a.has_value()) continue;
        if (is_inexact(a) && n < paths.size()) out.push_back("args[0]" + paths[n]);
        ++n;
    }
    return out;
}
namespace {
/// Writes a tree of places: each array is one, with or without a value.
class PlacesWriter final : public TreeWriter {
public:
    PlacesWriter(TreeWriter& to, bool keeps_fixed) : to_(to), keeps_fixed_(keeps_fixed) {}
    void open(Kind kind, const std::string& type, std::size_t children) override { to_.open(kind, type, children); }
    void name(const std::string& member) override { to_.name(member); }
    void key(const std::string& repr) override { to_.key(repr); }
    void close() override { to_.close(); }
    void leaf() override { to_.leaf(); }
    void none() override { to_.leaf(); }
    void fixed(const void* value, const FixedType& type) override { keeps_fixed_ ? to_.fixed(value, type) : to_.none(); }

private:
    TreeWriter& to_;
    bool keeps_fixed_;  ///< else a value that isn't compared
};
template <bool KeepsFixed>
PyTreeDef places_of(const Description& d) {
    return make_tree(&d, [](const void* value, TreeWriter& w) {
        PlacesWriter places(w, KeepsFixed);
        describe(*static_cast<const Description*>(value), places);
    });
}
}  // namespace
void Moving::tangent(const std::vector<Array>& primals, const Array& t) {
    const Array& primal = primals.at(moves_.size());
    moves_ += t.has_value() ? '1' : '0';
    if (t.has_value()) in.push_back(primal), dot.push_back(t);
}
void Moving::give(Array& a, const std::vector<Array>& leaves, std::size_t& at, std::size_t& given) const {
    if (moves_[at++] == '1') a = leaves[given++];
}
void check_tangents(const Description& primals, const Description& tangents, const Where& where) {
    if (!(places_of<false>(primals) == places_of<false>(tangents)))
        detail::refuse_at(where, ErrorCode::BadUsage, "primals and tangents must have the same pytree structure",
                          "give each array of the primals a tangent, or None (an Array without a value)");
}
void check_same_places(const Description& a, const Description& b, const Where& where) {
    const PyTreeDef one = places_of<false>(a), other = places_of<false>(b);
    if (!(one == other)) trees_differ(one, other, "tree_map", where);
}
namespace {
/// Of trees of the same places: has the second None wherever the first has?
bool none_where_none(const TreeNode& a, const TreeNode& b) {
    if (a.kind == TreeKind::none) return b.kind == TreeKind::none;
    for (std::size_t i = 0; i < std::min(a.children.size(), b.children.size()); ++i)
        if (!none_where_none(*a.children[i], *b.children[i])) return false;
    return true;
}
}  // namespace
void check_prefix(const Description& a, const Description& b, const Where& where) {
    const PyTreeDef one = make_tree(a), other = make_tree(b);
    if (one == other) return;
    std::vector<Array> from, to;
    append_places(a.value, *a.type, from);
    append_places(b.value, *b.type, to);
    // As many places: an empty std::optional is None, too, but has no place for an array.
    if (!(places_of<true>(a) == places_of<true>(b)) || from.size() != to.size() || !none_where_none(*one.node(), *other.node()))
        trees_differ(one, other, "tree_map", where);
}
namespace {
/// Walks a tree, and finds chosen nodes: `found` of each, and whether one stands in another.
struct ChosenNodes : Visitor {
    ChosenNodes(const ChosenNode* of, std::size_t n) : Visitor{on_child}, nodes(of), found(n, false) {}
    static void on_child(Visitor& visitor, void* value, const TreeType& type) { static_cast<ChosenNodes&>(visitor).walk(value, type); }
    void walk(void* value, const TreeType& type) {
        bool here = false;
        for (std::size_t i = 0; i < found.size(); ++i)
            if (nodes[i].at == value && nodes[i].type == &type) here = found[i] = true;
        nested = nested || (here && depth > 0);
        depth += here ? 1 : 0;
        if (type.children) type.children(value, *this);
        depth -= here ? 1 : 0;
    }
    const ChosenNode* nodes;
    std::vector<bool> found;
    std::size_t depth = 0;  ///< chosen nodes that the walk is in
    bool nested = false;
};
}  // namespace
void check_chosen(const Description& tree, const ChosenNode* nodes, std::size_t n, const Where& where) {
    ChosenNodes walk(nodes, n);
    walk.walk(const_cast<void*>(tree.value), *tree.type);
    const bool all = std::find(walk.found.begin(), walk.found.end(), false) == walk.found.end();
    if (all && !walk.nested) return;
    detail::refuse_at(where, ErrorCode::BadUsage, "`where` does not specify an element or elements of `pytree`.",
                      all ? "one of the nodes stands in another one: give the outer one alone, or the inner one"
                          : "`where` returns references to nodes of the tree that it is given: [](auto& m) -> auto& { return m.w; }");
}

std::vector<Array> cotangents_of(const std::vector<Array>& results, const std::vector<Array>& given) {
    std::vector<Array> out;
    for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].has_value() && (i >= results.size() || is_inexact_array(results[i]))) out.push_back(given[i]);
    return out;
}
std::vector<Array> nondifferentiable(const std::vector<Array>& values, const char* text) {
    using Arrays = std::vector<Array>;
    const auto same = [](const Arrays& v) { return v; };
    const auto refused = [text](const std::tuple<Arrays>& primals, const std::tuple<Arrays>&) -> std::pair<Arrays, Arrays> {
        if (text) throw Error(ErrorCode::BadUsage, text);
        return {std::get<0>(primals), std::get<0>(primals)};
    };
    return jax::custom_jvp(same, {.name = "_nondifferentiable"}, Where("", 0, ""))
        .defjvp(refused, {.name = "_nondifferentiable_jvp"})(values);
}

std::vector<Array> marked_ones(const std::vector<Array>& all, const std::vector<bool>& marks) {
    std::vector<Array> out;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (marks[i]) out.push_back(all[i]);
    return out;
}
std::vector<Array> in_marked_places(const std::vector<Array>& some, const std::vector<bool>& marks) {
    std::vector<Array> out;
    std::size_t n = 0;
    for (const bool mark : marks) out.push_back(mark ? some.at(n++) : Array());
    return out;
}
void check_gradient_places(const Description& x, const Description& gradient) {
    if (!(places_of<false>(x) == places_of<false>(gradient)))
        throw Error(ErrorCode::BadUsage,
                    "custom_vjp gradients must have the same structure as `equinox.filter(vjp_arg, equinox.is_inexact_array)`, where "
                    "`vjp_arg` is the first argument used in the forward pass.");
}
std::vector<Array> cotangents_there(const std::vector<Array>& x, const std::vector<Array>& gradient, std::vector<bool>& zeros) {
    std::vector<Array> out;
    zeros.clear();
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!is_inexact_array(x[i])) continue;
        zeros.push_back(!gradient[i].has_value());
        if (gradient[i].has_value()) out.push_back(gradient[i]);
    }
    return out;
}
std::vector<Array> tangents_there(const std::vector<Array>& results, const std::vector<Array>& tangents, std::vector<bool>& zeros) {
    std::vector<Array> out;
    zeros.clear();
    for (std::size_t k = 0; k < results.size(); ++k) {
        if (!results[k].has_value()) continue;
        zeros.push_back(!tangents[k].has_value());
        if (tangents[k].has_value()) out.push_back(tangents[k]);
    }
    return out;
}

// ---- filter_jit

JitHandle filter_jit(const FilterJitOptions& o, bool function_is_argument, const Where& where) {
    const bool rest = o.donate != "none", first = o.donate == "all" || o.donate == "warn";
    if (rest && !first && o.donate != "all-except-first" && o.donate != "warn-except-first")
        detail::refuse_at(where, ErrorCode::BadUsage,
                          "`filter_jit(..., donate=...)` must be one of 'all', 'all-except-first', 'warn', 'warn-except-first', or 'none'.",
                          "donate = \"none\" keeps all arrays, \"all\" gives them to the call");
    if (o.static_argnums.given || o.static_argnames.given || o.donate_argnums.given || o.donate_argnames.given)
        detail::refuse_at(
            where, ErrorCode::BadUsage,
            "`jitkwargs` cannot contain 'static_argnums', 'static_argnames', 'donate_argnums', 'in_shardings', or 'out_shardings'.",
            "filter_jit decides by what arguments are: leave these out, or use jax::jit");
    JitHandle handle({.arg_names = o.arg_names, .name = o.name, .keep_unused = o.keep_unused, .inline_ = o.inline_}, where);
    DonationRules& r = (*handle).rules;
    r.filter = r.marker = true;
    r.own_function = function_is_argument;
    r.function = r.fallback = rest;
    r.args = {first};
    r.warn = o.donate.starts_with("warn");
    return handle;
}

// ---- filter_closure_convert

class Converted {
public:
    std::atomic<int> refs{1};
    Traced traced;
    PyTreeDef tree;
    std::vector<Array> leaves;  ///< types of the example's
};
void retain(Converted* c) noexcept { c->refs.fetch_add(1); }
void release(Converted* c) noexcept {
    if (c->refs.fetch_sub(1) == 1) delete c;
}

namespace {
/// The arrays of a tree, or what else it holds; None for the others.
std::string half_of(const PyTreeDef& tree, const std::vector<Array>& leaves, bool arrays);
/// `((args...), {})`; keyword arguments stand among the others.
PyTreeDef tree_with_keywords(const Call& call) {
    return make_tree(&call, [](const void* value, TreeWriter& w) {
        w.open(TreeKind::tuple, "", 2);
        w.key("0");
        describe(static_cast<const Call*>(value)->arguments(), w);
        w.key("1");
        w.open(TreeKind::dict, "", 0);
        w.close();
        w.close();
    });
}
}  // namespace

Converted* closure_convert(Call& call) {
    leaves_of(call);
    const TracedCall t = trace_call(call, "closure_convert", kUnnamed);
    auto* c = new Converted;
    c->traced = t.traced;
    c->tree = tree_with_keywords(call);
    c->leaves = call.leaves;
    return c;
}

std::vector<Array> call_converted(const Converted& c, Call& call) {
    leaves_of(call);
    const PyTreeDef tree = tree_with_keywords(call);
    const auto refuse = [&](bool arrays) {
        throw Error(ErrorCode::BadUsage,
                    fmt::format("Closure-converted function called with different {} arguments to the example arguments "
                                "provided:\n\nCalled with: {}\n\nClosure-converted with: {}",
                                arrays ? "dynamic" : "static", half_of(tree, call.leaves, arrays), half_of(c.tree, c.leaves, arrays)));
    };
    Avals ours = avals_of(call.leaves), example = avals_of(c.leaves);
    for (AvalRef& a : ours) a = strong(a);
    for (AvalRef& a : example) a = strong(a);
    if (ours != example) refuse(true);
    if (!(tree == c.tree)) refuse(false);
    return detail::call(c.traced.open(), with_consts(c.traced, call.leaves), call.where);
}

// ---- tree_pprint

namespace {

using Kind = TreeWriter::Kind;

/// Lays a tree out as Equinox's printer does. A bracket's children, and a dict's key and value, are groups: a group that fits what is left
/// of a line stays on it, one that doesn't breaks at its own places, and those in it are asked in turn.
class Layout {
public:
    Layout(std::vector<std::string> leaves, std::size_t width, bool shows_fixed = true)
        : leaves_(std::move(leaves)), width_(width), shows_fixed_(shows_fixed) {}
    /// `hidden`: per member of the structs, is it left out?
    Layout(std::vector<std::string> leaves, const PrintOptions& o, std::vector<bool> hidden)
        : leaves_(std::move(leaves)), width_(o.width), margin_(o.indent), hidden_(std::move(hidden)) {}

    std::string text(const TreeNode& n) {
        write(n);
        std::string out;
        std::vector<bool> broken{true};  // per group around: does it break?
        std::size_t column = 0, indent = 0;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            const Piece& p = pieces_[i];
            switch (p.kind) {
                case Piece::open:
                    broken.push_back(broken.back() && column + flat_width(i) > width_);
                    break;
                case Piece::close:
                    broken.pop_back();
                    break;
                case Piece::deeper:
                    indent += margin_;
                    break;
                case Piece::back:
                    indent -= margin_;
                    break;
                case Piece::gap:
                    out += broken.back() ? "\n" + std::string(indent, ' ') : p.text;
                    column = broken.back() ? indent : column + p.text.size();
                    break;
                case Piece::text_of_node:
                    add_lines(p.text, column, out);
                    column += p.text.size() - (p.text.rfind('\n') + 1);
                    break;
            }
        }
        return out;
    }

private:
    struct Piece {
        enum Kind : unsigned char { text_of_node, gap, open, close, deeper, back } kind;
        std::string text = {};  ///< of a gap: what stands there where the line isn't broken
    };
    /// Lines behind the first stand below its beginning.
    static void add_lines(const std::string& text, std::size_t column, std::string& out) {
        for (const char c : text) {
            out += c;
            if (c == '\n') out.append(column, ' ');
        }
    }
    static std::size_t widest_line(const std::string& text) {
        std::size_t most = 0, here = 0;
        for (const char c : text) here = c == '\n' ? 0 : here + 1, most = std::max(most, here);
        return most;
    }
    /// Of the group that begins at `i`, were it on one line.
    std::size_t flat_width(std::size_t i) const {
        std::size_t width = 0, depth = 0;
        do {
            const Piece& p = pieces_[i++];
            depth += p.kind == Piece::open ? 1 : 0;
            depth -= p.kind == Piece::close ? 1 : 0;
            width += widest_line(p.text);
        } while (depth > 0);
        return width;
    }
    static std::pair<std::string, std::string> brackets(const TreeNode& n) {
        switch (n.kind) {
            case Kind::tuple:
                return {"(", ")"};
            case Kind::list:
                return {"[", "]"};
            case Kind::dict:
                return {"{", "}"};
            default:
                return {n.type + "(", ")"};
        }
    }
    /// The children that are written; goes past the struct's members.
    std::vector<std::size_t> shown(const TreeNode& n) {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < n.children.size(); ++i)
            if (n.kind != Kind::custom || member_ + i >= hidden_.size() || !hidden_[member_ + i]) out.push_back(i);
        if (n.kind == Kind::custom) member_ += n.children.size();
        return out;
    }
    void add(Piece::Kind kind, std::string text = {}) { pieces_.push_back({kind, std::move(text)}); }
    void child(const TreeNode& n, std::size_t i) {
        if (n.kind == Kind::dict) {
            add(Piece::text_of_node, n.keys[i].text + ":");
            add(Piece::gap, " ");
        } else if (n.kind == Kind::custom) {
            add(Piece::text_of_node, n.keys[i].text + "=");
        }
        write(*n.children[i]);
        if (n.kind == Kind::tuple && n.children.size() == 1) add(Piece::text_of_node, ",");
    }
    void write(const TreeNode& n) {
        if (n.kind == Kind::leaf) return add(Piece::text_of_node, leaves_[leaf_++]);
        if (n.kind == Kind::none) return add(Piece::text_of_node, "None");
        if (n.kind == Kind::fixed) return add(Piece::text_of_node, shows_fixed_ ? n.type : "None");
        if (n.kind == Kind::custom && n.children.size() == 1 && n.keys[0].text.empty()) return write(*n.children[0]);
        const auto [open, close] = brackets(n);
        const std::vector<std::size_t> children = shown(n);
        add(Piece::open);
        add(Piece::text_of_node, open);
        if (!children.empty()) {
            add(Piece::deeper);
            add(Piece::gap);
            add(Piece::open);
            for (const std::size_t i : children) {
                if (i != children.front()) {
                    add(Piece::text_of_node, ",");
                    add(Piece::gap, " ");
                }
                add(Piece::open);
                child(n, i);
                add(Piece::close);
            }
            add(Piece::close);
            add(Piece::back);
            add(Piece::gap);
        }
        add(Piece::text_of_node, close);
        add(Piece::close);
    }
    std::vector<std::string> leaves_;
    std::size_t width_, margin_ = 2;
    bool shows_fixed_ = true;  ///< values that are no arrays; else None
    std::vector<bool> hidden_;
    std::vector<Piece> pieces_;
    std::size_t leaf_ = 0, member_ = 0;
};

/// Equinox tells weak types, and writes what has only a shape as JAX does.
std::string leaf_text(const Array& a, const PrintOptions& options) {
    const bool typed_only = a.node()->trace == Node::kAbstract;
    if ((typed_only && !(options.short_arrays && options.struct_as_array)) || (!options.short_arrays && !a.is_tracer())) return a.repr();
    return (a.weak_type() ? "weak_" : "") + to_text(a.node()->aval);
}
std::vector<std::string> leaf_texts(const std::vector<Array>& leaves, const PrintOptions& options) {
    std::vector<std::string> out;
    for (const Array& a : leaves) out.push_back(leaf_text(a, options));
    return out;
}
std::string half_of(const PyTreeDef& tree, const std::vector<Array>& leaves, bool arrays) {
    const PrintOptions o;
    return Layout(arrays ? leaf_texts(leaves, o) : std::vector<std::string>(leaves.size(), "None"), o.width, !arrays).text(*tree.node());
}

}  // namespace

std::string tree_pformat(const PyTreeDef& tree, const std::vector<Array>& leaves, const std::vector<bool>& hidden,
                         const PrintOptions& options) {
    return Layout(leaf_texts(leaves, options), options, hidden).text(*tree.node());
}
std::string types_text(const PyTreeDef& tree, const Avals& types) {
    std::vector<std::string> texts;
    for (const AvalRef a : types) texts.push_back(to_text(strong(a)));
    return Layout(std::move(texts), PrintOptions().width).text(*tree.node());
}
void print_line(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
}

}  // namespace jaxscope::jax::detail

// ---- The seed's ways to donate

namespace jaxscope::jax::donation::detail {

namespace {

jax::detail::JitHandle handle_for(jax::detail::DonationRules rules, const Where& where) {
    jax::detail::JitHandle handle({}, where);
    rules.filter = true;
    (*handle).rules = std::move(rules);
    return handle;
}

}  // namespace

jax::detail::JitHandle filter_jit(const std::string& mode, bool function_is_argument, const Where& where) {
    if (mode != "arrays" && mode != "warn" && mode != "none")
        jax::detail::refuse_at(where, ErrorCode::BadUsage, "`filter_jit(..., donate=...)` must be one of 'arrays', 'warn', or 'none'.",
                               "donate = \"none\" keeps all arrays, \"arrays\" gives them to the call");
    const bool all = mode != "none";
    return handle_for({.own_function = function_is_argument, .function = all, .fallback = all, .warn = mode == "warn"}, where);
}
jax::detail::JitHandle filter_jit(const DonateSpecs& s, bool function_is_argument, const Where& where) {
    return handle_for({.own_function = function_is_argument,
                       .function = s.donate_fn,
                       .fallback = s.donate_default,
                       .args = s.donate_args,
                       .kwargs = s.donate_kwargs.entries()},
                      where);
}

}  // namespace jaxscope::jax::donation::detail

namespace jaxscope::jax::donation {

Array safe_eager_uniform(const Array& key, const Shape& shape, double minval, double maxval) {
    if (key.is_tracer()) throw Error(ErrorCode::BadUsage, "random must run eagerly");
    jax::detail::elements(*key.node());
    return random::uniform(donation::move(key), shape, minval, maxval);
}

}  // namespace jaxscope::jax::donation

namespace jaxscope::jax {

std::vector<Array> detail::put_on_device(const std::vector<Array>& leaves, const DevicePutOptions& o, const Where& where) {
    if (o.donate && o.may_alias.value_or(false))
        refuse_at(where, ErrorCode::BadUsage, "may_alias and donate cannot be True at the same time.", "set one of them");
    for (const Array& x : leaves)
        if (x.has_value() && !x.is_tracer()) elements(*x.node());
    if (!Trace::current() || leaves.empty()) return leaves;
    const char* how = o.donate ? "DONATE_INPUT" : o.may_alias.value_or(true) ? "REUSE_INPUT" : "ALWAYS_COPY";
    DevicePutParams p;
    p.devices.assign(leaves.size(), Attr());
    p.srcs.assign(leaves.size(), Attr());
    p.copy_semantics.assign(leaves.size(), Attr(Attr::Enum{"ArrayCopySemantics", how}));
    return bind_primitive(kDevicePut, leaves, make_params(p), where);
}
Array device_put(const Array& x, const DevicePutOptions& o, Where where) { return detail::put_on_device({x}, o, where).front(); }

}  // namespace jaxscope::jax
