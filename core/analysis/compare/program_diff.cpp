// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare/program_diff.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/compare/sequence_match.h"
#include "analysis/equations/eqn_bytes.h"
#include "analysis/equations/eqn_path.h"
#include "base/cancel.h"
#include "ir/primitive.h"
#include "ir/print/attr_text.h"
#include "ir/print/print_rules.h"
#include "ir/types/literal.h"

namespace jaxscope {

namespace {

using Kind = EqnChange::Kind;
using Changes = std::vector<EqnChange>;

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
    seed ^= value + 0x9e3779b97f4a7c15ULL + (seed << 12) + (seed >> 4);
    return seed * 0xff51afd7ed558ccdULL;
}
std::uint64_t text_hash(std::string_view text) { return std::hash<std::string_view>{}(text); }

bool holds_jaxpr(const PrintedParam& p) { return p.value && p.value->holds_jaxpr(); }
std::string value_text(const PrintedParam& p) { return p.value ? str_text(*p.value) : p.text; }

std::string avals_text(const Avals& avals, bool weak = false) {
    std::string out;
    for (const AvalRef& a : avals) out += (out.empty() ? "" : ", ") + to_text(a) + (weak && a->weak_type ? " (weak)" : "");
    return out;
}
/// What equations and jaxprs are, whatever their variables are called.
class Fingerprints {
public:
    /// Primitive, parameters, types; not where the operands come from.
    std::uint64_t of(const Jaxpr& j, const Eqn& e) {
        std::uint64_t h = mix(reinterpret_cast<std::uintptr_t>(e.prim), of_params(e));
        for (const Atom& a : j.inputs(e)) h = mix(h, j.aval(a).id());
        h = mix(h, e.n_in);
        for (std::uint32_t k = 0; k < e.n_out; ++k) h = mix(h, j.aval(j.output(e, k)).id());
        return h;
    }
    /// All of a jaxpr, operands included.
    std::uint64_t of(const Jaxpr& j) {
        if (const auto it = jaxprs_.find(&j); it != jaxprs_.end()) return it->second;
        std::uint64_t h = mix(j.num_constvars, j.num_invars);
        const auto atom = [&](const Atom& a) {
            return a.is_var() ? mix(1, a.var().index) : mix(2, text_hash(value_text(*a.literal())));  // indices are dense and in order
        };
        for (const Eqn& e : j.eqns) {
            h = mix(h, of(j, e));
            for (const Atom& a : j.inputs(e)) h = mix(h, atom(a));
        }
        for (const Atom& a : j.outvars) h = mix(h, atom(a));
        return jaxprs_[&j] = h;
    }

private:
    std::uint64_t of_params(const Eqn& e) {
        if (!e.params->holds_jaxpr()) {
            const auto [it, is_new] = params_.try_emplace(&*e.params, 0);
            if (is_new)
                for (const PrintedParam& p : printed_params(e, true))
                    it->second = mix(it->second, mix(text_hash(p.name), text_hash(value_text(p))));
            return it->second;
        }
        std::uint64_t h = 0;
        for (const PrintedParam& p : printed_params(e, true))
            if (!holds_jaxpr(p)) h = mix(h, mix(text_hash(p.name), text_hash(value_text(p))));
        for (const JaxprPtr& inner : e.params->jaxprs()) h = mix(h, of(*inner));
        return h;
    }
    std::unordered_map<const Jaxpr*, std::uint64_t> jaxprs_;
    std::unordered_map<const Params*, std::uint64_t> params_;
};

/// One jaxpr of each program against the other.
class Comparison {
public:
    Comparison(Fingerprints& prints, ProgramDiff& out) : prints_(prints), out_(out) {}

