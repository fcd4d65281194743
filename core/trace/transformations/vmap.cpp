// SPDX-License-Identifier: Apache-2.0
// vmap: the function is traced on one element, its jaxpr batched.
#include <fmt/core.h>

#include <jaxscope/tree.h>
#include <jaxscope/vmap.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/named_axes.h"
#include "trace/regions.h"
#include "trace/transformations/mapped_axes.h"
#include "transforms/batch.h"

namespace jaxscope::jax {

Axis::Axis(int a) : axis(a), mapped(true) {}
Axis::Axis(None) {}
Axis::Axis(std::initializer_list<Axis> list) : kind(Kind::tuple), items(list) {}
Axis::Axis(std::vector<Axis> list) : kind(Kind::tuple), items(std::move(list)) {}
Axis::Axis(const Axis& o) = default;
Axis::Axis(Axis&& o) noexcept = default;
Axis& Axis::operator=(const Axis& o) = default;
Axis& Axis::operator=(Axis&& o) noexcept = default;
Axis::~Axis() = default;
Axis Axis::dict(std::vector<std::pair<std::string, Axis>> entries) {
    Axis a(none);
    a.kind = Kind::dict;
    for (auto& entry : entries) a.keys.push_back(std::move(entry.first)), a.items.push_back(std::move(entry.second));
    return a;
}

}  // namespace jaxscope::jax

namespace jaxscope::jax::detail {

AxisTree as_tree(const Axis& a) {
    if (a.kind == Axis::Kind::leaf) return a.mapped ? AxisTree(a.axis) : AxisTree(none);
    if (a.kind == Axis::Kind::tuple) {
        std::vector<AxisTree> items;
        for (const Axis& i : a.items) items.push_back(as_tree(i));
        return AxisTree::tuple(std::move(items));
    }
    std::vector<std::pair<std::string, AxisTree>> entries;
    for (std::size_t i = 0; i < a.items.size(); ++i) entries.emplace_back(a.keys[i], as_tree(a.items[i]));
    return AxisTree::dict(std::move(entries));
}

namespace {

const Axis* entry_of(const Axis& a, const TreeNode::Key& key) {
    for (std::size_t i = 0; i < a.keys.size(); ++i)
        if (a.keys[i] == key.text || quoted_text(a.keys[i]) == key.text) return &a.items[i];
    return nullptr;
}

bool spread(const Axis& a, const TreeNode& node, std::vector<Axis>& out) {
    if (a.kind == Axis::Kind::leaf) {
        out.insert(out.end(), node.leaves, a);
        return true;
    }
    const bool sequence = node.kind == TreeKind::tuple || node.kind == TreeKind::list || node.kind == TreeKind::custom;
    const bool named = node.kind == TreeKind::dict || node.kind == TreeKind::custom;
    if (a.items.size() != node.children.size() || (a.kind == Axis::Kind::tuple ? !sequence : !named)) return false;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Axis* item = a.kind == Axis::Kind::tuple ? &a.items[i] : entry_of(a, node.keys[i]);
        if (!item || !spread(*item, *node.children[i], out)) return false;
    }
    return true;
}
}  // namespace

std::optional<std::vector<Axis>> spread_axes(const Axis& axes, const PyTreeDef& tree) {
    std::vector<Axis> out;
    return spread(axes, *tree.node(), out) ? std::optional(std::move(out)) : std::nullopt;
}

