// SPDX-License-Identifier: Apache-2.0
#include "analysis/residual_rows.h"

#include <fmt/format.h>

#include <unordered_map>

#include "analysis/equations/eqn_path.h"
#include "analysis/sharding/per_device.h"
#include "analysis/stages/region_splice.h"
#include "calls/remat/remat.h"
#include "ir/builder.h"
#include "ir/interpret.h"
#include "ir/primitive.h"
#include "lax/primitives.h"
#include "sharding/captured.h"
#include "transforms/jaxpr_util.h"
#include "transforms/policies.h"
#include "transforms/residuals.h"
#include "transforms/vjp.h"

namespace jaxscope {

namespace {

/// The innermost frame of the user's own project: below `project` where it is given.
const Frame* own_frame(SourceRef source, const std::string& project) {
    if (project.empty()) return source.user_frame();
    for (const Frame& f : source->frames())
        if (f.file.str().starts_with(project)) return &f;
    return source.user_frame();
}

void set_place(ResidualRow& row, SourceRef source, const std::string& project) {
    row.frames = source->frames();
    if (const Frame* f = own_frame(source, project)) {
        row.file = f->file.str();
        row.line = f->line;
    }
}

struct Expanded {
    const Jaxpr* jaxpr;
    std::uint32_t eqn;
    std::string path;
};

/// Result `output` of equation `eqn` of `j`, followed into the bodies of jit and scan while these hold it.
Expanded expand(const Jaxpr& j, std::uint32_t eqn, std::uint32_t output) {
    Expanded at{&j, eqn, std::to_string(eqn)};
    for (int depth = 0; depth < 300; ++depth) {
        const Eqn& e = at.jaxpr->eqns[at.eqn];
        const std::vector<SubJaxpr> subs = sub_jaxprs(e);
        if (subs.size() != 1 || subs[0].jaxpr->outvars.size() != e.n_out) return at;
        const Jaxpr& body = *subs[0].jaxpr;
        const Atom a = body.outvars[output];
        if (a.is_literal() || a.var().index < body.num_constvars + body.num_invars) return at;
        std::uint32_t k = 0;
        while (k + 1 < body.eqns.size() && body.eqns[k + 1].first_out <= a.var().index) ++k;
        output = a.var().index - body.eqns[k].first_out;
        at = {&body, k, at.path + "/" + subs[0].param.str() + "/" + std::to_string(k)};
    }
    return at;
}

/// A policy that offloads saves a copy, whose place is the checkpoint's; what the user knows is the value.
void set_offloaded(ResidualRow& row, const Jaxpr& j, std::uint32_t copy, const Choices& choices) {
    const std::optional<std::uint32_t> value = moved_by(j, copy);
    if (!value) return;
    row.on_host = j.aval(j.output(j.eqns[copy], 0))->space == MemorySpace::Host;
    const Eqn& made = j.eqns[*value];
    if (const std::optional<Sym> name = given_name(*made.prim, made.params)) row.name = name->str();
    if (made.source.user_frame() != nullptr) set_place(row, made.source, choices.project);
}

ResidualRow to_row(const SavedResidual& s, const Residuals& all, const Choices& choices) {
    ResidualRow row;
    row.aval = to_text(s.aval);
    row.source = s.text;
    row.bytes = s.bytes;
    row.input = s.input;
    if (s.kind == SavedResidual::Kind::Named) {
        const std::size_t begin = s.text.find('\''), end = s.text.find('\'', begin + 1);
        row.name = s.text.substr(begin + 1, end - begin - 1);
    }
    set_place(row, s.source, choices.project);
    if (s.eqn < 0) return row;
    row.equation = std::to_string(s.eqn);
    row.maker = maker_of(*all.forward, static_cast<std::uint32_t>(s.eqn), static_cast<std::uint32_t>(s.output));
    const Expanded e = expand(*all.forward, static_cast<std::uint32_t>(s.eqn), static_cast<std::uint32_t>(s.output));
    if (e.path == row.equation) {
        set_offloaded(row, *all.forward, static_cast<std::uint32_t>(s.eqn), choices);
        return row;
    }
    const Eqn& inner = e.jaxpr->eqns[e.eqn];
    if (!choices.expand) {
        // JAX names the call, which under a policy around the whole function is one line for all; the user's line is where it is computed.
        if (inner.source.user_frame() != nullptr) set_place(row, inner.source, choices.project);
        return row;
    }
    row.equation = e.path;
    // What JAX itself wrote has no place: then that of the call says where.
    const Sym place = inner.source->summary().empty() ? s.source->summary() : inner.source->summary();
    row.source = fmt::format("output of {} from {}", inner.prim->name.c_str(), place.str());
    set_place(row, inner.source, choices.project);
    return row;
}

/// What each device keeps of the rows.
void add_shares(ResidualReport& report, const Residuals& found, const Shares& shares) {
    const Jaxpr& j = *found.forward;
    std::vector<Atom> values;
    for (const SavedResidual& r : found.rows)
        if (r.kind != SavedResidual::Kind::Literal) values.emplace_back(r.var);
    // What a region closes over has no values here, and lies as what it is called with; variables keep their numbers.
    const bool open = !shares.closed_over.empty() && shares.closed_over.size() == j.num_constvars;
    std::vector<std::optional<sharding::Spec>> in = open ? shares.closed_over : std::vector<std::optional<sharding::Spec>>();
    in.insert(in.end(), shares.in.begin(), shares.in.end());
    const JaxprPtr asked = open ? convert_constvars(found.forward) : found.forward;
    const std::vector<sharding::Spec> specs = specs_of_values(*asked, *shares.mesh, std::move(in), values);
    report.device_bytes = 0;
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
        ResidualRow& row = report.rows[i];
        const AvalRef whole = j.aval(values[i]);
        const sharding::NamedSharding lies{*shares.mesh, specs[i]};
        row.spec = to_text(lies.spec);
        row.local = local_text(whole, lies);
        row.device_bytes = whole->is_array() ? sharding::bytes_per_device(whole, lies) : row.bytes;
        *report.device_bytes += *row.device_bytes;
    }
}

}  // namespace