    void compare(const Jaxpr& a, const JaxprPath& path_a, const Jaxpr& b, const JaxprPath& path_b) {
        check_cancelled();
        Sides s{a, b, path_a, path_b, std::vector<std::int64_t>(a.num_vars(), kUnmatched), std::vector<bool>(b.num_vars())};
        for (std::uint32_t i = 0; i < std::min(a.num_invars, b.num_invars); ++i) s.pair(a.invar(i), b.invar(i));
        for (std::uint32_t i = 0; i < std::min(a.num_constvars, b.num_constvars); ++i) s.pair(a.constvar(i), b.constvar(i));
        const auto prints = [&](const Jaxpr& j) {
            std::vector<std::uint64_t> all;
            all.reserve(j.eqns.size());
            for (const Eqn& e : j.eqns) all.push_back(prints_.of(j, e));
            return all;
        };
        const auto pairs = match_sequences(prints(a), prints(b));
        for (const auto& [i, k] : pairs) marry(s, i, k);
        std::vector<Gap> gaps = gaps_between(pairs, a.eqns.size(), b.eqns.size());
        std::vector<std::pair<std::uint32_t, std::uint32_t>> alike;
        for (const Gap& gap : gaps)
            for (const auto& pair : same_primitives(s, gap)) {
                marry(s, pair.first, pair.second);
                alike.push_back(pair);
            }
        for (const auto& [i, k] : pairs) told_of_operands(s, i, k);
        for (const auto& [i, k] : alike) told_of_changes(s, i, k);
        leftovers(s);
        results(s);
    }

private:
    static constexpr std::int64_t kUnmatched = -1;
    struct Sides {
        const Jaxpr &a, &b;
        const JaxprPath &path_a, &path_b;
        std::vector<std::int64_t> partner;  ///< per variable of a: the one of b
        std::vector<bool> has_partner;      ///< per variable of b
        void pair(Var x, Var y) {
            partner[x.index] = y.index;
            has_partner[y.index] = true;
        }
        /// Both programs make both values, and they aren't the same one.
        bool others(Var x, Var y) const { return partner[x.index] != kUnmatched && has_partner[y.index] && partner[x.index] != y.index; }
        std::vector<bool> matched_a = std::vector<bool>(a.eqns.size()), matched_b = std::vector<bool>(b.eqns.size());
    };
    struct Gap {
        std::uint32_t a_begin, a_end, b_begin, b_end;
    };

    static void marry(Sides& s, std::uint32_t i, std::uint32_t k) {
        const Eqn &e = s.a.eqns[i], &f = s.b.eqns[k];
        s.matched_a[i] = s.matched_b[k] = true;
        for (std::uint32_t r = 0; r < std::min(e.n_out, f.n_out); ++r) s.pair(s.a.output(e, r), s.b.output(f, r));
    }
    static std::vector<Gap> gaps_between(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, std::size_t n, std::size_t m) {
        std::vector<Gap> gaps;
        std::uint32_t i = 0, k = 0;
        const auto until = [&](std::uint32_t to_i, std::uint32_t to_k) {
            if (i < to_i && k < to_k) gaps.push_back({i, to_i, k, to_k});
            i = to_i + 1;
            k = to_k + 1;
        };
        for (const auto& [a, b] : pairs) until(a, b);
        until(static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(m));
        return gaps;
    }
    static std::vector<std::pair<std::uint32_t, std::uint32_t>> same_primitives(const Sides& s, const Gap& gap) {
        const auto primitives = [](const Jaxpr& j, std::uint32_t begin, std::uint32_t end) {
            std::vector<std::uint64_t> all;
            for (std::uint32_t i = begin; i < end; ++i) all.push_back(reinterpret_cast<std::uintptr_t>(j.eqns[i].prim));
            return all;
        };
        auto pairs = match_sequences(primitives(s.a, gap.a_begin, gap.a_end), primitives(s.b, gap.b_begin, gap.b_end));
        for (auto& [i, k] : pairs) {
            i += gap.a_begin;
            k += gap.b_begin;
        }
        return pairs;
    }

    EqnDiff row(const Jaxpr& j, const JaxprPath& path, std::uint32_t i) const {
        const Eqn& e = j.eqns[i];
        EqnDiff d;
        d.equation = to_text(EqnPath{path, i});
        d.primitive = e.prim->name.c_str();
        d.aval = avals_text(j.out_avals(e));
        d.bytes = result_bytes(j, e);
        d.source = e.source->summary().str();
        d.loc = e.source.loc();
        return d;
    }
    /// Operands that stand alike in both, but are others: values that both programs make, swapped.
    Changes other_operands(const Sides& s, const Eqn& e, const Eqn& f) const {
        Changes what;
        const auto in_a = s.a.inputs(e), in_b = s.b.inputs(f);
        for (std::size_t k = 0; k < std::min(in_a.size(), in_b.size()); ++k) {
            const Atom x = in_a[k], y = in_b[k];
            if (x.is_literal() && y.is_literal()) {
                const std::string before = value_text(*x.literal()), now = value_text(*y.literal());
                if (before != now) what.push_back({Kind::Literal, k, {}, before, now});
            } else if (x.is_literal() != y.is_literal()) {
                what.push_back({x.is_literal() ? Kind::LiteralToValue : Kind::ValueToLiteral, k, {}, {}, {}});
            } else if (s.others(x.var(), y.var())) {
                what.push_back({Kind::OtherOperand, k, {}, {}, {}});
            }
        }
        return what;
    }
    void told_of_operands(const Sides& s, std::uint32_t i, std::uint32_t k) {
        Changes what = other_operands(s, s.a.eqns[i], s.b.eqns[k]);
        if (what.empty()) {
            out_.same += count_with_inside(s.a.eqns[i]);
            return;
        }
        tell(s, i, k, std::move(what));
    }
    void tell(const Sides& s, std::uint32_t i, std::uint32_t k, Changes what) {
        EqnDiff d = row(s.a, s.path_a, i);
        d.other = to_text(EqnPath{s.path_b, k});
        d.what = std::move(what);
        out_.changed.push_back(std::move(d));
    }
    static std::int64_t count_with_inside(const Eqn& e) {
        std::int64_t n = 1;
        for (const JaxprPtr& inner : e.params->jaxprs()) n += count_equations(*inner);
        return n;
    }

