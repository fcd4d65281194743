// SPDX-License-Identifier: Apache-2.0
#include "io/capture/program.h"

#include <algorithm>

namespace jaxscope {

namespace {

Sym sym(const JsonValue& v, std::string_view key) {
    JsonValue found;
    return v.find_value(key, found) ? Sym(found.as_string()) : Sym{};
}
bool flag(const JsonValue& v, std::string_view key, bool otherwise = false) {
    JsonValue found;
    return v.find_value(key, found) ? found.as_bool() : otherwise;
}
template <class T, class F>
std::vector<T> list(const JsonValue& v, std::string_view key, F convert) {
    JsonValue found;
    std::vector<T> out;
    if (v.find_value(key, found))
        for (JsonValue::Items it(found); it.more(); it.step()) out.push_back(convert(it.value()));
    return out;
}
std::vector<Sym> syms(const JsonValue& v, std::string_view key) {
    return list<Sym>(v, key, [](const JsonValue& i) { return Sym(i.as_string()); });
}
std::vector<int> ints(const JsonValue& v, std::string_view key, std::int64_t low = 0) {
    return list<int>(v, key, [&](const JsonValue& i) { return static_cast<int>(i.as_int(low, INT32_MAX, "an index")); });
}
std::vector<int> ints_or_null(const JsonValue& v, std::string_view key) {
    return list<int>(v, key, [](const JsonValue& i) { return i.is_null() ? -1 : static_cast<int>(i.as_int(-1, INT32_MAX, "an index")); });
}
std::vector<bool> bools(const JsonValue& v, std::string_view key) {
    return list<bool>(v, key, [](const JsonValue& i) { return i.as_bool(); });
}

/// A list that says something of every input (or output): exactly as many, or none at all.
template <class T>
void expect_count(const JsonValue& v, const char* key, const std::vector<T>& found, std::size_t wanted, const char* of) {
    if (found.empty() || found.size() == wanted) return;
    v.get(key).fail("one entry for each of the " + std::to_string(wanted) + " " + of);
}

/// What a writer left out: inputs without a name are in0, in1, ..., and each is an argument of its own.
void fill_arguments(std::vector<Sym>& paths, std::vector<int>& argument, std::vector<Sym>& names, std::size_t inputs) {
    for (std::size_t i = paths.size(); i < inputs; ++i) paths.emplace_back("in" + std::to_string(i));
    if (!argument.empty() || inputs == 0) return;
    for (std::size_t i = 0; i < inputs; ++i) argument.push_back(static_cast<int>(i));
    if (names.size() < inputs) names = paths;
}

}  // namespace

void read_producer(const JsonValue& v, Program& out) {
    JsonValue found;
    if (v.find_value("jax", found)) out.jax_version = found.as_string();
    if (v.find_value("jaxscope", found)) out.producer = "jaxscope " + std::string(found.as_string());
}

void read_flags(const JsonValue& v, const CaptureTables& tables, Program& out) {
    int depth = 0;
    for (JsonValue::Items it(v); it.more(); it.step()) out.flags.emplace_back(it.key(), tables.attr(it.value(), depth));
}

namespace {

/// Of a rule of a library's primitive: as many inputs and results as its case takes and gives.
void check_primitive_rule(const JsonValue& v, const CustomRule& r) {
    static const Sym evaluation("primitive"), jvp("primitive_jvp"), transpose("primitive_transpose"), vmap("primitive_vmap"),
        known("primitive_known"), linear("primitive_linear");
    if (!r.jaxpr || (r.kind != evaluation && r.kind != jvp && r.kind != transpose && r.kind != vmap && r.kind != known && r.kind != linear))
        return;
    const auto count = [](const std::vector<bool>& list, bool which) {
        return static_cast<std::size_t>(std::count(list.begin(), list.end(), which));
    };
    const std::size_t n = r.avals.size(), results = r.jaxpr->outvars.size();
    std::size_t inputs = n + r.closed_over.size();
    if (r.kind == jvp) {
        expect_count(v, "perturbed", r.perturbed, n, "inputs");
        inputs += count(r.perturbed, true);
        if (results != 2 * r.out_zeros.size() - count(r.out_zeros, true)) v.get("out_zeros").fail("one for each result of the primitive");
    } else if (r.kind == transpose) {
        expect_count(v, "perturbed", r.perturbed, n, "inputs");
        inputs += count(r.zero_cotangents, false) - count(r.perturbed, true);
        if (r.out_zeros.size() != count(r.perturbed, true) || results != count(r.out_zeros, false))
            v.get("out_zeros").fail("one for each linear input, and a result for each that isn't zero");
    } else if (r.kind == vmap) {
        if (r.in_dims.size() != n) v.get("in_dims").fail("an axis or null for each of the " + std::to_string(n) + " inputs");
        if (r.out_dims.size() != results) v.get("out_dims").fail("an axis or null for each of the " + std::to_string(results) + " results");
    }
    // A linear half takes its known half's residuals first, and is held to them where it is applied.
    if (r.kind == linear && r.jaxpr->num_invars >= count(r.perturbed, true)) return;
    if (r.jaxpr->num_invars != inputs)
        v.get("jaxpr").fail_found("a rule of " + std::to_string(inputs) + " inputs", "one of " + std::to_string(r.jaxpr->num_invars));
    for (std::size_t i = 0; i < r.in_dims.size(); ++i)
        if (r.in_dims[i] > static_cast<int>(r.avals[i]->shape.size())) v.get("in_dims").at(i).fail("an axis of the input");
    for (std::size_t k = 0; k < r.out_dims.size(); ++k)
        if (r.out_dims[k] >= static_cast<int>(r.jaxpr->aval(r.jaxpr->outvars[k])->shape.size()))
            v.get("out_dims").at(k).fail("an axis of the result");
}

/// Of a rule of a user's function: a result for every tangent or cotangent that its case says isn't zero.
void check_custom_rule(const JsonValue& v, const CustomRule& r) {
    static const Sym jvp("custom_jvp"), bwd("custom_vjp_bwd");
    if (!r.jaxpr || (r.kind != jvp && r.kind != bwd)) return;
    const std::size_t results = r.jaxpr->outvars.size();
    const auto nonzero = static_cast<std::size_t>(std::count(r.out_zeros.begin(), r.out_zeros.end(), false));
    if (r.kind == bwd && (r.out_zeros.size() != r.avals.size() || results != nonzero))
        v.get("out_zeros").fail("one for each argument, and a result for each that isn't zero");
    if (r.kind == jvp && results != r.out_zeros.size() + nonzero)
        v.get("out_zeros").fail("one for each result of the function, and a tangent for each that isn't zero");
}

}  // namespace

CustomRule read_custom_rule(const JsonValue& v, const CaptureTables& tables) {
    CustomRule r;
    r.kind = v.get("kind").as_string();
    r.function = sym(v, "function");
    JsonValue found;
    if (v.find_value("static", found)) r.static_args = text_from_json(found);
    if (v.find_value("avals", found)) r.avals = tables.avals(found);
    r.perturbed = bools(v, "perturbed");
    r.zero_cotangents = bools(v, "zero_cotangents");
    r.symbolic_zeros = flag(v, "symbolic_zeros");
    r.covers = flag(v, "covers");
    if (v.find_value("jaxpr", found)) r.jaxpr = tables.jaxpr(found);
    r.why = sym(v, "why");
    r.out_zeros = bools(v, "out_zeros");
    r.input_forwards = ints_or_null(v, "input_forwards");
    r.closed_over = ints(v, "closed_over");
    if (v.find_value("variant_of", found)) r.variant_of = static_cast<int>(found.as_int(0, INT32_MAX, "a custom rule"));
    if (v.find_value("axis_size", found)) r.axis_size = found.as_int(0, INT64_MAX, "the size of an axis");
    r.in_batched = bools(v, "in_batched");
    r.out_batched = bools(v, "out_batched");
    r.in_dims = ints_or_null(v, "in_dims");
    r.out_dims = ints_or_null(v, "out_dims");
    check_primitive_rule(v, r);
    check_custom_rule(v, r);
    return r;
}

void read_program(const JsonValue& v, const CaptureTables& tables, Program& out) {
    const JsonValue jaxpr = v.get("jaxpr");
    out.jaxpr = tables.jaxpr(jaxpr);
    const std::size_t inputs = out.jaxpr->num_invars;
    if (out.jaxpr->consts.size() != out.jaxpr->num_constvars) jaxpr.fail("a closed jaxpr (as many consts as constvars)");
    out.in_paths = syms(v, "in_paths");
    out.out_paths = syms(v, "out_paths");
    out.arg_of_input = ints(v, "arg_of_input", -1);
    out.arg_names = syms(v, "arg_names");
    out.donated = bools(v, "donated");
    out.kept = bools(v, "kept");
    expect_count(v, "in_paths", out.in_paths, inputs, "inputs");
    expect_count(v, "out_paths", out.out_paths, out.jaxpr->outvars.size(), "outputs");
    expect_count(v, "arg_of_input", out.arg_of_input, inputs, "inputs");
    expect_count(v, "donated", out.donated, inputs, "inputs");
    expect_count(v, "kept", out.kept, inputs, "inputs");
    fill_arguments(out.in_paths, out.arg_of_input, out.arg_names, inputs);
    if (out.donated.empty()) out.donated.assign(inputs, false);
    if (out.kept.empty()) out.kept.assign(inputs, true);
    JsonValue found;
    if (v.find_value("static", found))
        for (JsonValue::Items it(found); it.more(); it.step()) {
            const JsonValue entry = it.value();
            out.static_args.emplace_back(entry.get("path").as_string(), text_from_json(entry.get("text")));
        }
    out.differentiate_given = v.find_value("differentiate", found);
    out.differentiate = ints(v, "differentiate");
    out.has_aux = flag(v, "has_aux");
    out.jit = sym(v, "jit");
    for (const Sym w : syms(v, "donate_warnings")) out.donate_warnings.push_back(w.str());
    int depth = 0;
    out.in_shardings = list<Attr>(v, "in_shardings", [&](const JsonValue& i) { return tables.attr(i, depth); });
    expect_count(v, "in_shardings", out.in_shardings, inputs, "inputs");
    out.same_arrays = list<std::vector<int>>(v, "same_arrays", [&](const JsonValue& group) {
        std::vector<int> inputs_of;
        for (JsonValue::Items it(group); it.more(); it.step())
            inputs_of.push_back(static_cast<int>(it.value().as_int(0, static_cast<std::int64_t>(inputs), "an input")));
        return inputs_of;
    });
    out.values = list<ArrayPtr>(v, "values", [&](const JsonValue& i) { return i.is_null() ? nullptr : tables.array(i); });
    expect_count(v, "values", out.values, inputs, "inputs");
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        const AvalRef wanted = out.jaxpr->aval(out.jaxpr->invar(static_cast<std::uint32_t>(i)));
        if (const ArrayPtr& a = out.values[i]; a && (a->aval->shape != wanted->shape || a->aval->dtype != wanted->dtype))
            v.get("values").at(i).fail_found("an array of " + to_text(wanted), to_text(a->aval));
    }
}

