// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <complex>

#include "base/error.h"
#include "ir/interpret.h"
#include "ir/source.h"
#include "trace/refusals.h"
#include "trace/trace.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope::jax::detail {

namespace {
thread_local const Where* t_users_line = nullptr;
}
InUsersLine::InUsersLine(const Where* where, bool keeps_outer) : outer_(t_users_line) {
    if (!keeps_outer || !t_users_line) t_users_line = where;
}
InUsersLine::~InUsersLine() { t_users_line = outer_; }

const Where& users_line(const Where& where) { return t_users_line ? *t_users_line : where; }

SourceRef source_of(const Where& given) {
    const Where& where = users_line(given);
    const NameStack& scopes = current_scopes();
    struct Last {
        const char* file = nullptr;
        const char* function = nullptr;
        int line = -1;
        NameStack scopes;
        SourceRef source;
    };
    thread_local Last last;
    if (last.file == where.file && last.line == where.line && last.function == where.function && last.scopes == scopes) return last.source;
    Frame f;
    f.file = where.file;
    f.function = where.function;
    f.line = f.end_line = where.line;
    f.project = true;
    last = {
        where.file, where.function, where.line, scopes,
        SourceRef(Source{TracebackRef(Traceback{{f}, Sym(fmt::format("{}:{} ({})", where.file, where.line, where.function))}), scopes})};
    return last.source;
}

LiteralRef literal_of(const Operand& x) {
    switch (x.kind) {
        case Operand::Kind::boolean:
            return make_literal(AvalRef(DType::Bool, {}), std::int64_t{x.boolean});
        case Operand::Kind::integer:
            if (x.integer < INT32_MIN || x.integer > INT32_MAX)
                refuse_at(x.where, ErrorCode::BadUsage, fmt::format("Python int {} too large to convert to int32", x.integer),
                          "give it as a float");
            return make_literal(AvalRef(DType::S32, {}, true), x.integer);
        case Operand::Kind::complex:
            return make_literal(AvalRef(DType::C64, {}, true), std::complex<double>(x.parts[0], x.parts[1]));
        case Operand::Kind::array:
        case Operand::Kind::real:
            break;
    }
    // The same few numbers come again and again, and their texts take longer than what is done with them.
    struct Known {
        std::uint64_t bits = ~0ull;  // of a NaN that nobody writes
        LiteralRef literal;
    };
    thread_local std::array<Known, 64> known;
    const auto bits = std::bit_cast<std::uint64_t>(x.real);
    Known& k = known[(bits ^ bits >> 29 ^ bits >> 47) % known.size()];
    if (k.bits == bits) return k.literal;
    // JAX keeps the number as it was written until it meets a type.
    Literal l = *make_literal(AvalRef(DType::F32, {}, true), x.real);
    const std::string written = python_float(x.real);
    if (written != value_text(l)) l.text = Sym(written);
    k = {bits, LiteralRef(l)};
    return k.literal;
}

Array number_as_given(const Array& a) {
    Trace* t = Trace::current();
    const AvalRef aval = a.node()->aval;
    if (!t || a.is_tracer() || aval->rank() != 0 || is_complex(aval->dtype) || !(aval->weak_type || aval->dtype == DType::Bool)) return a;
    const Operand number = is_float(aval->dtype)        ? Operand(a.item<double>())
                           : aval->dtype == DType::Bool ? Operand(a.item<bool>())
                                                        : Operand(a.item<std::int64_t>());
    return t->wrap(Value(literal_of(number)), Where("", 0, ""));
}

namespace {

void refuse_missing(const Operand& x) {
    if (x.kind == Operand::Kind::array && !x.node)
        refuse_at(x.where, ErrorCode::BadUsage, "expected an array, found an Array without a value",
                  "Array() is Python's None: give it a value first, or ask has_value()");
}
/// Records an operation; `take` gets its results and where the whole expression begins.
template <class Take>
void record(Trace& t, std::span<const Operand> in, const Where& where, const Emit& emit, const Take& take) {
    try {
        Values v;
        for (const Operand& x : in) {
            refuse_missing(x);
            v.push_back(x.kind == Operand::Kind::array ? t.lift(*x.node) : Value(literal_of(x)));
        }
        const std::uint32_t begin = t.evaluate_in_order(in, where);
        t.builder().source = source_of(where);
        take(emit(t.builder(), v), begin);
    } catch (Error& e) {
        const Where& users = users_line(where);
        e.at({users.file, users.line, 0});
        throw;
    }
}
std::vector<Array> run_at_once(std::span<const Operand> in, const Where& where, const Emit& emit);

}  // namespace

std::vector<Array> apply(std::span<const Operand> in, const Where& where, const Emit& emit) {
    const Trace::Resumed now(Trace::waiting_for(in));
    Trace* t = Trace::current();
    if (!t) return run_at_once(in, where, emit);
    std::vector<Array> out;
    record(*t, in, where, emit, [&](const Values& made, std::uint32_t begin) {
        for (const Value r : made) out.push_back(t->wrap(r, where, begin));
    });
    return out;
}

