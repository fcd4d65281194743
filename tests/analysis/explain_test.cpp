#include "report/explain_text.h"

#include <gtest/gtest.h>

#include "analysis/equations/cost.h"
#include "analysis/equations/linearity.h"
#include "analysis/memory_timeline.h"
#include "calls/remat/remat.h"
#include "report/measure.h"
#include "report/verdict.h"
#include "support/toy_programs.h"
#include "transforms/policies.h"

namespace jaxscope {
namespace {

Program program_of(const JaxprPtr& jaxpr) {
    Program program;
    program.name = "f";
    program.jax_version = "0.10.2";
    program.jaxpr = jaxpr;
    return program;
}

/// sin(g) of g named after h named after sin(x), in a checkpoint that keeps both names.
std::shared_ptr<const Program> program_of_names() {
    JaxprBuilder b;
    const auto step = [&](const Value& x, const char* name, int line) {
        b.source = toy::source("", "f", line);
        return toy::apply(b, "name", {toy::apply(b, "sin", {x})}, 4, Params::make({{Sym("name"), Attr(Sym(name))}}));
    };
    const Value h = step(b.add_input(AvalRef(DType::F32, {4}), "x"), "h", 2);
    const Value g = step(h, "g", 3);
    b.source = toy::source("", "f", 4);
    const JaxprPtr f = b.finish({toy::apply(b, "sin", {g})}, "f");
    auto program =
        std::make_shared<Program>(program_of(checkpoint(f, make_policy(Sym("save_only_these_names"), {Attr(Sym("h")), Attr(Sym("g"))}))));
    program->in_paths = {Sym("x")};
    program->arg_of_input = {0};
    program->kept = program->donated = {true};
    return program;
}

bool says(const Explanation& e, const std::string& part) {
    for (const std::string& s : e.sentences)
        if (s.find(part) != std::string::npos) return true;
    return false;
}

TEST(Verdict, WhereNoCheckpointCouldBePlannedItSaysWhy) {
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {4}), "x");
    auto program = std::make_shared<Program>(program_of(b.finish({toy::apply(b, "neg", {x})}, "f")));
    program->in_paths = {Sym("x")};
    program->arg_of_input = {0};
    program->kept = program->donated = {true};
    Choices differentiated;
    differentiated.as_step = true;
    const Inspection inspection(program, differentiated);
    std::vector<PolicyRow> rows = inspection.policies({}, false);
    ASSERT_GT(rows.size(), 2u);
    const auto said = [&] { return verdict(inspection, memory_report(inspection, nullptr), rows).back(); };
    EXPECT_NE(said().find("No checkpoint that was tried"), std::string::npos) << said();
    for (PolicyRow& row : rows)
        if (!row.as_it_is) row.planned_peak.reset(), row.problem = "expected a rule\n  in eqn 3";
    EXPECT_EQ(said(), "What a checkpoint would do to the peak isn't known: expected a rule.");
}

TEST(Explain, AnEquationTellsItsOperandsAndLine) {
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {4}), "x");
    b.source = toy::source("", "f", 3);
    Program program = program_of(b.finish({toy::apply(b, "sin", {x})}));
    program.files = {{"/model.py", true, "one\ntwo\nthree\nfour\nfive\nsix\n"}};
    Picked picked;
    picked.program = EqnPath{{}, 0};
    const Explanation e = explain(program, picked, {}, {});
    EXPECT_EQ(e.title, "sin");
    EXPECT_EQ(e.subtitle, "f32[4] = sin(f32[4])");
    ASSERT_EQ(e.code.size(), 5u);
    EXPECT_TRUE(e.code[2].here);
    EXPECT_EQ(e.code[2].text, "three");
}

TEST(Explain, ASavedValueSaysWhyAndHowToStopIt) {
    const Program program = program_of(toy::with_call());
    ResidualReport report;
    report.rows = {{.aval = "f32[4]",
                    .source = "named 'h' from m.py:1:0 (f)",
                    .bytes = 16,
                    .file = {},
                    .line = 0,
                    .frames = {},
                    .equation = "0",
                    .name = "h",
                    .input = -1}};
    report.rows[0].id = {.derivation = 1, .eqn = 0, .result = 0};
    report.rows[0].maker = "tanh m.py:1:0 f32[4]";
    report.total_bytes = 16;
    Picked picked;
    picked.residual = report.rows[0].id;
    const Explanation e =
        explain(program, picked, {.residuals = &report, .split = nullptr, .donation = nullptr, .plan = nullptr, .run = nullptr}, {});
    EXPECT_TRUE(e.saved);
    EXPECT_TRUE(says(e, "named 'h'") || says(e, "the name 'h'"));
    EXPECT_TRUE(e.python.empty()) << "nothing was tried: there is no advice";
    const std::vector<TriedPolicy> tried{{"keeps it", 12, {"tanh m.py:1:0 f32[4]"}}, {"keeps none", 4, {"sin m.py:2:0 f32[4]"}}};
    const Explanation with_advice = explain(program, picked, {.residuals = &report, .tried = &tried}, {});
    EXPECT_EQ(with_advice.python, "keeps none");
    EXPECT_EQ(with_advice.facts.back(), (std::pair<std::string, std::string>("saved in all, with the policy below", "\u2212 12 B")));
}