namespace {

/// Axes of the values of one kind at one level of a marked call: a number each, below their rank with the axis, or null.
std::vector<int> read_axes(const JsonValue& v, const char* key, std::size_t count) {
    const JsonValue list = v.get(key);
    std::vector<int> out;
    for (JsonValue::Items it(list); it.more(); it.step())
        out.push_back(it.value().is_null() ? MarkedCall::kNotMapped : static_cast<int>(it.value().as_int(0, INT32_MAX, "an axis")));
    if (out.size() != count)
        list.fail("one axis or null for each of the " + std::to_string(count) + " " + key + "puts of the call's jaxpr");
    return out;
}

/// The body is what all levels together made: each axis that they name is there, with its size, where the levels after it leave it.
void check_levels(const JsonValue& v, const MarkedCall& c, const Avals& avals, std::vector<int> MarkedCall::Level::*dims) {
    std::vector<Dims> shapes;
    for (const AvalRef a : avals) shapes.push_back(a->shape);
    for (std::size_t l = c.batch.size(); l-- > 0;)
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            const int d = (c.batch[l].*dims)[i];
            if (d == MarkedCall::kNotMapped) continue;
            if (static_cast<std::size_t>(d) >= shapes[i].size() || shapes[i][static_cast<std::size_t>(d)] != c.batch[l].size)
                v.get("batch").at(l).fail("axes of size " + std::to_string(c.batch[l].size) + " of the call's values");
            shapes[i].erase(shapes[i].begin() + d);
        }
}

}  // namespace

