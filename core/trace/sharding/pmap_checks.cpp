// SPDX-License-Identifier: Apache-2.0
// What pmap and filter_pmap take and refuse, in the words of JAX 0.10.2 and Equinox.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <jaxscope/api_util.h>
#include <jaxscope/numpy.h>

#include "base/error.h"
#include "pytree/prefix.h"
#include "trace/jit/jit_checks.h"
#include "trace/sharding/pmap_state.h"
#include "trace/sharding/sharded_state.h"
#include "trace/transformations/mapped_axes.h"

namespace jaxscope::jax::detail {

namespace {

constexpr const char* kDefaultAxis = "_internal_pmap_axis_name";

[[noreturn]] void refuse_use(const std::string& text) { throw Error(ErrorCode::BadUsage, text); }

void check_static(const PmapState& s, const Call& call) {
    const std::vector<int>& fixed = s.options.static_broadcasted_argnums;
    const std::size_t args = call.static_args.size();
    const auto positional = static_cast<int>(std::count(call.keywords.begin(), call.keywords.end(), nullptr));
    for (const int n : fixed)
        if (n < 0) refuse_use(fmt::format("expected static_broadcasted_argnums from 0 on, found {}", n));
    if (!fixed.empty() && *std::max_element(fixed.begin(), fixed.end()) >= positional)
        refuse_use(
            fmt::format("pmapped function has static_broadcasted_argnums=({}) but was called with only {} positional argument{}. All "
                        "static broadcasted arguments must be passed positionally.",
                        listed(fixed), positional, positional > 1 ? "s" : ""));
    for (std::size_t i = 0; i < args; ++i) {
        const bool is_static = contains(fixed, static_cast<int>(i), args);
        if (call.static_args[i] && !is_static)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("Error interpreting argument to {} as an abstract array. The problematic value was passed to the "
                                    "function at path {}.\nThis typically means that a jit-wrapped function was called with a non-array "
                                    "argument, and this argument was not marked as static using the static_argnums or static_argnames "
                                    "parameters of jax.jit.",
                                    s.options.name, argument_names(call, s.options.arg_names).args[i]))
                .advise(fmt::format("make it static: {{.static_broadcasted_argnums = {{{}}}}}", i));
        if (!is_static || call.leaves_of_arg[i] == 0) continue;
        const PyTreeDef tree = make_tree(call.arguments()).children()[i];
        refuse_use(
            fmt::format("Non-hashable static arguments are not supported, as this can lead to unexpected cache-misses. Static argument "
                        "(index {}) of type <class '{}'> for function {} is non-hashable.",
                        i, tree.node()->kind == TreeKind::leaf ? "jaxlib._jax.ArrayImpl" : kind_name(*tree.node()), s.options.name));
    }
}

bool is_dynamic(const PmapState& s, const Call& call, std::size_t i) {
    return !contains(s.options.static_broadcasted_argnums, static_cast<int>(i), call.static_args.size());
}

/// JAX compares `(in_axes, 0)` with `(args, kwargs)`.
[[noreturn]] void no_prefix(const PyTreeDef& positional, const Axis& axes, bool by_name) {
    auto* full = new TreeNode;
    full->kind = TreeKind::tuple;
    retain_tree(positional.node());
    full->children.push_back(positional.node());
    full->keys.push_back({false, "0"});
    full->leaves = positional.num_leaves();
    full->nodes += positional.num_nodes();
    retain_tree(positional.node());  // in the place of kwargs, which 0 stands for as a whole
    full->children.push_back(positional.node());
    full->keys.push_back({false, "1"});
    std::string text = prefix_problem("pmap in_axes", PyTreeDef(full), AxisTree::tuple({as_tree(axes), AxisTree(0)}));
    text +=
        "\n\nThe 'full pytree' here is the tuple of arguments passed positionally to the pmapped function, and the value of `in_axes` must "
        "be a tree prefix of that tuple. But it was not a prefix.";
    if (by_name)
        text +=
            "\n\nWhen some arguments are passed by keyword to the pmapped function, they are not included in the comparison to `in_axes`. "
            "Instead, each argument passed by keyword is mapped over its leading axis. See the description of `in_axes` in the `pmap` "
            "docstring: https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html#jax.pmap";
    refuse_use(text +
               "\n\nCheck that the value of the `in_axes` argument to `pmap` is a tree prefix of the tuple of arguments passed "
               "positionally to the pmapped function.");
}

/// filter_pmap's axes by name, as a tuple; else as they are.
Axis by_position(const PmapState& s, const Call& call) {
    const Axis& given = s.options.in_axes;
    if (!s.rules.filter || given.kind != Axis::Kind::dict) return given;
    const std::vector<std::string> names = argument_names(call, s.options.arg_names).args;
    const std::size_t first = s.rules.own_function ? 1 : 0;
    std::vector<Axis> out(names.size() - first, Axis(0));
    std::string unknown;
    for (std::size_t k = 0; k < given.keys.size(); ++k) {
        const auto at = std::find(names.begin() + static_cast<std::ptrdiff_t>(first), names.end(), given.keys[k]);
        if (at == names.end())
            unknown += (unknown.empty() ? "'" : ", '") + given.keys[k] + "'";
        else
            out[static_cast<std::size_t>(at - names.begin()) - first] = given.items[k];
    }
    if (!unknown.empty())
        refuse_use(fmt::format("The following `in_axes` did not correspond to any argument: ({}{})", unknown,
                               unknown.find("', '") == std::string::npos ? "," : ""));
    return Axis(std::move(out));
}

std::vector<Axis> axes_of_arguments(const PmapState& s, const Call& call) {
    Axis axes = by_position(s, call);
    const PyTreeDef all = make_tree(call.arguments());
    const std::size_t args = call.static_args.size(), first = s.rules.own_function ? 1 : 0;
    const auto positional = [&](std::size_t i) { return i >= first && !call.keywords[i] && is_dynamic(s, call, i); };
    if (axes.kind == Axis::Kind::tuple && !s.options.static_broadcasted_argnums.empty()) {
        std::vector<Axis> kept;
        for (std::size_t i = 0; i < args; ++i) {
            if (!positional(i)) continue;
            if (i >= axes.items.size()) refuse_use("tuple index out of range");
            kept.push_back(axes.items[i]);
        }
        axes = Axis(std::move(kept));
    }
    const PyTreeDef tree = tree_of_arguments(all, positional);
    const bool by_name = std::any_of(call.keywords.begin(), call.keywords.end(), [](const char* k) { return k != nullptr; });
    const std::optional<std::vector<Axis>> spread = spread_axes(axes, tree);
    if (!spread) no_prefix(tree, axes, by_name);
    std::vector<Axis> out;
    std::size_t next = 0;
    for (const std::size_t i : call.order)
        for (std::size_t k = 0; k < call.leaves_of_arg[i]; ++k)
            out.push_back(positional(i) ? (*spread)[next++] : i < first ? Axis(none) : Axis(0));
    return out;
}

/// The size of the first mapped leaf: shard_map looks at the others.
std::int64_t first_size(const std::vector<Array>& leaves, const std::vector<std::optional<int>>& axes) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const AvalRef a = leaves[i].node()->aval;
        if (!axes[i] || (a->rank() == 0 && a->weak_type)) continue;  // a number of the language has no shape
        const int at = *axes[i] < 0 ? *axes[i] + a->rank() : *axes[i];
        if (at < 0 || at >= a->rank()) refuse_use("tuple index out of range");
        return a->shape[static_cast<std::size_t>(at)];
    }
    refuse_use("pmap requires at least one argument with a mapped axis.");
}