namespace {

std::vector<Axis> axes_of_leaves(const std::string& name, const Axis& axes, const PyTreeDef& tree) {
    if (auto out = spread_axes(axes, tree)) return *out;
    flatten_axes(name, tree, as_tree(axes), false, Where("", 0, ""));
    throw Error(ErrorCode::BadUsage, name + " specification must be a tree prefix of the corresponding value; its tree is " + tree.str());
}

/// Of positional arguments as they are given; keyword arguments are mapped over their first axis.
Axis argument_axes(const Call& call, const Axis& in_axes) {
    const auto positional = static_cast<std::size_t>(std::count(call.keywords.begin(), call.keywords.end(), nullptr));
    const bool for_all = in_axes.kind == Axis::Kind::leaf;
    // `{Axis::dict(...)}` around the one argument's axes: clang takes braces around one Axis for a copy of it.
    if (in_axes.kind == Axis::Kind::dict && positional == 1) return argument_axes(call, Axis(std::vector<Axis>{in_axes}));
    if (!for_all && in_axes.items.size() != positional)
        throw Error(ErrorCode::BadUsage,
                    fmt::format("vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
                                "passed to the function, but got len(in_axes)={}, len(args)={}",
                                in_axes.items.size(), positional));
    if (positional == call.keywords.size()) return in_axes;
    std::vector<Axis> out;
    std::size_t next = 0;
    for (const char* keyword : call.keywords) out.push_back(keyword ? Axis(0) : for_all ? in_axes : in_axes.items[next++]);
    return Axis(std::move(out));
}

/// Does a dict of axes name an argument? Else it may be the axes of the only one, by its own keys.
bool names_argument(const VmapOptions& options) {
    return std::any_of(options.in_axes.keys.begin(), options.in_axes.keys.end(), [&](const std::string& key) {
        return std::find(options.arg_names.begin(), options.arg_names.end(), key) != options.arg_names.end();
    });
}
/// One axis for each argument: those that aren't named are mapped over their first.
Axis axes_by_name(const VmapOptions& options, std::size_t arguments) {
    std::vector<Axis> out(arguments, Axis(0));
    for (std::size_t k = 0; k < options.in_axes.items.size(); ++k) {
        const auto& names = options.arg_names;
        const auto at = std::find(names.begin(), names.end(), options.in_axes.keys[k]) - names.begin();
        if (at >= std::ssize(out) || at == std::ssize(names))
            throw Error(ErrorCode::BadUsage,
                        fmt::format("The following `in_axes` did not correspond to any argument: ('{}',)", options.in_axes.keys[k]))
                .advise("name the arguments: {.arg_names = {...}}");
        out[static_cast<std::size_t>(at)] = options.in_axes.items[k];
    }
    return Axis(std::move(out));
}

std::vector<Axis> axes_of_arguments(const Call& call, const Axis& in_axes) {
    const std::vector<Axis> taken = axes_of_leaves("vmap in_axes", argument_axes(call, in_axes), make_tree(call.arguments()));
    std::vector<Axis> out;
    for (const std::size_t leaf : call.leaves_as_taken()) out.push_back(taken[leaf]);
    return out;
}

/// What JAX calls a leaf of the arguments.
std::string place_of(const Call& call, const ArgumentNames& names, std::size_t leaf) {
    const std::string name = names.leaves[leaf].str();
    if (const char* keyword = call.keywords[static_cast<std::size_t>(names.arg_of_leaf[leaf])])
        return fmt::format("kwargs['{}']{}", keyword, name.substr(std::min(name.size(), std::strlen(keyword))));
    return (name.rfind("args[", 0) == 0 ? "" : "argument ") + name;
}

/// JAX's error for sizes that differ: the size that most axes have first.
[[noreturn]] void sizes_differ(const Call& call, const std::vector<int>& dims, const VmapOptions& options) {
    const ArgumentNames names = argument_names(call, options.arg_names);
    std::vector<std::int64_t> order;
    std::map<std::int64_t, std::vector<std::string>> by_size;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == kNotMapped) continue;
        const AvalRef a = call.leaves[i].node()->aval;
        const std::int64_t n = a->shape[static_cast<std::size_t>(dims[i])];
        if (by_size[n].empty()) order.push_back(n);
        by_size[n].push_back(fmt::format("axis {} of {} of type {}", dims[i], place_of(call, names, i), long_aval(a)));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return by_size[a].size() > by_size[b].size(); });
    std::string text = "vmap got inconsistent sizes for array axes to be mapped:\n";
    if (options.axis_size) text += fmt::format("  * the `axis_size` argument was {};\n", options.axis_size);
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::vector<std::string>& places = by_size[order[k]];
        const char* end = k + 1 < order.size() ? ";\n" : "";
        if (places.size() == 1)
            text += fmt::format("  * one axis had size {}: {}{}", order[k], places[0], end);
        else
            text += fmt::format("  * {} axes ({} of them) had size {}, e.g. {}{}", k == 0 ? "most" : "some", places.size(), order[k],
                                places[0], end);
    }
    throw Error(ErrorCode::BadUsage, text);
}

}  // namespace