MarkedCall read_marked_call(const JsonValue& v, const CaptureTables& tables) {
    MarkedCall c;
    c.mark = static_cast<int>(v.get("mark").as_int(0, INT32_MAX, "a mark"));
    const JsonValue half = v.get("half");
    c.backward = half.as_string() == "backward";
    if (!c.backward && half.as_string() != "forward") half.fail("\"forward\" or \"backward\"");
    c.jaxpr = tables.jaxpr(v.get("jaxpr"));
    JsonValue found;
    if (!v.find_value("batch", found)) return c;
    for (JsonValue::Items it(found); it.more(); it.step()) {
        const JsonValue level = it.value();
        MarkedCall::Level l;
        l.axis = static_cast<int>(level.get("axis").as_int(0, INT32_MAX, "the number of a vmap"));
        l.size = level.get("size").as_int(0, INT64_MAX, "the size of an axis");
        l.in = read_axes(level, "in", c.jaxpr->num_invars);
        l.out = read_axes(level, "out", c.jaxpr->outvars.size());
        c.batch.push_back(std::move(l));
    }
    check_levels(v, c, c.jaxpr->in_avals(), &MarkedCall::Level::in);
    check_levels(v, c, c.jaxpr->out_avals(), &MarkedCall::Level::out);
    return c;
}

