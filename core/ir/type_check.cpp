// SPDX-License-Identifier: Apache-2.0
#include "ir/type_check.h"

#include <algorithm>
#include <unordered_set>

#include "base/cancel.h"
#include "base/limits.h"
#include "ir/primitive.h"

namespace jaxscope {

namespace {

[[noreturn]] void mismatch(const std::string& expected, const std::string& found) {
    throw Error(ErrorCode::TypeMismatch, "expected " + expected + ", found " + found);
}

/// `f32[b,4]`: an array of which no rule can say the shape.
bool is_symbolic(AvalRef a) { return !a->is_array() && a->other.str().back() == ']'; }

bool same_type(AvalRef a, AvalRef b) {
    // Tokens and Refs are compared by no rule: JAX spells them differently from version to version.
    if (a == b || (!a->is_array() && !b->is_array()) || is_symbolic(a) || is_symbolic(b)) return true;
    if (!a->is_array() || !b->is_array()) return false;
    return a->dtype == b->dtype && a->shape == b->shape;
}

void check_atom(const Jaxpr& j, Atom a, std::uint32_t defined) {
    if (a.is_literal()) return;
    if (a.var().index >= defined)
        throw Error(ErrorCode::BadInput,
                    "expected a variable below " + std::to_string(defined) + ", found " + std::to_string(a.var().index));
    if (j.dropped(a.var())) throw Error(ErrorCode::BadInput, "expected a variable with a name, found a dropped one (_)");
}

void check_results(const Jaxpr& j, const Eqn& e) {
    if (!e.prim->abstract_eval) return;
    const Op op{e.prim, e.params, j.in_avals(e), {}, e.source, e.context};
    if (std::any_of(op.in.begin(), op.in.end(), is_symbolic)) return;
    const Avals derived = e.prim->abstract_eval.fn(op);
    if (derived.size() != e.n_out) mismatch(std::to_string(derived.size()) + " results of " + e.prim->name, std::to_string(e.n_out));
    for (std::uint32_t k = 0; k < e.n_out; ++k) {
        const AvalRef recorded = j.aval(j.output(e, k));
        if (!same_type(derived[k], recorded)) mismatch(to_text(derived[k]) + " from " + e.prim->name, to_text(recorded));
    }
}

std::string short_text(const Jaxpr& j, const Eqn& e, std::size_t index) {
    std::string s = "eqn " + std::to_string(index) + ": " + printable(e.prim->name.c_str(), 60);
    if (e.in_begin > j.atoms.size() || e.n_in > j.atoms.size() - e.in_begin) return s + " ...";
    std::uint32_t shown = 0;
    for (const Atom a : j.inputs(e)) {
        if (++shown > 6) return s + " ...";
        s += " " + (a.is_var() && a.var().index >= j.num_vars() ? std::string("?") : to_text(j.aval(a)));
    }
    return s;
}

void check_equation(const Jaxpr& j, const Eqn& e, std::uint32_t defined) {
    if (e.in_begin > j.atoms.size() || e.n_in > j.atoms.size() - e.in_begin || e.first_out != defined || e.n_out > j.num_vars() - defined)
        throw Error(ErrorCode::BadInput, "expected inputs and results inside the jaxpr, found others");
    for (const Atom a : j.inputs(e)) check_atom(j, a, defined);
    check_results(j, e);
}

void check_consts(const Jaxpr& j) {
    if (j.consts.empty()) return;
    if (j.consts.size() != j.num_constvars)
        mismatch(std::to_string(j.num_constvars) + " values of constvars", std::to_string(j.consts.size()));
    for (std::uint32_t i = 0; i < j.num_constvars; ++i) {
        const AvalRef wanted = j.aval(j.constvar(i));
        if (j.consts[i] && !same_type(j.consts[i]->aval, wanted)) mismatch("a constant of " + to_text(wanted), to_text(j.consts[i]->aval));
    }
}

/// The same error at its place in the file; the user's line stands below.
Error placed(const Error& error, const FilePlaces& places, const Jaxpr& j, std::size_t eqn, const SourceRef& source) {
    const FilePlace place = places ? places(j, eqn, error) : FilePlace();
    Error out(error.code, place.path.empty() ? error.fact() : place.path + ": " + error.fact());
    out.loc = error.loc;
    out.context = error.context;
    out.advices = error.advices;
    if (eqn != kWholeJaxpr) out.in("checking " + short_text(j, j.eqns[eqn], eqn));
    const SourceLoc line = source.loc();
    if (!place.loc.file.empty() && !line.file.empty()) out.in(printable(line.file, 100) + ":" + std::to_string(line.line));
    return out.at(place.loc).at(line);
}

void check_one(const Jaxpr& j, const FilePlaces& places) {
    std::size_t at = kWholeJaxpr;
    try {
        if (j.num_constvars > j.num_vars() || j.num_invars > j.num_vars() - j.num_constvars)
            throw Error(ErrorCode::BadInput, "expected as many variables as constvars and invars, found fewer");
        check_consts(j);
        std::uint32_t defined = j.num_constvars + j.num_invars;
        for (at = 0; at < j.eqns.size(); ++at) {
            check_cancelled();
            check_equation(j, j.eqns[at], defined);
            defined += j.eqns[at].n_out;
        }
        at = kWholeJaxpr;
        if (defined != j.num_vars()) throw Error(ErrorCode::BadInput, "expected a definition of every variable, found fewer");
        for (const Atom a : j.outvars) check_atom(j, a, defined);
    } catch (const Error& error) {
        throw placed(error, places, j, at, at == kWholeJaxpr ? SourceRef{} : j.eqns[at].source);
    }
}

void check_below(const Jaxpr& root, std::unordered_set<const Jaxpr*>& checked, const FilePlaces& places) {
    if (checked.contains(&root)) return;
    for (const Jaxpr* j : all_jaxprs(root)) {
        if (!checked.insert(j).second) continue;
        try {
            check_one(*j, places);
        } catch (Error& error) {
            if (!j->name.empty()) error.in("the jaxpr of " + printable(j->name.str(), 60));
            throw;
        }
    }
    // A deep chain is refused for good only when the deepest root is known; each root is asked once.
    const int depth = nesting_depth(root);
    if (depth <= static_cast<int>(kMaxNesting.value)) return;
    const Error error(ErrorCode::LimitExceeded,
                      "expected jaxprs nested at most " + std::to_string(kMaxNesting.value) + " deep, found " + std::to_string(depth));
    throw placed(error, places, root, kWholeJaxpr, {});
}

}  // namespace

void check_jaxpr(const Jaxpr& j) {
    std::unordered_set<const Jaxpr*> checked;
    check_below(j, checked, {});
}

void check_program(const Program& program, const FilePlaces& places) {
    std::unordered_set<const Jaxpr*> checked;
    const auto check = [&](const JaxprPtr& j) {
        if (j) check_below(*j, checked, places);
    };
    check(program.jaxpr);
    check(program.marked);
    for (const Region& r : program.regions) check(r.jaxpr);
    if (program.rules)
        for (const CustomRule& r : program.rules->rules) check(r.jaxpr);
}

}  // namespace jaxscope