    /// The same primitive at the same place in another form: what of it differs, or what differs inside.
    void told_of_changes(const Sides& s, std::uint32_t i, std::uint32_t k) {
        const Eqn &e = s.a.eqns[i], &f = s.b.eqns[k];
        Changes what = other_params(e, f);
        const auto types = [&](Kind of, const Avals& x, const Avals& y) {
            if (x != y) what.push_back({of, 0, {}, avals_text(x, true), avals_text(y, true)});
        };
        types(Kind::OperandTypes, s.a.in_avals(e), s.b.in_avals(f));
        types(Kind::ResultTypes, s.a.out_avals(e), s.b.out_avals(f));
        for (EqnChange& o : other_operands(s, e, f)) what.push_back(std::move(o));
        const std::vector<SubJaxpr> in_a = sub_jaxprs(e), in_b = sub_jaxprs(f);
        if (in_a.size() != in_b.size())
            what.push_back({Kind::JaxprsInside, 0, {}, std::to_string(in_a.size()), std::to_string(in_b.size())});
        if (!what.empty()) tell(s, i, k, std::move(what));
        if (in_a.size() != in_b.size()) return;
        for (std::size_t n = 0; n < in_a.size(); ++n) {
            if (!compared_.insert({in_a[n].jaxpr.get(), in_b[n].jaxpr.get()}).second) continue;  // called in several places: told once
            if (prints_.of(*in_a[n].jaxpr) == prints_.of(*in_b[n].jaxpr)) {
                out_.same += count_equations(*in_a[n].jaxpr);
                continue;
            }
            JaxprPath path_a = s.path_a, path_b = s.path_b;
            path_a.steps.push_back({i, in_a[n].param, in_a[n].index});
            path_b.steps.push_back({k, in_b[n].param, in_b[n].index});
            compare(*in_a[n].jaxpr, path_a, *in_b[n].jaxpr, path_b);
        }
    }
    static Changes other_params(const Eqn& e, const Eqn& f) {
        std::map<std::string, std::pair<std::string, std::string>> values;
        const auto read = [&](const Eqn& eqn, auto member) {
            for (const PrintedParam& p : printed_params(eqn, true))
                if (!holds_jaxpr(p)) values[p.name].*member = value_text(p);
        };
        using Pair = std::pair<std::string, std::string>;
        read(e, &Pair::first);
        read(f, &Pair::second);
        Changes what;
        for (const auto& [name, v] : values)
            if (v.first != v.second) what.push_back({Kind::Param, 0, name, v.first, v.second});
        return what;
    }

    void leftovers(const Sides& s) {
        for (std::uint32_t i = 0; i < s.a.eqns.size(); ++i)
            if (!s.matched_a[i]) out_.removed.push_back(row(s.a, s.path_a, i));
        for (std::uint32_t k = 0; k < s.b.eqns.size(); ++k)
            if (!s.matched_b[k]) out_.added.push_back(row(s.b, s.path_b, k));
    }
    /// Results of the jaxpr that are other values of both programs: told as a change of the equation that made them.
    void results(const Sides& s) {
        for (std::size_t r = 0; r < std::min(s.a.outvars.size(), s.b.outvars.size()); ++r) {
            const Atom x = s.a.outvars[r], y = s.b.outvars[r];
            if (x.is_literal() || y.is_literal()) continue;
            if (!s.others(x.var(), y.var())) continue;
            EqnDiff d;
            d.equation = to_text(s.path_a);
            d.other = to_text(s.path_b);
            d.aval = to_text(s.a.aval(x));
            d.what = {{Kind::OtherResult, r, {}, {}, {}}};
            out_.changed.push_back(std::move(d));
        }
    }

    Fingerprints& prints_;
    ProgramDiff& out_;
    std::set<std::pair<const Jaxpr*, const Jaxpr*>> compared_;
};

}  // namespace

ProgramDiff diff_programs(const Jaxpr& a, const Jaxpr& b) {
    ProgramDiff out;
    Fingerprints prints;
    if (prints.of(a) == prints.of(b)) {
        out.same = count_equations(a);
        return out;
    }
    Comparison(prints, out).compare(a, {}, b, {});
    return out;
}

}  // namespace jaxscope