Region read_region(const JsonValue& v, const CaptureTables& tables, std::size_t num_regions) {
    Region r;
    r.name = sym(v, "name");
    r.kind = sym(v, "kind");
    r.jaxpr = tables.jaxpr(v.get("jaxpr"));
    const std::size_t inputs = r.jaxpr->num_invars;
    r.in_paths = syms(v, "in_paths");
    r.arg_of_input = ints(v, "arg_of_input", -1);
    r.arg_names = syms(v, "arg_names");
    r.out_paths = syms(v, "out_paths");
    r.wrt = ints(v, "wrt");
    r.wrt_inputs = bools(v, "wrt_inputs");
    expect_count(v, "in_paths", r.in_paths, inputs, "inputs");
    expect_count(v, "arg_of_input", r.arg_of_input, inputs, "inputs");
    expect_count(v, "wrt_inputs", r.wrt_inputs, inputs, "inputs");
    fill_arguments(r.in_paths, r.arg_of_input, r.arg_names, inputs);
    if (r.out_paths.size() > r.jaxpr->outvars.size())
        v.get("out_paths").fail("at most " + std::to_string(r.jaxpr->outvars.size()) + " paths");
    r.has_aux = flag(v, "has_aux");
    JsonValue found;
    if (v.find_value("outputs", found))
        r.outputs = static_cast<int>(found.as_int(0, static_cast<std::int64_t>(r.jaxpr->outvars.size()) + 1, "a number of outputs"));
    if (v.find_value("source", found)) r.source = tables.source(found);
    if (v.find_value("parent", found)) r.parent = static_cast<int>(found.as_int(0, static_cast<std::int64_t>(num_regions), "a region"));
    if (v.find_value("mark", found)) r.mark = static_cast<int>(found.as_int(0, INT32_MAX, "a mark"));
    r.why_unmarked = sym(v, "why_unmarked");
    return r;
}

}  // namespace jaxscope