namespace {

using Specs = std::vector<std::optional<sharding::Spec>>;

std::string mark_of(std::size_t input) { return "jaxscope_input_" + std::to_string(input); }

/// The same function, whose inputs have names before anything reads them.
JaxprPtr with_named_inputs(const Jaxpr& j) {
    JaxprBuilder b;
    Values in;
    for (std::uint32_t i = 0; i < j.num_invars; ++i) in.push_back(b.add_input(j.aval(j.invar(i))));
    Values named;
    for (std::size_t i = 0; i < in.size(); ++i) named.push_back(b.bind1(kName, {in[i]}, Params::make({{"name", Attr(Sym(mark_of(i)))}})));
    return b.finish(inline_jaxpr(b, j, constants_of(b, j), named), j.name);
}

/// The step with the region's forward pass over named inputs, cut: how the named values lie.
Shares shares_in_step(const Program& program, const Region& r) {
    std::vector<bool> wrt(r.jaxpr->num_constvars, false);
    wrt.insert(wrt.end(), r.wrt_inputs.begin(), r.wrt_inputs.end());
    const Vjp derived = vjp(convert_constvars(r.jaxpr), wrt, static_cast<std::size_t>(r.outputs));
    const JaxprPtr step =
        splice_regions(program, {{*r.mark, with_named_inputs(*derived.forward), derived.backward, r.jaxpr->outvars.size()}});
    std::unordered_map<Sym, const sharding::PlacedValue*> named;
    const sharding::Partitioned cut = sharding::partition(program, step, true);
    for (const sharding::PlacedValue& v : cut.values)
        if (const std::optional<Sym> name = given_name(*v.maker, v.params)) named.emplace(*name, &v);
    const auto all = [&](std::uint32_t begin, std::uint32_t count) {
        Specs out(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto found = named.find(Sym(mark_of(begin + i)));
            // Under a vmap the value has the new axis, too.
            if (found != named.end() && found->second->aval->shape == r.jaxpr->aval(Var{begin + i})->shape) out[i] = found->second->spec;
        }
        return out;
    };
    return {cut.mesh, all(0, r.jaxpr->num_constvars), all(r.jaxpr->num_constvars, r.jaxpr->num_invars)};
}

}  // namespace

Shares shares_of(const Program& program, const sharding::Partitioned& cut, std::optional<int> region) {
    if (!region) {
        Specs own(cut.in.begin(), cut.in.end());
        own.resize(program.jaxpr->num_invars);
        return {cut.mesh, {}, std::move(own)};
    }
    const Region& r = program.regions[static_cast<std::size_t>(*region)];
    if (r.mark && program.marked) try {
            return shares_in_step(program, r);
        } catch (const Error& e) {
            if (e.code == ErrorCode::Cancelled) throw;  // else what has the same name lies the same
        }
    Specs out(r.jaxpr->num_invars);
    for (std::size_t i = 0; i < out.size() && i < r.in_paths.size(); ++i)
        for (std::size_t k = 0; k < program.in_paths.size() && k < cut.in.size(); ++k)
            if (program.in_paths[k] == r.in_paths[i] && program.jaxpr->aval(program.jaxpr->invar(static_cast<std::uint32_t>(k)))->shape ==
                                                            r.jaxpr->aval(r.jaxpr->invar(static_cast<std::uint32_t>(i)))->shape)
                out[i] = cut.in[k];
    return {cut.mesh, {}, std::move(out)};
}

ResidualReport residual_report(const Subject& subject, const Choices& choices, std::uint64_t derivation, const Shares& shares) {
    ResidualQuery query;
    query.wrt = subject.wrt;
    query.in_paths = subject.in_paths;
    query.num_outputs = subject.num_outputs;
    const Residuals found = saved_residuals(choices.outer_policy() ? checkpoint(subject.jaxpr, choices.policy) : subject.jaxpr, query);
    ResidualReport out;
    out.wrt = subject.wrt_args;
    out.region = subject.region;
    out.region_name = subject.name;
    out.rows.reserve(found.rows.size());
    int constants = 0;
    for (const SavedResidual& s : found.rows) {
        if (s.kind == SavedResidual::Kind::Literal) continue;
        out.rows.push_back(to_row(s, found, choices));
        out.rows.back().id = s.input >= 0 ? ResidualId{.input = s.input}
                             : s.eqn < 0  ? ResidualId{.constant = constants++}
                                          : ResidualId{.derivation = derivation, .eqn = s.eqn, .result = s.output};
        out.total_bytes += s.bytes;
    }
    if (shares.mesh) add_shares(out, found, shares);
    return out;
}

std::vector<UnknownVerdictRow> unknown_rows(const Subject& s, const Choices& c) {
    std::vector<UnknownVerdictRow> out;
    for (const UnknownVerdict& u : c.policy ? std::vector<UnknownVerdict>() : unknown_verdicts(*s.jaxpr))
        out.push_back({u.policy.str(), u.primitive->name.c_str(), u.signatures});
    return out;
}

}  // namespace jaxscope
