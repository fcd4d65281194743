// SPDX-License-Identifier: Apache-2.0
#include "io/text/literals.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>

#include "base/error.h"
#include "io/text/values.h"
#include "ir/primitive.h"
#include "ir/print/text_form.h"

namespace jaxscope {

namespace {

constexpr DType kAnyDType[] = {DType::S32, DType::F32, DType::C64, DType::Bool, DType::U32, DType::S64, DType::F64, DType::BF16,
                               DType::F16, DType::S8,  DType::U8,  DType::S16,  DType::U16, DType::U64, DType::C128};

const Jaxpr* jaxpr_of(const Attr* a) {
    const auto* ref = a ? a->get<Attr::JaxprRef>() : nullptr;
    return ref ? ref->jaxpr.get() : nullptr;
}
AvalRef input_of(const Jaxpr* j, std::int64_t i) {
    return j && i >= 0 && i < j->num_invars ? j->aval(j->invar(static_cast<std::uint32_t>(i))) : AvalRef();
}

/// The input of a called jaxpr that input `i` of the equation goes to; nothing where there is none.
std::optional<DType> called_dtype(const Eqn& e, std::int64_t i) {
    AvalRef a;
    bool known = false;
    const auto take = [&](const Jaxpr* j, std::int64_t k) {
        if (known || !j || k < 0 || k >= j->num_invars) return;
        a = input_of(j, k);
        known = a->is_array();
    };
    if (e.prim->text && e.prim->text->called_inputs) {
        for (const CalledInput& called : e.prim->text->called_inputs(*e.params, i)) take(called.jaxpr, called.input);
    } else {
        for (const char* name : {"jaxpr", "call_jaxpr", "fun_jaxpr"})
            if (const Jaxpr* j = jaxpr_of(e.params->find(name)); j && j->num_invars == e.n_in) take(j, i);
    }
    return known ? std::optional(a->dtype) : std::nullopt;
}

bool fits(const Jaxpr& j, const Eqn& e) {
    try {
        const Avals derived = e.prim->abstract_eval.fn(Op{e.prim, e.params, j.in_avals(e), {}, e.source, e.context});
        const Avals recorded = j.out_avals(e);
        return std::equal(derived.begin(), derived.end(), recorded.begin(), recorded.end(),
                          [](AvalRef a, AvalRef b) { return a->dtype == b->dtype && a->shape == b->shape; });
    } catch (const Error&) {
        return false;
    }
}

/// Of one equation.
void settle(Jaxpr& j, const Eqn& e, std::span<const UntypedLiteral> literals) {
    std::vector<DType> likely;
    const auto add = [&](AvalRef a, bool input) {
        if (!a->is_array() || (is_key(a->dtype) && !input)) return;
        const DType d = is_key(a->dtype) ? DType::U32 : a->dtype;  // random_fold_in takes a uint32 with its key
        if (std::find(likely.begin(), likely.end(), d) == likely.end()) likely.push_back(d);
    };
    for (const Atom a : j.inputs(e))
        if (a.is_var()) add(j.aval(a), true);
    for (std::uint32_t k = 0; k < e.n_out; ++k) add(j.aval(j.output(e, k)), false);
    std::vector<const UntypedLiteral*> open;
    for (const UntypedLiteral& l : literals) {
        const auto called = called_dtype(e, static_cast<std::int64_t>(l.atom - e.in_begin));
        j.atoms[l.atom] = guessed_literal(l.token, called ? std::vector{*called} : likely);
        if (!called) open.push_back(&l);
    }
    if (open.empty() || !e.prim->abstract_eval || fits(j, e)) return;
    // All of one type, then one of them of another.
    likely.insert(likely.end(), std::begin(kAnyDType), std::end(kAnyDType));
    const auto of = [&](const UntypedLiteral& l, DType d) { return literal_from_text(l.token, AvalRef(d, {})); };
    for (const DType d : likely) {
        for (const UntypedLiteral* l : open)
            if (const auto literal = of(*l, d)) j.atoms[l->atom] = LiteralRef(*literal);
        if (fits(j, e)) return;
        for (const UntypedLiteral* l : open) {
            const Atom before = j.atoms[l->atom];
            for (const DType other : likely) {
                if (const auto literal = of(*l, other)) j.atoms[l->atom] = LiteralRef(*literal);
                if (fits(j, e)) return;
            }
            j.atoms[l->atom] = before;
        }
    }
}

}  // namespace

bool is_untyped_literal(std::string_view t) {
    return !t.empty() && (std::isdigit(static_cast<unsigned char>(t[0])) || t[0] == '-' || t == "True" || t == "False" || t == "nan" ||
                          t == "inf" || t == "nanj" || t == "infj" || t[0] == '(');
}

LiteralRef guessed_literal(std::string_view token, const std::vector<DType>& likely) {
    for (const DType d : likely)
        if (const auto l = literal_from_text(token, AvalRef(d, {}))) return *l;
    for (const DType d : {DType::Bool, DType::S32, DType::F32, DType::C64, DType::S64, DType::U64})
        if (const auto l = literal_from_text(token, AvalRef(d, {}))) return *l;
    throw Error(ErrorCode::BadInput, "expected a literal, found '" + printable(token, 60) + "'");
}

void settle_literals(Jaxpr& j, const std::vector<UntypedLiteral>& literals) {
    for (std::size_t i = 0; i < literals.size();) {
        std::size_t end = i + 1;
        while (end < literals.size() && literals[end].eqn == literals[i].eqn) ++end;
        settle(j, j.eqns[literals[i].eqn], std::span(literals).subspan(i, end - i));
        i = end;
    }
}

}  // namespace jaxscope
