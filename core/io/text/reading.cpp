// SPDX-License-Identifier: Apache-2.0
#include "io/text/reading.h"

#include "base/cancel.h"
#include "io/text/values.h"
#include "ir/primitive.h"
#include "ir/print/print_refs.h"
#include "lax/primitives.h"

namespace jaxscope {

AvalRef read_aval(TextCursor& in) {
    const TextCursor::Mark before = in.mark();
    const std::string text = in.aval_text();
    try {
        return aval_from_text(text);
    } catch (Error& e) {
        in.back_to(before);
        e.at(in.loc());
        throw;
    }
}

void bind(const TextCursor& in, Reading& r, const Binder& binder) {
    if (r.jaxpr->num_vars() >= 1u << 30)
        throw Error(ErrorCode::LimitExceeded, "expected fewer than 2^30 variables, found more").at(in.loc());
    const Var v = r.jaxpr->add_var(binder.aval, binder.name == "_");
    if (binder.name == "_")
        r.dropped.push_back(v);
    else if (!r.scope.emplace(binder.name, v).second)
        throw Error(ErrorCode::BadInput, "expected a new variable, found '" + printable(binder.name, 60) + "' again")
            .at(in.loc_at(binder.at.at));
}

LiteralRef guess(const TextCursor& in, const std::string& token, const std::vector<DType>& likely, const TextCursor::Mark& at) {
    try {
        return guessed_literal(token, likely);
    } catch (Error& e) {
        e.at(in.loc_at(at.at));
        throw;
    }
}

Var read_dropped(Reading& r) {
    const Var v = r.dropped.back();
    r.jaxpr->set_dropped(v, false);
    return v;
}

void dropped_results(const TextCursor& in, Reading& r, const std::vector<std::size_t>& results, const Avals& types) {
    const bool typed = types.size() == r.jaxpr->outvars.size();
    std::vector<bool> taken(r.dropped.size(), false);
    for (std::size_t i = results.size(); i-- > 0;) {
        std::size_t k = r.dropped.size();
        while (k > 0 && (taken[k - 1] || (typed && r.jaxpr->aval(r.dropped[k - 1]) != types[results[i]]))) --k;
        if (k == 0) in.fail("as many variables '_' as results '_'");
        taken[k - 1] = true;
        r.jaxpr->set_dropped(r.dropped[k - 1], false);
        r.jaxpr->outvars[results[i]] = r.dropped[k - 1];
    }
}

// ---- Refs -------------------------------------------------------------------------------------------------------------------

namespace {

Atom variable(TextCursor& in, const Reading& r) {
    in.skip_spaces();
    const TextCursor::Mark before = in.mark();
    const auto v = r.scope.find(in.word("a variable"));
    if (v != r.scope.end()) return v->second;
    in.back_to(before);
    in.fail("a variable that is defined above");
}

/// What is written: a variable or a literal; one without a type is a number of 32 bits.
Atom written_value(TextCursor& in, const Reading& r) {
    in.skip_spaces();
    const TextCursor::Mark before = in.mark();
    const std::string token = in.atom_text();
    if (in.take(":")) {
        const AvalRef type = read_aval(in);
        if (const auto l = literal_from_text(token, type)) return LiteralRef(*l);
        in.back_to(before);
        in.fail("a literal of " + printable(to_text(type), 60));
    }
    if (const auto v = r.scope.find(token); v != r.scope.end()) return v->second;
    if (is_untyped_literal(token)) return guess(in, token, {DType::S32, DType::F32}, before);
    in.back_to(before);
    in.fail("a variable that is defined above");
}

void add_indices(TextCursor& in, const Reading& r, const TextCursor::Mark& at, const std::vector<std::string>& tokens,
                 std::vector<Atom>& inputs) {
    for (const std::string& token : tokens) {
        if (const auto v = r.scope.find(token); v != r.scope.end()) {
            inputs.emplace_back(v->second);
        } else if (const auto l = literal_from_text(token, AvalRef(DType::S32, {}))) {
            inputs.emplace_back(LiteralRef(*l));
        } else {
            in.back_to(at);
            in.fail("indices that are defined above");
        }
    }
}

}  // namespace

bool at_ref_access(TextCursor& in, const Reading& r, std::size_t results) {
    if (results == 1) return in.at("<-") || in.at(",");
    const auto ref = results == 0 ? r.scope.find(in.peek_word()) : r.scope.end();
    return ref != r.scope.end() && in.after_word(ref->first, '[') && !r.jaxpr->aval(ref->second)->is_array();
}

void read_ref_access(TextCursor& in, Reading& r, std::vector<Binder> results, SourceRef source) {
    const bool old_value = !results.empty() && in.take(",");
    const bool get = !results.empty() && !old_value;
    if (get) in.expect("<-");
    std::vector<Atom> inputs{variable(in, r)};
    const TextCursor::Mark at_indexer = in.mark();
    const TextCursor::Indexer indexer = in.indexer();
    const bool add = results.empty() && in.take("+=");
    if (!get) {
        if (!add) in.expect("<-");
        if (old_value) {
            variable(in, r);
            in.indexer();
            in.expect(",");
        }
        inputs.push_back(written_value(in, r));
        if (!add && !old_value) results.push_back({"_", r.jaxpr->aval(inputs[1]), at_indexer});
    }
    add_indices(in, r, at_indexer, indexer.indices, inputs);

    check_cancelled();
    Eqn e;
    e.prim = get ? &kGet : add ? &kAddUpdate : &kSwap;
    e.source = source;
    e.in_begin = static_cast<std::uint32_t>(r.jaxpr->atoms.size());
    e.n_in = static_cast<std::uint32_t>(inputs.size());
    r.jaxpr->atoms.insert(r.jaxpr->atoms.end(), inputs.begin(), inputs.end());
    e.first_out = r.jaxpr->num_vars();
    e.n_out = static_cast<std::uint32_t>(results.size());
    for (const Binder& b : results) bind(in, r, b);
    e.params = Params::make({{"tree", indexer_attr(indexer.text, indexer.text)}});
    r.jaxpr->eqns.push_back(std::move(e));
}

}  // namespace jaxscope