std::int64_t mapped_size(const Call& call, const std::vector<Axis>& axes, const VmapOptions& options, std::vector<int>& dims) {
    std::int64_t size = options.axis_size;
    bool differ = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        dims.push_back(kNotMapped);
        if (!axes[i].mapped) continue;
        const AvalRef aval = call.leaves[i].node()->aval;
        const int rank = aval->rank(), at = axes[i].axis < 0 ? axes[i].axis + rank : axes[i].axis;
        if (at < 0 || at >= rank)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("vmap was requested to map its argument along axis {}, which implies that its rank should be at least "
                                    "{}, but is only {} (its shape is {})",
                                    axes[i].axis, axes[i].axis < 0 ? -axes[i].axis : axes[i].axis + 1, rank, Shape(aval->shape).str()));
        dims.back() = at;
        const std::int64_t n = aval->shape[static_cast<std::size_t>(at)];
        differ = differ || (size && n != size);
        size = n;
    }
    if (differ) sizes_differ(call, dims, options);
    if (!size && axes.empty())
        throw Error(ErrorCode::BadUsage,
                    "vmap wrapped function must be passed at least one argument containing an array or axis_size must be "
                    "specified, got empty *args=() and **kwargs={}");
    if (!size && std::none_of(axes.begin(), axes.end(), [](const Axis& a) { return a.mapped; }))
        throw Error(ErrorCode::BadUsage, "vmap must have at least one non-None value in in_axes or axis_size must be specified");
    return size;
}

namespace {

/// The axis of each result, counted from the front.
std::vector<int> result_axes(const TracedCall& t, const Axis& spec) {
    std::vector<int> out;
    const std::vector<Axis> axes = axes_of_leaves("vmap out_axes", spec, t.out_tree);
    const Avals results = t.traced.jaxpr->out_avals();
    for (std::size_t k = 0; k < results.size(); ++k) {
        const int rank = results[k]->rank() + 1, at = axes[k].axis < 0 ? axes[k].axis + rank : axes[k].axis;
        if (axes[k].mapped && (at < 0 || at >= rank))
            throw Error(ErrorCode::BadUsage, fmt::format("axis {} is out of bounds for array of dimension {}", axes[k].axis, rank));
        out.push_back(axes[k].mapped ? at : kNotMapped);
    }
    return out;
}

}  // namespace

std::vector<Array> filter_vmap(Call& call, const VmapOptions& options) {
    return at_place(call.where, [&] {
        if (std::any_of(call.keywords.begin(), call.keywords.end(), [](const char* k) { return k != nullptr; }))
            throw Error(ErrorCode::BadUsage, "keyword arguments cannot be used with functions wrapped with `filter_vmap`");
        VmapOptions one_each = options;
        if (options.in_axes.kind == Axis::Kind::dict && (call.keywords.size() != 1 || names_argument(options)))
            one_each.in_axes = axes_by_name(options, call.keywords.size());
        leaves_of(call);
        const std::vector<Axis> axes = axes_of_arguments(call, one_each.in_axes);
        const bool none_mapped = call.leaves.empty() || std::none_of(axes.begin(), axes.end(), [](const Axis& a) { return a.mapped; });
        if (options.axis_size == 0 && !call.leaves_of_arg.empty() && none_mapped) {
            if (options.out_axes.mapped || options.out_axes.kind != Axis::Kind::leaf)
                throw Error(
                    ErrorCode::BadUsage,
                    "Cannot resolve batch dimension. Non-`None` `out_axes` requires either `in_axes` or `axis_size` to be not `None`.");
            one_each.axis_size = 1;  // any: nobody sees it
        }
        return vmap(call, one_each);
    });
}

std::vector<Array> vmap(Call& call, const VmapOptions& options) {
    return at_place(call.where, [&] {
        leaves_of(call);
        const std::vector<Axis> axes = axes_of_arguments(call, options.in_axes);
        std::vector<int> dims;
        const std::int64_t size = mapped_size(call, axes, options, dims);
        // The function sees one element: arrays without the mapped axis.
        Avals elements = avals_of(call.leaves);
        std::vector<Array> known = call.leaves;
        for (std::size_t i = 0; i < elements.size(); ++i) {
            if (dims[i] == kNotMapped) continue;
            known[i] = Array();
            ::jaxscope::Dims shape = elements[i]->shape;
            shape.erase(shape.begin() + dims[i]);
            elements[i] = with_shape(elements[i], shape);
        }
        const TracedCall t = [&] {
            const NamedAxisScope named(options.axis_name, size);
            Trace trace("vmap", kUnnamed);
            trace.inputs_are(std::move(known));
            return trace_call_in(trace, call, elements, nullptr);
        }();
        std::vector<int> in_dims(t.traced.consts.size(), kNotMapped);
        in_dims.insert(in_dims.end(), dims.begin(), dims.end());
        const MappedRegions regions;
        const JaxprPtr mapped =
            ::jaxscope::vmap(t.traced.open(), size, in_dims, result_axes(t, options.out_axes), Sym(options.axis_name), t.out_tree.paths());
        return detail::call(mapped, with_consts(t.traced, call.leaves), call.where);
    });
}

}  // namespace jaxscope::jax::detail
