// SPDX-License-Identifier: Apache-2.0
#include "analysis/summary.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analysis/sharding/distribution.h"
#include "calls/foreign.h"
#include "ir/primitive.h"
#include "jit/jit.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/vjp.h"

namespace jaxscope {

namespace {

/// How often each jaxpr below `root` is reached, counting every equation that names it.
std::unordered_map<const Jaxpr*, std::int64_t> multiplicities(const Jaxpr& root) {
    const std::vector<const Jaxpr*> order = all_jaxprs(root);  // inner ones first
    std::unordered_map<const Jaxpr*, std::int64_t> times{{&root, 1}};
    for (auto j = order.rbegin(); j != order.rend(); ++j)
        for (const Eqn& e : (*j)->eqns) {
            if (!e.params->holds_jaxpr()) continue;
            for (const JaxprPtr& s : e.params->jaxprs()) {
                std::int64_t& t = times[s.get()];
                if (__builtin_add_overflow(t, times[*j], &t)) t = std::numeric_limits<std::int64_t>::max();
            }
        }
    return times;
}

/// Jaxprs that a run may come to without entering a branch of a cond. In a branch that is never entered what can't run does no harm.
std::unordered_set<const Jaxpr*> outside_branches(const Jaxpr& root) {
    std::unordered_set<const Jaxpr*> found{&root};
    std::vector<const Jaxpr*> open{&root};
    while (!open.empty()) {
        const Jaxpr* j = open.back();
        open.pop_back();
        for (const Eqn& e : j->eqns) {
            if (e.prim->flow == Flow::Cond || !e.params->holds_jaxpr()) continue;
            for (const JaxprPtr& s : e.params->jaxprs())
                if (found.insert(s.get()).second) open.push_back(s.get());
        }
    }
    return found;
}

/// Asked of the rules themselves, once for each primitive and set of parameters: a declared rule may refuse parameters, and a primitive
/// without one may run as a view.
/// What a program over several devices holds is looked at as one of them has it; a region that is theirs already holds jaxprs that are
/// looked at themselves.
bool stops_run(const Op& op, bool over_devices) {
    if (op.prim->calls() || (over_devices && op.prim->body && op.params->find("in_specs"))) return false;
    JitOptions options;
    options.over_devices = over_devices;
    return why_it_cannot_run(op, options).has_value();
}

/// The equation alone, as a program.
JaxprPtr alone(const Op& op, EffectSet effects) {
    JaxprBuilder b;
    Values in;
    for (const AvalRef a : op.in) in.push_back(b.add_input(a));
    return b.finish(b.append(*op.prim, in, op.params, op.out, effects), op.prim->name.c_str());
}

/// Does a rule refuse this application, though it is declared? By all inputs at once and by each alone: a rule for one is a rule.
bool refuses(const std::vector<bool>& inputs, const std::function<void(const std::vector<bool>&)>& apply) {
    std::vector<std::vector<bool>> choices{inputs};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i] || count_true(inputs) == 1) continue;
        choices.emplace_back(inputs.size(), false);
        choices.back()[i] = true;
    }
    for (const std::vector<bool>& chosen : choices) {
        try {
            apply(chosen);
            return false;
        } catch (const Error& e) {
            if (e.code != ErrorCode::NoRule && e.code != ErrorCode::UnknownPrimitive)
                return false;  // JAX refuses it too, or another thing is wrong
        }
    }
    return true;
}
bool refuses_grad(const Op& op, const JaxprPtr& j) {
    const auto inexact = [](AvalRef a) { return a->is_array() && is_inexact(a->dtype); };
    std::vector<bool> wrt;
    for (const AvalRef a : op.in) wrt.push_back(inexact(a));
    if (!any_true(wrt) || std::none_of(op.out.begin(), op.out.end(), inexact)) return false;
    return refuses(wrt, [&](const std::vector<bool>& chosen) { value_and_pullback(j, chosen); });
}
bool refuses_vmap(const Op& op, const JaxprPtr& j) {
    constexpr std::int64_t kExamples = 2;
    return refuses(std::vector<bool>(op.in.size(), true), [&](const std::vector<bool>& chosen) {
        std::vector<int> dims;
        for (const bool mapped : chosen) dims.push_back(mapped ? 0 : kNotMapped);
        batch_jaxpr_axes(j, kExamples, dims, std::vector<int>(op.out.size(), 0));
    });
}

