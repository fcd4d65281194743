#include "analysis/residual_rows.h"

#include <fmt/format.h>

#include "analysis/equations/eqn_path.h"
#include "calls/remat.h"
#include "ir/primitive.h"
#include "transforms/policies.h"
#include "transforms/residuals.h"

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
    const Expanded e = expand(*all.forward, static_cast<std::uint32_t>(s.eqn), static_cast<std::uint32_t>(s.output));
    if (e.path == row.equation) return row;
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

}  // namespace

ResidualReport residual_report(const Subject& subject, const Choices& choices, std::uint64_t derivation) {
    ResidualQuery query;
    query.wrt = subject.wrt;
    query.in_paths = subject.in_paths;
    query.num_outputs = subject.num_outputs;
    const Residuals found = saved_residuals(choices.policy ? checkpoint(subject.jaxpr, choices.policy) : subject.jaxpr, query);
    ResidualReport out;
    out.wrt = subject.wrt_args;
    out.region = subject.region;
    out.region_name = subject.name;
    int constants = 0;
    for (const SavedResidual& s : found.rows) {
        if (s.kind == SavedResidual::Kind::Literal) continue;
        out.rows.push_back(to_row(s, found, choices));
        out.rows.back().id = s.input >= 0 ? ResidualId{.input = s.input}
                             : s.eqn < 0  ? ResidualId{.constant = constants++}
                                          : ResidualId{.derivation = derivation, .eqn = s.eqn, .result = s.output};
        out.total_bytes += s.bytes;
    }
    return out;
}

std::vector<UnknownVerdictRow> unknown_rows(const Subject& s, const Choices& c) {
    std::vector<UnknownVerdictRow> out;
    for (const UnknownVerdict& u : c.policy ? std::vector<UnknownVerdict>() : unknown_verdicts(*s.jaxpr))
        out.push_back({u.policy.str(), u.primitive->name.c_str(), u.signatures});
    return out;
}

}  // namespace jaxscope