/// What jit says of arguments that don't fit their shardings.
void check_shardings(const MappedCall& m) {
    const sharding::Mesh mesh{{m.axis}};
    for (std::size_t i = 0; i < m.leaves.size(); ++i) {
        sharding::Spec spec = mapped_spec(m.axes[i], m.axis.name);
        const AvalRef a = m.leaves[i].node()->aval;
        const std::string text = sharding_text(mesh, spec);
        if (spec.dims.size() > a->shape.size())
            refuse_use(
                fmt::format("One of pjit arguments with pytree key path flat_args[{0}] is incompatible with its sharding annotation "
                            "{1}: Sharding {1} is only valid for values of rank at least {2}, but was applied to a value of rank {3}.",
                            i, text, spec.dims.size(), a->rank()));
        spec.dims.resize(a->shape.size());
        if (const std::string problem = sharding::indivisible_text(a->shape, {mesh, spec}); !problem.empty())
            throw Error(ErrorCode::BadUsage, fmt::format("Sharding {} {}", text, problem))
                .advise(fmt::format("the mapped axis has {} elements, and there are {} devices: one for each is needed", m.size,
                                    device_count()));
    }
}

/// What shard_map says of them, where the call is traced.
void check_divisible(const MappedCall& m) {
    const sharding::Mesh mesh{{m.axis}};
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < m.leaves.size(); ++i) {
        const sharding::Spec spec = mapped_spec(m.axes[i], m.axis.name);
        const AvalRef a = m.leaves[i].node()->aval;
        const std::string text = sharding::spec_attr(spec).get_record()->text.str();
        if (spec.dims.size() > a->shape.size())
            refuse_use(fmt::format(
                "shard_map applied to the function '_fun' was given an in_specs entry which is too long to be compatible with the "
                "corresponding input value from the function:\n\nin_specs[{0}] is {1} which has length {2}, but the passed args[{0}], "
                "where args[{0}] is the index {0} component of _fun's varargs parameter 'flat_args', has shape {3}, which has rank {4} "
                "(and {4} < {2})\n\nEntries in in_specs must be of length no greater than the number of axes in the corresponding input "
                "value.\n\nEither revise the spec to be shorter, or modify '_fun' so that its inputs have sufficient rank.",
                i, text, spec.dims.size(), long_aval(a), a->rank()));
        for (const std::size_t d : sharding::uneven_dims(a->shape, {mesh, spec}))
            wrong.push_back(fmt::format(
                "the passed args[{0}] of shape {1}, where args[{0}] is the index {0} component of _fun's varargs parameter 'flat_args', "
                "corresponds to in_specs[{0}] of value {2}, which maps array axis {3} (of size {4}) to mesh axis '{5}' (of size {6}), but "
                "{6} does not evenly divide {4}",
                i, long_aval(a), text, d, a->shape[d], m.axis.name.str(), m.axis.size));
    }
    if (wrong.empty()) return;
    refuse_use(
        fmt::format("shard_map applied to the function '_fun' was given argument arrays with axis sizes that are not evenly divisible by "
                    "the corresponding mesh axis sizes:\n\nThe mesh given has shape ({},) with corresponding axis names ('{}',).\n\n"
                    "{}{}\n\nArray arguments' axis sizes must be evenly divisible by the mesh axis or axes indicated by the "
                    "corresponding elements of the argument's in_specs entry. Consider checking that in_specs are correct, and if so "
                    "consider changing the mesh axis sizes or else padding the input and adapting '_fun' appropriately.",
                    m.axis.size, m.axis.name.str(), wrong.size() > 1 ? "* " : "", fmt::join(wrong, "\n\n* ")));
}