struct Stops {
    std::vector<std::string> by;
    bool refused = false;  ///< a rule that is declared refuses these parameters
};
/// `asked`: are the rules of differentiation and mapping to be tried, or only looked for?
Stops stopped_by(const Op& op, EffectSet effects, bool asked, bool over_devices) {
    const Primitive& p = *op.prim;
    if (p.opaque && p.expand) return {foreign_stops(op.params)};
    Stops stops;
    const bool differentiates = p.jvp || p.jvp_call || p.linearize || p.transpose;
    const JaxprPtr j = asked && !p.calls() && !op.in.empty() ? alone(op, effects) : nullptr;
    const bool no_grad = j && differentiates && refuses_grad(op, j), no_vmap = j && p.batch && refuses_vmap(op, j);
    stops.refused = no_grad || no_vmap;
    if (!differentiates || no_grad) stops.by.emplace_back("grad");
    if (!p.batch || no_vmap) stops.by.emplace_back("vmap");
    if (stops_run(op, over_devices)) stops.by.emplace_back(kStopsRun);
    return stops;
}

void add_unsupported(const Jaxpr& root, bool over_devices, ProgramSummary& s) {
    const auto times = multiplicities(root);
    constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    const std::unordered_set<const Jaxpr*> outside = outside_branches(root);
    std::map<std::tuple<const Primitive*, const Params*, bool>, std::size_t> row_of;
    std::map<std::pair<const Primitive*, std::vector<std::string>>, std::size_t> row_like;
    constexpr std::size_t kAsked = 1024;  // distinct applications whose rules are tried: a million of them would take minutes
    for (const Jaxpr* j : all_jaxprs(root))
        for (const Eqn& e : j->eqns) {
            const bool in_branch = !outside.contains(j);
            auto [it, fresh] = row_of.try_emplace({e.prim, &*e.params, in_branch}, kNone);
            if (fresh) {
                Stops stops = stopped_by(make_op(*j, e), e.effects, row_of.size() <= kAsked, over_devices);
                if (in_branch) std::replace(stops.by.begin(), stops.by.end(), std::string(kStopsRun), std::string(kStopsRunIfEntered));
                UnsupportedRow row{e.prim->name.c_str(), 0, e.source->summary().str(), e.source.loc(), std::move(stops.by)};
                // A primitive that only lacks a derivative because JAX gives it none is supported as well as it can be.
                const bool refused_by_jax = !e.prim->opaque && !stops.refused && !row.may_stop_a_run();
                if (row.stops.empty() || refused_by_jax) continue;
                const auto [like, other] = row_like.try_emplace({e.prim, row.stops}, s.unsupported.size());
                it->second = like->second;
                if (other) s.unsupported.push_back(std::move(row));
            }
            if (it->second != kNone) s.unsupported[it->second].count += times.at(j);
        }
}

/// The distinct policies of the checkpoints inside, as people write them.
std::string policies_inside(const Jaxpr& root) {
    std::string text;
    std::vector<std::string> seen;
    for (const Jaxpr* j : all_jaxprs(root))
        for (const Eqn& e : j->eqns) {
            const Attr* a = e.params->find("policy");
            if (!a) continue;
            const auto* policy = a->get<PolicyPtr>();
            std::string one = policy && *policy ? policy_text(**policy) : "none";
            if (std::find(seen.begin(), seen.end(), one) != seen.end()) continue;
            text += (text.empty() ? "" : ", ") + one;
            seen.push_back(std::move(one));
        }
    return text;
}

RegionRow describe(const Region& r) {
    RegionRow row;
    row.name = r.name.str();
    row.kind = r.kind.str();
    row.wrt = r.wrt;
    row.policy = policies_inside(*r.jaxpr);
    row.equations = count_equations(*r.jaxpr);
    row.source = r.source->summary().str();
    row.loc = r.source.loc();
    row.parent = r.parent;
    return row;
}

std::string flag_text(const Attr& value) {
    if (const bool* b = value.get<bool>()) return *b ? "True" : "False";
    if (const Sym* s = value.get<Sym>()) return s->str();
    if (const auto* n = value.get<std::int64_t>()) return std::to_string(*n);
    if (const Attr::Record* r = value.get_record()) return r->text.str();
    return "None";
}