TEST(Advice, IsDerivedAndSavesWhatItSays) {
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {4}), "x");
    const Value h = toy::apply(b, "sin", {toy::apply(b, "sin", {x})});
    auto program = std::make_shared<Program>(program_of(b.finish({toy::apply(b, "sin", {h})})));
    program->in_paths = {Sym("x")};
    program->arg_of_input = {0};
    program->kept = program->donated = {true};
    const Inspection now(program, {});
    const std::vector<TriedPolicy> tried = try_policies(now);
    ASSERT_FALSE(tried.empty());
    for (const TriedPolicy& t : tried) EXPECT_LT(t.total_bytes, now.residuals().total_bytes) << t.python;
    const auto advice = advice_on(now.residuals(), now.residuals().rows.at(0), tried);
    ASSERT_TRUE(advice);
    EXPECT_EQ(advice->saved_bytes, 32) << "of three cosines the argument is left";
}

/// A value that a checkpoint inside keeps by its name: advice is about that checkpoint, and of what keeps the value there is none.
TEST(Advice, StopsSavingTheVeryValueWhereItIsNamed) {
    const auto program = program_of_names();
    const Inspection now(program, {});
    const auto row =
        std::find_if(now.residuals().rows.begin(), now.residuals().rows.end(), [](const ResidualRow& r) { return r.name == "h"; });
    ASSERT_NE(row, now.residuals().rows.end());
    const auto advice = advice_on(now.residuals(), *row, try_policies(now));
    ASSERT_TRUE(advice);
    EXPECT_EQ(advice->python.find("policy=jax.checkpoint_policies.save_only_these_names('g')"), 0u) << advice->python;
    Choices inside;
    inside.replace_policy.push_back({{}, make_policy(Sym("save_only_these_names"), {Attr(Sym("g"))})});
    const Inspection other(program, inside);
    for (const ResidualRow& r : other.residuals().rows) EXPECT_NE(r.maker, row->maker);
}

/// Another policy or a mark gives a value another name; what computes it is the same.
TEST(Residuals, AValueIsKnownByWhatComputesItAndNotByItsName) {
    std::vector<std::string> makers;
    const Inspection now(program_of_names(), {});
    for (const ResidualRow& r : now.residuals().rows)
        if (!r.name.empty()) makers.push_back(r.maker);
    EXPECT_EQ(makers, (std::vector<std::string>{"sin /model.py:2:0 (f) f32[4]", "sin /model.py:3:0 (f) f32[4]"}));
}

TEST(Correspondence, AnEquationIsFoundInEveryJaxprThatHasIt) {
    const auto body = [](JaxprBuilder& b, const Value& x) {
        b.source = toy::source("", "f", 7);
        return toy::apply(b, "tanh", {x});
    };
    JaxprBuilder region;
    const JaxprPtr f = region.finish({body(region, region.add_input(AvalRef(DType::F32, {4})))});
    JaxprBuilder step;
    Value x = step.add_input(AvalRef(DType::F32, {4}));
    x = toy::apply(step, "neg", {x});
    const Program program = program_of(step.finish({body(step, x)}));
    ResidualReport report;
    report.rows.resize(2);
    report.rows[0].id = {.constant = 0};
    report.rows[1].equation = "0";
    report.rows[1].id = {.derivation = 1, .eqn = 0, .result = 0};
    SplitReport split;
    split.known = f;
    split.unknown = f;
    Region differentiated;
    differentiated.jaxpr = f;
    const Correspondence correspondence(program, &differentiated,
                                        {.residuals = &report, .split = &split, .donation = nullptr, .plan = nullptr, .run = nullptr});
    Picked row;
    row.residual = report.rows[1].id;
    const Picked all = correspondence.complete(row);
    EXPECT_EQ(all.region, EqnPath({}, 0));
    EXPECT_EQ(all.program, EqnPath({}, 1));
    Picked node;
    node.program = EqnPath{{}, 1};
    EXPECT_TRUE(correspondence.complete(node).residual == report.rows[1].id);
    Picked other;
    other.program = EqnPath{{}, 0};
    EXPECT_FALSE(correspondence.complete(other).residual);
    Picked stale;
    stale.program = EqnPath{{}, 99};
    EXPECT_EQ(correspondence.complete(stale), stale);
}

