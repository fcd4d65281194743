#include "picture/graph_model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "picture/reach.h"
#include "support/toy_programs.h"

namespace jaxscope {
namespace {

std::vector<std::string> keys(const std::vector<GraphItem>& items) {
    std::vector<std::string> out;
    for (const GraphItem& item : items) out.push_back(item.key);
    return out;
}

TEST(EqnPath, TextAndBack) {
    for (const std::string text : {"0", "12/jaxpr/3", "12/branches[1]/3/jaxpr/0"}) EXPECT_EQ(to_text(parse_eqn_path(text)), text);
    for (const std::string text : {"", "x", "12/jaxpr", "12//3/", "12/jaxpr/-1"}) EXPECT_THROW(parse_eqn_path(text), Error) << text;
}

TEST(EqnPath, ResolvesThroughNestedJaxprs) {
    const JaxprPtr f = toy::with_call();
    EXPECT_STREQ(resolve(*f, parse_eqn_path("1/jaxpr/0")).prim->name.c_str(), "logistic");
    EXPECT_THROW(resolve(*f, parse_eqn_path("0/jaxpr/0")), Error);
    EXPECT_THROW(resolve(*f, parse_eqn_path("1/jaxpr/9")), Error);
}

/// Inside of an open call the way up ends at what goes in, the way down at what comes out and reads that.
TEST(Reach, LeadsThroughAnOpenCallAndNotAroundIt) {
    const GraphModel model(toy::with_call());
    const VisibleGraph graph = model.visible({"1"});
    const auto lit = [&](const std::vector<bool>& shown, const char* key) { return shown[graph.by_key.at(key)]; };
    const std::uint32_t inner = graph.by_key.at("1/jaxpr/0");
    const std::vector<bool> up = made_of(graph, inner), down = made_from(graph, inner);
    EXPECT_TRUE(lit(up, "0")) << "the product goes in";
    EXPECT_FALSE(lit(up, "1/jaxpr/1"));
    EXPECT_FALSE(lit(up, "2")) << "what is behind the call";
    EXPECT_TRUE(lit(down, "1/jaxpr/1") && lit(down, "2"));
    EXPECT_FALSE(lit(down, "0"));
    EXPECT_TRUE(lit(made_of(graph, graph.by_key.at("2")), "0")) << "through the call";
    EXPECT_TRUE(lit(between(graph, graph.by_key.at("0"), graph.by_key.at("2")), "1/jaxpr/1"));
}

TEST(ScopeTree, RunsOfOneScopeAreGroups) {
    const JaxprPtr f = toy::chain(20);
    const ScopeTree tree = build_scope_tree(*f, Grouping::Scope);
    const GraphModel model(f);
    // "model" holds everything, so it is no group of its own.
    EXPECT_EQ(keys(model.children(model.root_item())), (std::vector<std::string>{"0-8", "8-16", "16-20"}));
    EXPECT_EQ(tree.scopes[tree.scope_of_eqn[9]].label, Sym("block_1"));
}

TEST(ScopeTree, NoLevelIsLargerThanTheLimit) {
    for (const std::uint32_t n : {119u, 121u, 5000u, 100'000u}) {
        const ScopeTree tree = build_scope_tree(*toy::chain(n, false), Grouping::Auto);
        std::vector<bool> seen(n, false);
        std::vector<std::uint32_t> pending{0};
        while (!pending.empty()) {
            const Scope& scope = tree.scopes[pending.back()];
            pending.pop_back();
            ASSERT_LE(scope.children.size(), kMaxLevelSize);
            for (const std::uint32_t child : scope.children) {
                if ((child & Scope::kScopeChild) != 0)
                    pending.push_back(child & ~Scope::kScopeChild);
                else
                    seen[child] = true;
            }
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), true), n);
    }
}

TEST(ScopeTree, RunsAreCalledByTheNameScopesInThem) {
    const auto runs = [](const JaxprPtr& f) {
        std::vector<std::string> labels;
        for (const Scope& scope : build_scope_tree(*f, Grouping::Flat, 10).scopes)
            if (scope.run) labels.push_back(scope.label.str());
        return labels;
    };
    EXPECT_EQ(runs(toy::chain(20)), (std::vector<std::string>{"block_0, block_1", "block_1, block_2"}));
    EXPECT_EQ(runs(toy::chain(20, false)), (std::vector<std::string>{"equations 0 - 9", "equations 10 - 19"}));
}

/// One equation: the calls that it comes from, outermost first (functions of libraries begin with '~'), and where it stands in the last.
struct Called {
    std::vector<std::string> calls;
    int line = 1;
    std::string scope;
};

/// A chain of such equations, of a function that is called "step".
JaxprPtr traced_in(const std::vector<Called>& equations) {
    Jaxpr f = *toy::chain(static_cast<std::uint32_t>(equations.size()), false);
    f.name = "step";
    for (std::size_t i = 0; i < f.eqns.size(); ++i) {
        const Called& at = equations[i];
        Traceback traceback;
        for (auto call = at.calls.rbegin(); call != at.calls.rend(); ++call) {
            const bool library = call->starts_with('~');
            traceback.frames.push_back({.file = Sym("f.py"),
                                        .function = Sym(library ? call->substr(1) : *call),
                                        .line = call == at.calls.rbegin() ? at.line : 1,
                                        .project = !library});
        }
        f.eqns[i].source = SourceRef(Source{.traceback = traceback, .name_stack = NameStack::parse(at.scope)});
    }
    return std::make_shared<const Jaxpr>(std::move(f));
}

/// `times` times the equations of lines 1 to `lines` of the innermost of these calls.
void call(std::vector<Called>& equations, const std::vector<std::string>& calls, int times, int lines) {
    for (int t = 0; t < times; ++t)
        for (int line = 1; line <= lines; ++line) equations.push_back({calls, line, ""});
}

std::vector<std::string> groups_of(const JaxprPtr& f, Grouping grouping = Grouping::Function) {
    const ScopeTree tree = build_scope_tree(*f, grouping);
    std::vector<std::string> labels;
    for (const std::uint32_t child : tree.scopes[0].children)
        if ((child & Scope::kScopeChild) != 0) labels.push_back(tree.scopes[child & ~Scope::kScopeChild].label.str());
    return labels;
}

TEST(ScopeTree, StagesOfAnOptimizerAreCalledByWhatMadeThem) {
    std::vector<Called> equations;
    call(equations, {"main", "fit.<locals>.step", "~scale_by_adam.<locals>.update_fn", "~update_moment"}, 40, 3);  // leaf by leaf
    call(equations, {"main", "fit.<locals>.step", "~scale_by_adam.<locals>.update_fn", "~<lambda>"}, 40, 2);
    call(equations, {"main", "fit.<locals>.step", "~apply_updates", "~apply_updates.<locals>.<lambda>"}, 40, 1);
    EXPECT_EQ(groups_of(traced_in(equations)), (std::vector<std::string>{"scale_by_adam", "apply_updates"}));
    // What only passes on to the library's other functions is no group.
    std::vector<Called> chained;
    call(chained, {"step", "~chain.<locals>.update_fn", "~scale_by_adam.<locals>.update_fn"}, 40, 1);
    call(chained, {"step", "~chain.<locals>.update_fn", "~scale.<locals>.update_fn", "~tree_map"}, 40, 1);
    EXPECT_EQ(groups_of(traced_in(chained)), (std::vector<std::string>{"scale_by_adam", "tree_map"}));
    // Where most of a program has name scopes, what has none has its functions.
    for (int i = 0; i < 400; ++i) equations.insert(equations.begin(), {{"main", "fit.<locals>.step", "~Dense"}, 1, "Dense_0"});
    EXPECT_EQ(groups_of(traced_in(equations), Grouping::Auto), (std::vector<std::string>{"Dense_0", "main/fit.<locals>.step"}));
}

TEST(ScopeTree, AFunctionThatIsCalledAgainIsTheNextGroup) {
    const auto groups = [](int times, int lines) {
        std::vector<Called> equations{{{"step"}, 1, ""}};
        call(equations, {"step", "block"}, times, lines);
        return groups_of(traced_in(equations));
    };
    EXPECT_EQ(groups(2, 20), (std::vector<std::string>{"block 1", "block 2"}));
    EXPECT_EQ(groups(6, 20), (std::vector<std::string>{"block \u00d76"}));
    EXPECT_EQ(groups(40, 3), (std::vector<std::string>{"block"})) << "leaf by leaf";
}

TEST(ScopeTree, ModulesThatACrowdedFunctionCallsAreGroups) {
    std::vector<Called> equations;
    for (int layer = 0; layer < 6; ++layer)
        for (int k = 0; k < 33; ++k) {
            const char* module = k < 14 ? "attention" : k < 28 ? "mlp" : "";
            const int line = k < 28 ? k : k < 31 ? 50 : k < 32 ? 60 : 70;  // three of one line behind them, and two more
            equations.push_back(
                {{"step", "model"}, 100 * layer + line, *module == 0 ? "" : std::string(module) + "_" + std::to_string(layer)});
        }
    equations.push_back({{"step"}, 1, ""});
    const JaxprPtr f = traced_in(equations);
    const ScopeTree tree = build_scope_tree(*f, Grouping::Function);
    const Scope& model = tree.scopes[tree.scopes[0].children[0] & ~Scope::kScopeChild];
    ASSERT_EQ(model.label, Sym("model"));
    std::vector<std::string> labels;
    for (const std::uint32_t child : model.children)
        labels.push_back((child & Scope::kScopeChild) != 0 ? tree.scopes[child & ~Scope::kScopeChild].label.str() : "");
    EXPECT_EQ(labels.size(), 18u);
    EXPECT_EQ(std::vector<std::string>(labels.begin(), labels.begin() + 4),
              (std::vector<std::string>{"attention_0", "mlp_0", "5 equations", "attention_1"}));
    // Of one line of the user's: that line.
    for (Called& at : equations)
        if (at.scope.empty() && at.calls.size() == 2) at.line = 50;
    const JaxprPtr g = traced_in(equations);
    const ScopeTree by_line = build_scope_tree(*g, Grouping::Function);
    bool found = false;
    for (const Scope& scope : by_line.scopes) found = found || scope.label == Sym("f.py:50");
    EXPECT_TRUE(found);
}

TEST(ScopeTree, ModulesOfALoopAreCalledByTheirNameScopes) {
    const auto groups = [](const char* scope) {
        std::vector<Called> equations;
        for (int block = 0; block < 2; ++block) {
            call(equations, {"step", "block"}, 1, 20);
            for (std::size_t k = equations.size() - 20; k < equations.size(); ++k)
                equations[k].scope = std::string(scope) + (*scope == 'h' ? std::to_string(block) : "");
        }
        equations.push_back({{"step"}, 1, ""});
        return groups_of(traced_in(equations));
    };
    EXPECT_EQ(groups("h_"), (std::vector<std::string>{"h_0", "h_1"}));
    EXPECT_EQ(groups("shared"), (std::vector<std::string>{"block 1", "block 2"}));
}

TEST(ScopeTree, TransformationsInWords) {
    EXPECT_EQ(scope_title("jvp(loss)/attn"), "loss forward/attn");
    EXPECT_EQ(scope_title("transpose(jvp(loss))"), "loss backward");
    EXPECT_EQ(scope_title("jvp()"), "forward");
    EXPECT_EQ(scope_title("block_1"), "block_1");
}

TEST(GraphModel, CollapsedCallIsOneNodeWithItsNeighbours) {
    const GraphModel model(toy::with_call());
    const VisibleGraph graph = model.visible({});
    ASSERT_TRUE(graph.by_key.contains("1"));
    const auto& call = graph.nodes[graph.by_key.at("1")];
    EXPECT_EQ(call.title, "jit silu");
    EXPECT_EQ(call.detail, "f32[4]");
    EXPECT_EQ(call.equations, 3);
    EXPECT_TRUE(call.expandable);
    std::set<std::pair<std::string, std::string>> edges;
    for (const auto& e : graph.edges) edges.emplace(graph.nodes[e.from].key, graph.nodes[e.to].key);
    EXPECT_EQ(edges, (std::set<std::pair<std::string, std::string>>{
                         {"in0", "0"}, {"in1", "0"}, {"0", "1"}, {"1", "2"}, {"in0", "2"}, {"2", "out"}}));
}

TEST(GraphModel, ExpandedCallIsAFrameAroundItsBody) {
    const GraphModel model(toy::with_call());
    const VisibleGraph graph = model.visible({"1"});
    const std::uint32_t frame = graph.by_key.at("1");
    EXPECT_TRUE(graph.nodes[frame].expanded);
    EXPECT_EQ(graph.nodes[graph.by_key.at("1/jaxpr/0")].frame, static_cast<int>(frame));
    EXPECT_EQ(graph.nodes[graph.by_key.at("1/jaxpr/in0")].title, "a");
    for (const auto& e : graph.edges) {
        EXPECT_EQ(graph.nodes[e.from_top].frame, graph.nodes[e.to_top].frame);
        EXPECT_LT(e.from_top, e.to_top) << "levels are acyclic, in program order";
    }
}

TEST(GraphModel, ValuesCrossingAGroupsBorderAreLifted) {
    const GraphModel model(toy::chain(20));
    const VisibleGraph graph = model.visible({"0-8"});
    bool found = false;
    for (const auto& e : graph.edges) {
        if (graph.nodes[e.from].key != "7") continue;
        found = true;
        EXPECT_EQ(graph.nodes[e.from_top].key, "0-8");
        EXPECT_EQ(graph.nodes[e.to].key, "8-16");
        EXPECT_EQ(e.bytes, 16);
    }
    EXPECT_TRUE(found);
}

TEST(GraphModel, KeysAroundAnEquationExpandDownToIt) {
    const GraphModel model(toy::with_call());
    EXPECT_EQ(model.keys_around(parse_eqn_path("1/jaxpr/1")), (std::vector<std::string>{"1", "1/jaxpr/1"}));
    const GraphModel chain(toy::chain(5000));
    const std::vector<std::string> around = chain.keys_around(parse_eqn_path("4321"));
    const VisibleGraph graph = chain.visible({around.begin(), around.end()});
    EXPECT_TRUE(graph.by_key.contains("4321"));
}

TEST(GraphModel, FirstLookStaysWithinItsBudget) {
    for (const std::uint32_t n : {10u, 100u, 100'000u}) {
        const GraphModel model(toy::chain(n));
        EXPECT_LE(model.visible(model.first_look(40)).nodes.size(), 40 + kMaxLevelSize);
    }
    const GraphModel small(toy::chain(20));
    EXPECT_FALSE(small.first_look(40).empty()) << "a small program shows its structure at once";
}

TEST(GraphModel, ProgramsWithoutEquationsHaveAPicture) {
    JaxprBuilder passes;
    const Value x = passes.add_input(AvalRef(DType::F32, {4}));
    for (const JaxprPtr& jaxpr : {JaxprBuilder().finish({}), passes.finish({x})}) {
        const GraphModel model(jaxpr);
        EXPECT_TRUE(model.children(model.root_item()).empty());
        EXPECT_TRUE(model.first_look(40).empty());
        for (const auto& node : model.visible({}).nodes) EXPECT_EQ(node.equations, 0);
    }
}

TEST(GraphModel, ManyInputsAreOneNodeAndTags) {
    JaxprBuilder b;
    Values inputs;
    for (int i = 0; i < 30; ++i) inputs.push_back(b.add_input(AvalRef(DType::F32, {4})));
    Value sum = inputs[0];
    for (int i = 1; i < 30; ++i) sum = toy::apply(b, "add", {sum, inputs[static_cast<std::size_t>(i)]});
    const GraphModel model(b.finish({sum}), Grouping::Auto, {Sym("params['w']")});
    const VisibleGraph graph = model.visible({});
    EXPECT_EQ(graph.nodes[graph.by_key.at("in")].title, "30 inputs");
    EXPECT_EQ(graph.nodes[graph.by_key.at("in")].bytes, 30 * 16);
    for (const auto& e : graph.edges) EXPECT_TRUE(e.tag || e.from != graph.by_key.at("in"));
    EXPECT_EQ(graph.edges.front().label, "params['w']");
}

TEST(GraphModel, WhatDependsOnNoTangentIsRecomputed) {
    JaxprBuilder b;
    const Value residual = b.add_input(AvalRef(DType::F32, {4}));
    const Value tangent = b.add_input(AvalRef(DType::F32, {4}));
    const Value cos = toy::apply(b, "cos", {residual});
    const GraphModel model(b.finish({toy::apply(b, "mul", {cos, tangent})}));
    VisibleOptions options{.hidden_inputs = {true, false}, .linear_inputs = {false, true}, .shown_results = {}};
    const VisibleGraph graph = model.visible({}, options);
    EXPECT_EQ(graph.nodes[graph.by_key.at("0")].role, Role::Recomputed);
    EXPECT_EQ(graph.nodes[graph.by_key.at("1")].role, Role::Backward);
    EXPECT_FALSE(graph.by_key.contains("in0"));
}

}  // namespace
}  // namespace jaxscope