/// Contexts that say something, in the order in which they are met; PRNG partitionability says something where the program's flag is
/// another.
std::vector<ContextRow> contexts_of(const Program& program) {
    bool partitionable = true;
    for (const auto& [name, value] : program.flags)
        if (name == Sym("jax_threefry_partitionable") && value.get<bool>()) partitionable = *value.get<bool>();
    std::vector<ContextRow> rows;
    std::unordered_map<std::uint32_t, std::size_t> row_of;
    for (const Jaxpr* j : all_jaxprs(*program.jaxpr))
        for (const Eqn& e : j->eqns) {
            const EqnContext& c = *e.context;
            if (c.compute_type.empty() && c.mesh.empty() && c.metadata.empty() && c.threefry_partitionable == partitionable) continue;
            const auto [at, fresh] = row_of.emplace(e.context.id(), rows.size());
            if (fresh) rows.push_back({c.compute_type.str(), c.mesh.str(), c.metadata.str(), c.threefry_partitionable, 0});
            ++rows[at->second].equations;
        }
    return rows;
}

}  // namespace

std::map<std::string, std::int64_t> count_primitives(const Jaxpr& jaxpr) {
    std::map<std::string, std::int64_t> out;
    for (const auto& [j, times] : multiplicities(jaxpr)) {
        std::unordered_map<const Primitive*, std::int64_t> here;
        for (const Eqn& e : j->eqns) ++here[e.prim];
        for (const auto& [p, n] : here) {
            std::int64_t& total = out[p->name.c_str()];
            std::int64_t product = 0;
            if (__builtin_mul_overflow(n, times, &product) || __builtin_add_overflow(total, product, &total))
                total = std::numeric_limits<std::int64_t>::max();
        }
    }
    return out;
}

ProgramSummary summarize(const Program& program) {
    ProgramSummary s;
    s.name = program.name.str();
    s.jax_version = program.jax_version;
    const Jaxpr& j = *program.jaxpr;
    s.equations = count_equations(j);
    s.primitives = count_primitives(j);
    s.jaxprs = static_cast<std::int64_t>(all_jaxprs(j).size()) - 1;
    const Avals in = j.in_avals(), out = j.out_avals();
    for (std::size_t i = 0; i < in.size(); ++i)
        s.inputs.push_back({i < program.in_paths.size() ? program.in_paths[i].str() : "arg" + std::to_string(i), to_text(in[i]),
                            in[i]->bytes(), i < program.donated.size() && program.donated[i], false});
    for (const auto& [path, text] : program.static_args) s.inputs.push_back({path.str(), text.str(), 0, false, true});
    for (std::size_t o = 0; o < out.size(); ++o)
        s.outputs.push_back(
            {o < program.out_paths.size() ? program.out_paths[o].str() : std::to_string(o), to_text(out[o]), out[o]->bytes()});
    for (const Region& r : program.regions) s.regions.push_back(describe(r));
    s.contexts = contexts_of(program);
    for (const auto& [name, value] : program.flags) s.flags.push_back({name.str(), flag_text(value)});
    if (program.xla.known) s.compiled.push_back(program.xla);
    s.compiled.insert(s.compiled.end(), program.targets.begin(), program.targets.end());
    s.compiled_equations = equations_in_xla(program);
    add_unsupported(j, distribution_of(program).has_value(), s);
    return s;
}

std::vector<MadeUpConstant> made_up_constants(const Jaxpr& program) {
    std::vector<MadeUpConstant> out;
    std::unordered_set<const ArrayConst*> seen;
    for (const Jaxpr* j : all_jaxprs(program))
        for (std::uint32_t i = 0; i < j->consts.size(); ++i) {
            const ArrayPtr& array = j->consts[i];
            const AvalRef aval = j->aval(j->constvar(i));
            if ((array && array->known()) || !aval->is_array() || aval->bytes() == 0) continue;
            if (array && !seen.insert(array.get()).second) continue;
            MadeUpConstant c{to_text(aval), aval->bytes(), "no equation", {}};
            const auto reads = [&](const Eqn& e) {
                const auto in = j->inputs(e);
                return std::any_of(in.begin(), in.end(), [&](Atom a) { return a.is_var() && a.var() == j->constvar(i); });
            };
            if (const auto e = std::find_if(j->eqns.begin(), j->eqns.end(), reads); e != j->eqns.end()) {
                const std::string place = e->source->summary().str();
                c.source = e->prim->name + (place.empty() ? "" : " from " + place);
                c.loc = e->source.loc();
            }
            out.push_back(std::move(c));
        }
    return out;
}

}  // namespace jaxscope
