// Rules against JAX: golden/*.json hold applications of primitives with what JAX 0.10.2 answers (make_rule_golden.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/builder.h"
#include "ir/primitive.h"
#include "lax/ops.h"
#include "lax/rule_cases.h"
#include "lax/rule_support.h"

namespace jaxscope {
namespace {

using nlohmann::json;

// ---- Jaxprs as the script writes them

json json_of(const Attr& a) {
    if (a.is_none()) return nullptr;
    if (const auto* v = a.get<bool>()) return *v;
    if (const auto* v = a.get<std::int64_t>()) return *v;
    if (const auto* v = a.get<double>()) return std::isnan(*v) ? json("nan") : json(*v);
    if (const auto* v = a.get<Sym>()) return v->str();
    if (const auto* v = a.get<DType>()) return {{"dtype", info(*v).name}};
    if (const auto* v = a.get<Attr::Enum>()) return {{"enum", {v->type.str(), v->member.str()}}};
    if (const auto* v = a.get<Attr::Object>())
        return v->type == Sym("Primitive") ? json{{"primitive", v->name.str()}} : json::parse(v->text.str());
    if (const auto* s = a.get_seq()) {
        json items = json::array();
        for (const Attr& item : s->items) items.push_back(json_of(item));
        return items;
    }
    if (const auto* r = a.get_record()) {
        json fields = json::array();
        for (const auto& [name, value] : r->fields) fields.push_back(json::array({name.str(), json_of(value)}));
        return {{"record", r->type.str()}, {"fields", fields}};
    }
    if (const auto* j = a.get<Attr::JaxprRef>()) {
        json names = json::array();
        for (const Eqn& e : j->jaxpr->eqns) names.push_back(e.prim->name.c_str());
        return {{"jaxpr", names}};
    }
    return "unknown";
}

std::string atom_text(Atom a) {
    return a.is_literal() ? value_text(*a.literal()) + ":" + to_text(a.literal()->aval) : fmt::format("v{}", a.var().index);
}

std::string equation_text(const std::string& prim, const json& params, const std::vector<std::string>& in,
                          const std::vector<std::string>& out) {
    return fmt::format("{} = {}{} {}\n", fmt::join(out, " "), prim, params.dump(), fmt::join(in, " "));
}

/// The equations of inner jits (of fft, ...) instead of the calls: so the goldens are written.
Values spliced(JaxprBuilder& b, const Jaxpr& j, const Values& in) {
    Values env = in;
    for (const Eqn& e : j.eqns) {
        Values args;
        for (const Atom a : j.inputs(e)) args.push_back(a.is_literal() ? Value(a.literal()) : env[a.var().index]);
        const Values out = std::string_view(e.prim->name.c_str()) == "jit" ? spliced(b, *e.params->jaxprs().front(), args)
                                                                           : b.append(*e.prim, args, e.params, j.out_avals(e), e.effects);
        env.insert(env.end(), out.begin(), out.end());
    }
    Values outs;
    for (const Atom a : j.outvars) outs.push_back(a.is_literal() ? Value(a.literal()) : env[a.var().index]);
    return outs;
}
JaxprPtr without_jits(const Jaxpr& j) {
    if (j.num_constvars > 0 || std::ranges::none_of(j.eqns, [](const Eqn& e) { return std::string_view(e.prim->name.c_str()) == "jit"; }))
        return std::make_shared<const Jaxpr>(j);
    JaxprBuilder b;
    Values in;
    for (const AvalRef a : j.in_avals()) in.push_back(b.add_input(a));
    return b.finish(spliced(b, j, in));
}

std::string text_of(const Jaxpr& j) {
    std::string text;
    for (const Eqn& e : j.eqns) {
        std::vector<std::string> in, out;
        for (const Atom a : j.inputs(e)) in.push_back(atom_text(a));
        for (const AvalRef a : j.out_avals(e)) out.push_back(to_text(a) + (a->weak_type ? " weak" : ""));
        json params = json::object();
        for (const auto& [name, value] : e.params->entries()) params[name.str()] = json_of(value);
        text += equation_text(e.prim->name.c_str(), params, in, out);
    }
    text += "results";
    for (const Atom a : j.outvars) text += " " + atom_text(a);
    return text;
}

std::string text_of(const json& expected) {
    std::string text;
    for (const json& e : expected["eqns"])
        text += equation_text(e["prim"].get<std::string>(), e["params"], e["in"].get<std::vector<std::string>>(),
                              e["out"].get<std::vector<std::string>>());
    text += "results";
    for (const json& r : expected["results"]) text += " " + r.get<std::string>();
    return text;
}

// ---- The rules of one application

std::string evaluated(const Application& a) {
    Op op{a.prim, a.params, a.in, {}, {}, {}};
    json out = json::array();
    for (const AvalRef r : a.prim->abstract_eval.fn(op)) out.push_back(to_text(r) + (r->weak_type ? " weak" : ""));
    return out.dump();
}

std::string forward(const Application& a, const std::vector<bool>& perturbed) {
    const Op op = op_of(a);
    JaxprBuilder b;
    Values x, dx;
    for (const AvalRef r : a.in) x.push_back(b.add_input(r));
    for (std::size_t i = 0; i < a.in.size(); ++i) dx.push_back(perturbed[i] ? b.add_input(a.in[i]) : Value::zero());
    PrimalsTangents result;
    if (a.prim->jvp_call) {
        result = a.prim->jvp_call.fn(b, op, x, dx);
    } else {
        result.primals = b.bind(*a.prim, x, a.params);
        result.tangents = a.prim->jvp.fn(b, op, x, result.primals, dx);
    }
    for (const Value t : result.tangents)
        if (!t.is_zero()) result.primals.push_back(t);
    return text_of(*b.finish(result.primals));
}

struct Collected final : TransposeSink {
    std::vector<std::pair<std::size_t, Value>> got;
    std::vector<bool> linear;
    void add(std::size_t operand, Value ct) override { got.emplace_back(operand, ct); }
    bool wanted(std::size_t operand) const override { return linear[operand]; }
};

std::string backward(const Application& a, const std::vector<bool>& linear) {
    const Op op = op_of(a);
    JaxprBuilder b;
    Values x, ct;
    for (std::size_t i = 0; i < a.in.size(); ++i) x.push_back(linear[i] ? Value::linear() : b.add_input(a.in[i]));
    for (const AvalRef r : op.out) ct.push_back(b.add_input(strong(r)));
    Collected sink;
    sink.linear = linear;
    a.prim->transpose.fn(b, op, ct, x, sink);
    std::ranges::stable_sort(sink.got, {}, [](const auto& g) { return g.first; });
    Values results;
    for (const auto& [operand, value] : sink.got) {
        EXPECT_EQ(b.aval(value)->shape, a.in[operand]->shape);
        results.push_back(value);
    }
    return text_of(*without_jits(*b.finish(results)));
}

std::string mapped(const Application& a, const std::vector<int>& dims, std::int64_t size) {
    const Op op = op_of(a);
    JaxprBuilder b;
    Values x;
    for (std::size_t i = 0; i < a.in.size(); ++i)
        x.push_back(b.add_input(dims[i] < 0 ? a.in[i] : with_shape(a.in[i], inserted(a.in[i]->shape, dims[i], size))));
    BatchResult result = a.prim->batch.fn(b, op, x, dims, size);
    for (std::size_t i = 0; i < result.out.size(); ++i) result.out[i] = batch_to_front(b, result.out[i], result.out_dims[i], size);
    return text_of(*without_jits(*b.finish(result.out)));
}

template <class Run>
void expect_same(const json& expected, bool exists, const std::string& rule, const Run& run) {
    SCOPED_TRACE(rule);
    if (expected.is_object() && expected.contains("refused")) {
        if (!exists) return;
        EXPECT_THROW(run(), Error);
        return;
    }
    ASSERT_TRUE(exists) << "no such rule";
    try {
        const std::string want = expected.is_array() ? expected.dump() : text_of(expected);
        EXPECT_EQ(run(), want);
    } catch (const Error& e) {
        ADD_FAILURE() << full_text(e);
    }
}

class RuleGolden : public testing::TestWithParam<const char*> {};

TEST_P(RuleGolden, AnswersAsJaxDoes) {
    for (const json& c : rule_cases(GetParam())) {
        const Application a = application_of(c);
        SCOPED_TRACE(c["prim"].dump() + c["in"].dump() + c["params"].dump());
        if (a.prim->opaque) {
            ADD_FAILURE() << "an unknown primitive";
            continue;
        }
        expect_same(c["out"], bool(a.prim->abstract_eval), "abstract_eval", [&] { return evaluated(a); });
        for (const json& r : c["jvp"])
            expect_same(r, a.prim->jvp || a.prim->jvp_call, "jvp" + r["perturbed"].dump(),
                        [&] { return forward(a, r["perturbed"].get<std::vector<bool>>()); });
        for (const json& r : c["transpose"])
            expect_same(r, bool(a.prim->transpose), "transpose" + r["linear"].dump(),
                        [&] { return backward(a, r["linear"].get<std::vector<bool>>()); });
        for (const json& r : c["batch"])
            expect_same(r, bool(a.prim->batch), "batch" + r["dims"].dump(),
                        [&] { return mapped(a, r["dims"].get<std::vector<int>>(), r["size"].get<std::int64_t>()); });
    }
}

INSTANTIATE_TEST_SUITE_P(Lax, RuleGolden, testing::Values("shape_rules.json", "elementwise_rules.json"));

}  // namespace
}  // namespace jaxscope