/// A device has one element of each mapped argument.
void check_elements(const MappedCall& m) {
    for (std::size_t i = 0; i < m.leaves.size(); ++i) {
        if (!m.axes[i]) continue;
        const ::jaxscope::Dims local =
            sharding::shard_shape(m.leaves[i].node()->aval->shape, {sharding::Mesh{{m.axis}}, mapped_spec(m.axes[i], m.axis.name)});
        const int rank = static_cast<int>(local.size()), at = *m.axes[i] < 0 ? *m.axes[i] + rank : *m.axes[i];
        if (at < 0 || at >= rank || local[static_cast<std::size_t>(at)] != 1)
            throw Error(ErrorCode::BadUsage, fmt::format("cannot select an axis to squeeze out which has size not equal to one, got "
                                                         "shape={} and dimensions=({},)",
                                                         Shape(local).str(), at))
                .advise(fmt::format("all mapped axes are of one size, and there is a device for each element: the first one has {} "
                                    "elements, and there are {} devices",
                                    m.size, device_count()));
    }
}

}  // namespace

std::string sharding_text(const sharding::Mesh& mesh, const sharding::Spec& spec) {
    return fmt::format("NamedSharding(mesh={}, spec={}, memory_kind=device)", sharding::mesh_attr(mesh).get_record()->text.str(),
                       sharding::spec_attr(spec).get_record()->text.str());
}

sharding::Mesh MappedCall::mesh() const {
    sharding::Mesh all{outer};
    all.axes.push_back(axis);
    return all;
}

sharding::Spec mapped_spec(std::optional<int> axis, Sym name) {
    sharding::Spec out;
    if (!axis) return out;
    out.dims.resize(static_cast<std::size_t>(std::max(*axis, 0)));
    out.dims.push_back({name});
    return out;
}

std::vector<sharding::Mesh::Axis>& pmaps_around() {
    thread_local std::vector<sharding::Mesh::Axis> axes;
    return axes;
}

