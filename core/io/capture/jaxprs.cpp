// SPDX-License-Identifier: Apache-2.0
// The parts of a capture that CaptureDocument converts by itself: head, arrays, jaxprs and their equations.
#include <algorithm>

#include "base/cancel.h"
#include "base/limits.h"
#include "io/capture/document.h"
#include "io/capture/program.h"
#include "io/capture/ref_indexers.h"
#include "ir/primitive.h"

namespace jaxscope {

// ---- Head and end -----------------------------------------------------------------------------------------------------------

void CaptureDocument::format(const JsonValue& v) {
    if (!v.is_string() || v.as_string() != "jaxscope.capture") v.fail("\"jaxscope.capture\"");
    has_format_ = true;
}
void CaptureDocument::version(const JsonValue& v) {
    if (const std::int64_t n = v.as_int(); n < 1 || n > 2) v.fail("version 1 or 2 of the capture format");
    has_version_ = true;
}
void CaptureDocument::producer(const JsonValue& v) { read_producer(v, program_); }
void CaptureDocument::program_name(const JsonValue& v) { program_.name = text_from_json(v); }
void CaptureDocument::flags(const JsonValue& v) { read_flags(v, tables_, program_); }
void CaptureDocument::custom_rule(const JsonValue& v) { tables_.rules()->rules.push_back(read_custom_rule(v, tables_)); }
void CaptureDocument::program(const JsonValue& v) { read_program(v, tables_, program_); }
void CaptureDocument::marked(const JsonValue& v) {
    if (v.is_null()) return;
    program_.marked = tables_.jaxpr(v.get("jaxpr"));
    JsonValue calls;
    if (v.find("calls", calls) && !calls.is_null())
        for (JsonValue::Items it(calls); it.more(); it.step()) program_.marked_calls.push_back(read_marked_call(it.value(), tables_));
}
void CaptureDocument::region(const JsonValue& v) { program_.regions.push_back(read_region(v, tables_, program_.regions.size())); }
void CaptureDocument::xla(const JsonValue& v) {
    if (!v.is_null()) program_.xla = read_xla(v);
}
void CaptureDocument::target(const JsonValue& v) { program_.targets.push_back(read_xla(v)); }

void CaptureDocument::finish() {
    const auto missing = [](const char* key) {
        throw Error(ErrorCode::BadInput, std::string("$: expected the key '") + key + "', found none");
    };
    if (!has_format_) missing("format");
    if (!has_version_) missing("version");
    if (!program_.jaxpr) missing("program");
    if (tables_.highest_rule() >= static_cast<std::int64_t>(tables_.rules()->rules.size()))
        throw Error(ErrorCode::BadInput, "$.params: expected a custom rule below " + std::to_string(tables_.rules()->rules.size()) +
                                             ", found " + std::to_string(tables_.highest_rule()));
}

// ---- Arrays -----------------------------------------------------------------------------------------------------------------

void CaptureDocument::begin_array() {
    array_ = std::make_shared<ArrayConst>();
    array_aval_.reset();
    filler_.reset();
}
void CaptureDocument::array_npz(const JsonValue& v) { array_->npz = text_from_json(v); }
void CaptureDocument::end_array() {
    if (!array_aval_) fail("an array's 'aval'", "none");
    array_->aval = *array_aval_;
    if (filler_) array_->data.assign(filler_->made().data(), filler_->made().data() + filler_->made().size());
    tables_.add_array(std::move(array_));
}

// ---- Jaxprs -----------------------------------------------------------------------------------------------------------------

void CaptureDocument::begin_jaxpr() {
    jaxpr_ = std::make_shared<Jaxpr>();
    eqns_ = {};
    jaxpr_depth_ = 0;
    has_constvars_ = has_invars_ = has_eqns_ = has_outvars_ = false;
}

void CaptureDocument::end_jaxpr() {
    if (!has_invars_ || !has_eqns_ || !has_outvars_) fail("a jaxpr with 'invars', 'eqns' and 'outvars'", "one without");
    if (!jaxpr_->consts.empty() && jaxpr_->consts.size() != jaxpr_->num_constvars)
        fail(std::to_string(jaxpr_->num_constvars) + " consts, one for each constvar", std::to_string(jaxpr_->consts.size()));
    if (static_cast<std::size_t>(jaxpr_depth_) + 1 > kMaxNesting.value)
        throw Error(ErrorCode::LimitExceeded,
                    json_path(steps_) + ": expected jaxprs nested at most " + std::to_string(kMaxNesting.value) + " deep, found more");
    jaxpr_->eqns = eqns_.take();
    jaxpr_->atoms.shrink_to_fit();
    tables_.add_jaxpr(std::move(jaxpr_), jaxpr_depth_ + 1);
}

void CaptureDocument::jaxpr_name(const JsonValue& v) { jaxpr_->name = text_from_json(v); }

void CaptureDocument::jaxpr_constvars(const JsonValue& v) {
    if (has_constvars_ || has_invars_) v.fail("'constvars' once, before 'invars'");
    has_constvars_ = true;
    for (const AvalRef a : tables_.avals(v)) jaxpr_->add_var(a);
    jaxpr_->num_constvars = jaxpr_->num_vars();
}
void CaptureDocument::jaxpr_invars(const JsonValue& v) {
    if (has_invars_) v.fail("'invars' once");
    has_invars_ = true;
    for (const AvalRef a : tables_.avals(v)) jaxpr_->add_var(a);
    jaxpr_->num_invars = jaxpr_->num_vars() - jaxpr_->num_constvars;
}
void CaptureDocument::jaxpr_consts(const JsonValue& v) {
    if (v.is_null()) return;
    jaxpr_->consts.clear();
    for (JsonValue::Items it(v); it.more(); it.step()) jaxpr_->consts.push_back(tables_.array(it.value()));
}
void CaptureDocument::jaxpr_arg_names(const JsonValue& v) {
    if (v.is_null()) return;
    jaxpr_->arg_names.clear();
    for (JsonValue::Items it(v); it.more(); it.step()) jaxpr_->arg_names.push_back(text_from_json(it.value()));
    if (has_invars_ && !jaxpr_->arg_names.empty() && jaxpr_->arg_names.size() != jaxpr_->num_invars)
        v.fail("a name for each of the " + std::to_string(jaxpr_->num_invars) + " invars");
}
void CaptureDocument::jaxpr_effects(const JsonValue& v) { jaxpr_->effects = effects(v); }
void CaptureDocument::jaxpr_outvars(const JsonValue& v) {
    if (!has_eqns_) v.fail("'eqns' before 'outvars'");
    has_outvars_ = true;
    jaxpr_->outvars.clear();
    for (JsonValue::Items it(v); it.more(); it.step()) jaxpr_->outvars.push_back(atom(it.value()));
}

void CaptureDocument::jaxpr_shared_vars(const JsonValue& v) {
    if (!has_eqns_) v.fail("'eqns' before 'shared_vars'");
    jaxpr_->shared_vars.clear();
    std::int64_t free_from = 0;
    constexpr std::int64_t kMostIds = std::int64_t{1} << 31;
    for (JsonValue::Items it(v); it.more(); it.step()) {
        const JsonValue run = it.value();
        std::vector<std::int64_t> n;
        for (JsonValue::Items number(run); number.more() && n.size() <= 3; number.step()) n.push_back(number.value().as_int());
        if (n.size() != 3 || n[0] < free_from || n[1] < 1 || n[1] > jaxpr_->num_vars() || n[0] > jaxpr_->num_vars() - n[1] || n[2] < 0 ||
            n[2] > kMostIds - n[1])
            run.fail("[first, count, id] of variables below " + std::to_string(jaxpr_->num_vars()) + " behind those before");
        jaxpr_->shared_vars.push_back(
            {static_cast<std::uint32_t>(n[0]), static_cast<std::uint32_t>(n[1]), static_cast<std::uint32_t>(n[2])});
        free_from = n[0] + n[1];
    }
}

Atom CaptureDocument::atom(const JsonValue& v) const {
    const std::int64_t i = v.as_int();
    if (i < 0) return tables_.literal(v, -1 - i);
    if (i >= jaxpr_->num_vars()) v.fail("a variable below " + std::to_string(jaxpr_->num_vars()));
    return Var{static_cast<std::uint32_t>(i)};
}

void CaptureDocument::eqn_results(const JsonValue& v, Eqn& e) {
    e.first_out = jaxpr_->num_vars();
    for (JsonValue::Items it(v); it.more(); it.step()) {
        const JsonValue item = it.value();
        const std::int64_t i = item.as_int();
        const bool dropped = i < 0;
        const std::int64_t a = dropped ? -1 - i : i;
        if (a >= static_cast<std::int64_t>(tables_.num_avals()))
            item.fail_found("an aval below " + std::to_string(tables_.num_avals()), std::to_string(a));
        jaxpr_->add_var(tables_.aval_at(static_cast<std::size_t>(a)), dropped);
    }
    e.n_out = jaxpr_->num_vars() - e.first_out;
    if (jaxpr_->num_vars() >= 1u << 30)
        throw Error(ErrorCode::LimitExceeded, v.path() + ": expected fewer than 2^30 variables, found more");
}

EffectSet CaptureDocument::effects(const JsonValue& v) const {
    std::vector<Effect> out;
    for (JsonValue::Items it(v); it.more(); it.step()) out.push_back(Effect::parse(text_from_json(it.value())));
    return out;
}

namespace {
ParamsRef with_normalised_names(const Primitive& prim, ParamsRef params) {
    if (prim.older_params.empty()) return params;
    const auto old = [&](const Params::Entry& p) { return param_of_today(prim, p.first.str()) != p.first.str(); };
    if (std::none_of(params->entries().begin(), params->entries().end(), old)) return params;
    std::vector<Params::Entry> entries;
    for (const auto& [name, value] : params->entries()) entries.emplace_back(param_of_today(prim, name.str()), value);
    return Params::make(std::move(entries));
}
}  // namespace

void CaptureDocument::eqn(const JsonValue& v) {
    JsonValue::Items it(v);
    const auto next = [&](bool required) {
        if (!it.more()) {
            if (required) v.fail("[primitive, inputs, results, params, source]");
            return JsonValue();
        }
        const JsonValue item = it.value();
        it.step();
        return item;
    };
    check_cancelled();
    Eqn e;
    e.prim = &tables_.primitive_of(next(true));
    const JsonValue inputs = next(true);
    e.in_begin = static_cast<std::uint32_t>(jaxpr_->atoms.size());
    for (JsonValue::Items in(inputs); in.more(); in.step()) jaxpr_->atoms.push_back(atom(in.value()));
    e.n_in = static_cast<std::uint32_t>(jaxpr_->atoms.size()) - e.in_begin;
    if (jaxpr_->atoms.size() >= UINT32_MAX)
        throw Error(ErrorCode::LimitExceeded, v.path() + ": expected fewer than 2^32 inputs, found more");
    eqn_results(next(true), e);
    if (it.more()) {
        CaptureTables::ParamsAndDepth p = tables_.params(next(false));
        jaxpr_depth_ = std::max(jaxpr_depth_, p.depth);
        e.params = with_indexer_read(with_normalised_names(*e.prim, std::move(p.params)));
    }
    if (it.more()) e.source = tables_.source(next(false));
    if (it.more()) e.context = tables_.context(next(false));
    if (it.more()) e.effects = effects(next(false));
    eqns_.push_back(std::move(e));
}

}  // namespace jaxscope