TEST(Identities, BuffersAreNamedByWhatStandsInThem) {
    MemoryPlan plan;
    plan.derivation = 3;
    const auto add = [&](BufferRole role, int number, const char* eqn) {
        PlannedBuffer b;
        b.role = role;
        b.number = number;
        b.eqn = eqn;
        plan.buffers.push_back(b);
    };
    add(BufferRole::Argument, 0, "");
    add(BufferRole::Temporary, -1, "4");
    add(BufferRole::Temporary, -1, "4");  // a second result
    add(BufferRole::Output, 0, "9");
    for (int b = 0; b < 4; ++b) EXPECT_EQ(buffer_index(plan, id_of(plan, b)), b);
    // Under another policy the step is another program: arguments and results are what they were, equation 4 is another one.
    MemoryPlan other = plan;
    other.derivation = 4;
    std::swap(other.buffers[0], other.buffers[3]);
    other.buffers[0].eqn = "8";
    EXPECT_EQ(buffer_index(other, id_of(plan, 0)), 3);
    EXPECT_EQ(buffer_index(other, id_of(plan, 3)), 0);
    EXPECT_EQ(buffer_index(other, id_of(plan, 1)), -1);
}

TEST(Linearity, FollowsTangentsIntoNestedJaxprs) {
    JaxprBuilder inner;
    const Value r = inner.add_input(AvalRef(DType::F32, {4})), t = inner.add_input(AvalRef(DType::F32, {4}));
    const Value c = toy::apply(inner, "cos", {r});
    const JaxprPtr body = inner.finish({toy::apply(inner, "mul", {c, t})});
    JaxprBuilder b;
    const Value residual = b.add_input(AvalRef(DType::F32, {4})), tangent = b.add_input(AvalRef(DType::F32, {4}));
    const JaxprPtr unknown = b.finish({toy::apply(b, "remat2", {residual, tangent}, 4, toy::with_jaxpr(body))});
    EXPECT_TRUE(is_recomputed(*unknown, 1, parse_eqn_path("0/jaxpr/0")));
    EXPECT_FALSE(is_recomputed(*unknown, 1, parse_eqn_path("0/jaxpr/1")));
    EXPECT_FALSE(is_recomputed(*unknown, 1, parse_eqn_path("0")));
}

TEST(Linearity, TellsTheResultsOfACallApart) {
    // Two checkpoints in a row, each giving a primal and a tangent: the second one recomputes as the first one does.
    const AvalRef aval(DType::F32, {4});
    JaxprBuilder inner;
    const Value x = inner.add_input(aval), dx = inner.add_input(aval);
    const Value s = toy::apply(inner, "sin", {x}), c = toy::apply(inner, "cos", {x});
    const JaxprPtr body = inner.finish({s, toy::apply(inner, "mul", {c, dx})});
    JaxprBuilder b;
    const Value residual = b.add_input(aval), tangent = b.add_input(aval);
    const ParamsRef params = toy::with_jaxpr(body);
    const Values one = b.emit(primitive(Sym("remat2")), {residual, tangent}, params, {aval, aval});
    const Values two = b.emit(primitive(Sym("remat2")), one, params, {aval, aval});
    const JaxprPtr unknown = b.finish({two[1]});
    for (const char* path : {"0/jaxpr/0", "0/jaxpr/1", "1/jaxpr/0", "1/jaxpr/1"})
        EXPECT_TRUE(is_recomputed(*unknown, 1, parse_eqn_path(path)));
    EXPECT_FALSE(is_recomputed(*unknown, 1, parse_eqn_path("1/jaxpr/2")));
    const auto work = recomputed_work(*unknown, 1);
    EXPECT_EQ(work.at("sin").count, 2);
    EXPECT_EQ(work.at("cos").count, 2);
    EXPECT_EQ(work.count("mul"), 0u);
}

TEST(MemoryTimeline, SumsLiveBuffersOfEachStep) {
    MemoryPlan plan;
    plan.steps.resize(3);
    const auto add = [&](std::int64_t bytes, int first, int last, BufferRole role, std::optional<int> alias = {}) {
        PlannedBuffer b;
        b.bytes = bytes;
        b.first_step = first;
        b.last_step = last;
        b.role = role;
        b.alias_of = alias;
        plan.buffers.push_back(b);
    };
    add(100, -1, 3, BufferRole::Argument);
    add(40, 0, 1, BufferRole::Temporary);
    add(7, 1, 1, BufferRole::Residual);
    add(100, 2, 3, BufferRole::Output, 0);
    add(1000, -1, 3, BufferRole::Constant);
    const MemoryTimeline timeline = memory_timeline(plan);
    EXPECT_EQ(timeline.live, (std::vector<std::int64_t>{140, 147, 100}));
    EXPECT_EQ(timeline.peak, 147);
    EXPECT_EQ(timeline.peak_step, 1);
    EXPECT_EQ(timeline.by_role[1][static_cast<std::size_t>(BufferRole::Residual)], 7);
    EXPECT_EQ(alive_at(plan, 1), (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace jaxscope