namespace {
std::vector<Array> run_at_once(std::span<const Operand> in, const Where& where, const Emit& emit) {
    std::vector<Array> out;
    initialise();
    JaxprBuilder b;
    Values v;
    std::vector<ArrayPtr> arrays;
    const auto value_of = [&](const Operand& x) -> Value {
        refuse_missing(x);
        if (x.kind != Operand::Kind::array) return literal_of(x);
        if (x.node->is_tracer() && x.node->value.is_literal()) return x.node->value;
        arrays.push_back(elements(*x.node));
        return b.add_input(x.node->aval);
    };
    try {
        for (const Operand& x : in) v.push_back(value_of(x));
        b.source = source_of(where);
        const Values r = emit(b, v);
        // What comes back as it was given is the same array, as in JAX: donated or consumed, it is so under both names.
        std::vector<const Node*> given;
        Values computed;
        for (const Value& x : r) {
            const auto same = x.is_literal() ? v.end() : std::find(v.begin(), v.end(), x);
            given.push_back(same == v.end() ? nullptr : in[static_cast<std::size_t>(same - v.begin())].node);
            if (!given.back()) computed.push_back(x);
        }
        std::vector<ArrayPtr> made;
        if (!computed.empty() || b.num_eqns() > 0)
            made = run_jaxpr(b.finish(computed), arrays);  // also where nothing but its effects is new
        auto next = made.begin();
        const Where& users = users_line(where);
        for (const Node* node : given) out.push_back(node ? Array::of(node) : concrete(std::move(*next++), users));
    } catch (Error& e) {
        const Where& users = users_line(where);
        e.at({users.file, users.line, 0});
        throw;
    }
    return out;
}
}  // namespace

Array apply1(std::initializer_list<Operand> in, const std::function<Value(Builder&, const Values&)>& emit) {
    return apply1(in, in.begin()->where, emit);
}
Array apply1(std::initializer_list<Operand> list, const Where& where, const std::function<Value(Builder&, const Values&)>& emit) {
    const std::span<const Operand> in(list.begin(), list.size());
    const Trace::Resumed now(Trace::waiting_for(in));
    const Emit all = [&](Builder& b, const Values& v) { return Values{emit(b, v)}; };
    Trace* t = Trace::current();
    if (!t) return run_at_once(in, where, all).front();
    Array out;
    record(*t, in, where, all, [&](const Values& made, std::uint32_t begin) { out = t->wrap(made.front(), where, begin); });
    return out;
}

std::vector<Array> call(const JaxprPtr& open, const std::vector<Array>& in, const Where& where) {
    const Trace::Resumed now(Trace::waiting_for(in));
    std::vector<Array> out;
    if (Trace* t = Trace::current()) {
        Values v;
        auto begin = static_cast<std::uint32_t>(t->builder().num_eqns());
        for (const Array& a : in) v.push_back(t->lift(*a.node())), begin = std::min(begin, t->begin_of(*a.node(), where));
        t->builder().source = SourceRef(Source{TracebackRef(), current_scopes()});
        Values consts;
        for (const ArrayPtr& c : open->consts) consts.push_back(t->builder().constant(c));
        for (const Value r : inline_jaxpr(t->builder(), *open, consts, v)) out.push_back(t->wrap(r, where, begin));
        return out;
    }
    if (!open->consts.empty()) {  // which rules of the transformation made
        std::vector<Array> all;
        for (const ArrayPtr& c : open->consts) all.push_back(concrete(c));
        all.insert(all.end(), in.begin(), in.end());
        return call(convert_constvars(open), all, where);
    }
    std::vector<ArrayPtr> arrays;
    for (const Array& a : in)
        arrays.push_back(a.is_tracer() && a.node()->value.is_literal() ? array_of(a.node()->value.literal()) : elements(*a.node()));
    refuse_constraints(*open);
    const DonatedArrays donated(*open, in, where);
    for (ArrayPtr& a : run_jaxpr(open, arrays)) out.push_back(concrete(std::move(a)));
    donated.consume(where);
    // What it gives back as it came is the argument itself, and was donated with it: a backward pass that needs it finds it deleted, as in
    // JAX. A number stays one.
    for (std::size_t k = 0; k < out.size(); ++k) {
        if (!open->outvars[k].is_var()) continue;
        const std::uint32_t i = open->outvars[k].var().index - open->num_constvars;  // beyond them all where it is no input
        if (i < open->num_invars && !in[i].is_tracer()) out[k] = in[i];
    }
    return out;
}

std::vector<Array> bind_primitive(const Primitive& prim, const std::vector<Array>& in, const ParamsRef& params, const Where& where) {
    std::vector<Operand> operands;
    for (const Array& a : in) operands.emplace_back(a, where.file, where.line, where.function);
    EffectSet effects;  // of the bodies that it holds: as JAX's rules of calls and loops say
    if (params->holds_jaxpr())
        for (const JaxprPtr& body : params->jaxprs()) effects = effects | body->effects;
    return apply(operands, where, [&](Builder& b, const Values& v) {
        if (effects.empty()) return b.bind(prim, v, params);
        Op op{&prim, params, {}, {}, b.source, b.context};
        for (const Value x : v) op.in.push_back(b.aval(x));
        return b.emit(prim, v, params, prim.abstract_eval.fn(op), effects);
    });
}

}  // namespace jaxscope::jax::detail