namespace {

/// The name of the mesh axis: pmaps that nobody named are told apart where one stands in another.
Sym axis_name(const PmapState& s) {
    std::string name = s.options.axis_name.empty() ? kDefaultAxis : s.options.axis_name;
    const auto taken = [&] {
        return std::any_of(pmaps_around().begin(), pmaps_around().end(), [&](const auto& a) { return a.name == Sym(name); });
    };
    if (taken() && !s.options.axis_name.empty()) refuse_use(fmt::format("expected an axis name that no pmap around has, found '{}'", name));
    for (int n = 1; taken(); ++n) name = fmt::format("{}_{}", kDefaultAxis, n);
    return Sym(name);
}

/// Equinox maps the function with vmap first, to see its results: that refuses what vmap refuses.
void check_as_vmap(const Call& call, const PmapState& s, const std::vector<Axis>& axes) {
    VmapOptions options;
    options.axis_size = s.options.axis_size;
    options.arg_names = s.options.arg_names;
    std::vector<int> dims;
    if (!options.axis_size || std::any_of(axes.begin(), axes.end(), [](const Axis& a) { return a.mapped; }))
        mapped_size(call, axes, options, dims);
}

}  // namespace

MappedCall mapped_call(const PmapState& s, const Call& call) {
    if (s.rules.filter && std::any_of(call.keywords.begin(), call.keywords.end(), [](const char* k) { return k != nullptr; }))
        refuse_use("keyword arguments cannot be used with functions wrapped with `filter_pmap`");
    if (!s.rules.filter) check_static(s, call);
    const std::vector<Axis> axes = axes_of_arguments(s, call);
    if (s.rules.filter) check_as_vmap(call, s, axes);
    MappedCall m;
    m.leaves = call.leaves;
    const ArgumentNames names = argument_names(call, s.options.arg_names);
    m.names = names.leaves;
    for (const Axis& a : axes) m.axes.push_back(a.mapped ? std::optional(a.axis) : std::nullopt);
    int before = 0;  // arguments that aren't static
    std::vector<bool> donated_args;
    for (std::size_t i = 0; i < call.static_args.size(); ++i) {
        const bool dynamic = is_dynamic(s, call, i);
        donated_args.push_back(s.rules.donate || (dynamic && !call.keywords[i] && std::count(s.donated.begin(), s.donated.end(), before)));
        before += dynamic;
    }
    for (const int arg : names.arg_of_leaf) m.donated.push_back(donated_args[static_cast<std::size_t>(arg)]);
    if (s.rules.filter && s.options.axis_size) {  // what has the axis where no argument has it
        m.leaves.push_back(numpy::zeros({s.options.axis_size}, dtype::int32));
        m.axes.emplace_back(0);
        m.donated.push_back(s.rules.donate);
        m.names.emplace_back("axis_size");
    }
    m.size = first_size(m.leaves, m.axes);
    if (s.options.axis_size && s.options.axis_size != m.size)
        refuse_use(fmt::format("Specified axis_size {} doesn't match received axis_size {}.", s.options.axis_size, m.size));
    m.outer = pmaps_around();
    m.axis = {axis_name(s), m.outer.empty() ? std::min<std::int64_t>(m.size, device_count()) : m.size};
    if (m.size == 0)
        refuse_use(
            fmt::format("One of in_shardings leaf specifications got an empty NamedSharding: NamedSharding(mesh=Mesh(), spec={}) which "
                        "is not allowed.",
                        sharding::spec_attr(mapped_spec(0, m.axis.name)).get_record()->text.str()));
    if (Trace::current())
        check_divisible(m);
    else
        check_shardings(m);
    check_elements(m);
    return m;
}

std::vector<std::optional<int>> result_axes(const PmapState& s, const PyTreeDef& results) {
    const std::optional<std::vector<Axis>> spread = spread_axes(s.options.out_axes, results);
    if (!spread) refuse_use(prefix_problem("broadcast_prefix prefix_tree", results, as_tree(s.options.out_axes)));
    std::vector<std::optional<int>> out;
    for (const Axis& a : *spread) out.push_back(a.mapped ? std::optional(a.axis) : std::nullopt);
    return out;
}

void check_result_axes(const PmapState& s, const std::vector<std::optional<int>>& axes, const Avals& results) {
    if (!s.rules.filter) return;
    int most = 0;
    for (const AvalRef a : results) most = std::max(most, a->rank() + 1);
    for (const std::optional<int> a : axes)
        if (a && (*a < -most || *a >= most))
            refuse_use("integers in filter_pmap(..., out_axes=...) must correspond to a dimension of the output array");
}

}  // namespace jaxscope::jax::detail
