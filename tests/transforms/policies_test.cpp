#include "transforms/policies.h"

#include <gtest/gtest.h>

#include "base/escaped.h"
#include "ir/builder.h"
#include "ir/primitive.h"

namespace jaxscope {
namespace {

using Kind = PolicyVerdict::Kind;

ParamsRef dot_params(int batch_dims) {
    const Attr none = Attr::tuple({}), one = Attr::tuple({Attr(0)});
    const Attr batch = batch_dims ? one : none;
    return Params::make({{"dimension_numbers", Attr::tuple({Attr::tuple({one, one}), Attr::tuple({batch, batch})})}});
}
ParamsRef name_params(const char* name) { return Params::make({{"name", Attr(name)}}); }

PolicyVerdict ask(const std::string& policy, const char* prim, const ParamsRef& params = {}) {
    return PolicyQuery{parse_policy(policy), {}}(primitive(prim), {AvalRef(DType::F32, {2, 2})}, params);
}

TEST(Policies, AnswerAsJax) {
    EXPECT_EQ(ask("everything_saveable", "sin").kind, Kind::Save);
    EXPECT_EQ(ask("nothing_saveable", "sin").kind, Kind::Recompute);
    EXPECT_EQ(ask("none", "sin").kind, Kind::Recompute);
    EXPECT_EQ(ask("dots_saveable", "dot_general", dot_params(1)).kind, Kind::Save);
    EXPECT_EQ(ask("checkpoint_dots", "conv_general_dilated").kind, Kind::Save);
    EXPECT_EQ(ask("dots_with_no_batch_dims_saveable", "dot_general", dot_params(1)).kind, Kind::Recompute);
    EXPECT_EQ(ask("dots_with_no_batch_dims_saveable", "dot_general", dot_params(0)).kind, Kind::Save);
    EXPECT_EQ(ask("dots_with_no_batch_dims_saveable", "conv_general_dilated").kind, Kind::Recompute);
    EXPECT_EQ(ask("save_only_these_names(a, b)", "name", name_params("b")).kind, Kind::Save);
    EXPECT_EQ(ask("save_only_these_names(a, b)", "name", name_params("c")).kind, Kind::Recompute);
    EXPECT_EQ(ask("save_any_names_but_these('a')", "name", name_params("a")).kind, Kind::Recompute);
    EXPECT_EQ(ask("save_any_names_but_these(\"a\")", "name", name_params("c")).kind, Kind::Save);
    EXPECT_EQ(ask("save_any_names_but_these(a)", "sin").kind, Kind::Recompute);
    // JAX 0.10.2 forgets the names of this one.
    EXPECT_EQ(ask("save_anything_except_these_names(a)", "name", name_params("a")).kind, Kind::Save);
    EXPECT_EQ(ask("save_from_both_policies(dots_saveable, save_only_these_names(a))", "name", name_params("a")).kind, Kind::Save);
    EXPECT_EQ(ask("offload_dot_with_no_batch_dims(device, pinned_host)", "dot_general", dot_params(0)),
              (PolicyVerdict{Kind::Offload, "device", "pinned_host"}));
    const std::string both = "save_and_offload_only_these_names([a], [z], device, pinned_host)";
    EXPECT_EQ(ask(both, "name", name_params("a")).kind, Kind::Save);
    EXPECT_EQ(ask(both, "name", name_params("z")).kind, Kind::Offload);
    EXPECT_EQ(ask(both, "name", name_params("q")).kind, Kind::Recompute);
}

TEST(Policies, D11BothPoliciesWantBooleans) {
    EXPECT_THROW(ask("save_from_both_policies(offload_dot_with_no_batch_dims(device, pinned_host), dots_saveable)", "sin"), Error);
}

TEST(Policies, TextRoundTrips) {
    for (const char* text :
         {"dots_saveable", "save_only_these_names(h, attn)", "save_from_both_policies(dots_saveable, save_only_these_names(a))",
          "save_and_offload_only_these_names([a, b], [z], device, pinned_host)"}) {
        const PolicyPtr p = parse_policy(text);
        EXPECT_EQ(policy_text(*p), text);
        EXPECT_EQ(*parse_policy(policy_text(*p)), *p);
    }
    for (const PolicyInfo& p : known_policies()) EXPECT_NE(std::string(p.usage).find(p.name), std::string::npos);
}

TEST(Policies, AreWrittenAsInPython) {
    const std::pair<const char*, const char*> same[] = {
        {"jax.checkpoint_policies.save_and_offload_only_these_names(names_which_can_be_saved=['a'], names_which_can_be_offloaded=['b'], "
         "offload_src='device', offload_dst='pinned_host')",
         "save_and_offload_only_these_names([a], [b], device, pinned_host)"},
        {"save_and_offload_only_these_names(offload_dst = 'pinned_host', offload_src = \"device\", names_which_can_be_offloaded=('b',), "
         "names_which_can_be_saved={'a', 'c',},)",
         "save_and_offload_only_these_names([a, c], [b], device, pinned_host)"},
        {"save_only_these_names(\"h\")", "save_only_these_names(h)"},
        {"cp.dots_saveable", "dots_saveable"},
        {"offload_dot_with_no_batch_dims('device', offload_dst='pinned_host')", "offload_dot_with_no_batch_dims(device, pinned_host)"},
        {"cp.save_from_both_policies(policy_2=cp.save_only_these_names('a'), policy_1=cp.dots_saveable)",
         "save_from_both_policies(dots_saveable, save_only_these_names(a))"}};
    for (const auto& [python, text] : same) EXPECT_EQ(policy_text(*parse_policy(python)), text) << python;
    const std::pair<const char*, const char*> printed[] = {
        {"DotsSaveable(only_if_no_batch_dims=False)", "dots_saveable"},
        {"DotsSaveable(only_if_no_batch_dims=True)", "dots_with_no_batch_dims_saveable"},
        {"SaveOnlyTheseNames(saveable_names=frozenset({'a', 'b'}))", "save_only_these_names(a, b)"},
        {"SaveOnlyTheseNames(saveable_names=frozenset())", "save_only_these_names()"},
        {"SaveAnyNamesButThese(names=frozenset({'a'}))", "save_any_names_but_these(a)"},
        {"<function nothing_saveable at 0x7f0123456789>", "nothing_saveable"}};
    for (const auto& [python, text] : printed) EXPECT_EQ(policy_text(*parse_policy(python)), policy_text(*parse_policy(text))) << python;
}

TEST(Policies, BadKeywordsSayWhatIsWanted) {
    const std::pair<const char*, const char*> wrong[] = {
        {"offload_dot_with_no_batch_dims(src=device, offload_dst=pinned_host)",
         "expected an argument of offload_dot_with_no_batch_dims(SRC, DST)"},
        {"offload_dot_with_no_batch_dims(offload_src=device, offload_src=device)", "expected each argument once"},
        {"offload_dot_with_no_batch_dims(offload_dst=pinned_host)", "expected an argument offload_src of"},
        {"offload_dot_with_no_batch_dims(offload_src=device, pinned_host)", "expected a keyword"},
        {"save_only_these_names(names=h)", "expected an argument of save_only_these_names(NAME, ...)"}};
    for (const auto& [text, what] : wrong) try {
            parse_policy(text);
            ADD_FAILURE() << text;
        } catch (const Error& e) {
            EXPECT_NE(std::string(e.fact()).find(what), std::string::npos) << e.fact();
        }
}

TEST(Policies, NamesWithQuotesAndControlCharactersReadBack) {
    for (const std::string name : {R"(the "first")", R"(it's)", R"(a\b)", "two\nlines", "tab\t", "gr\xC3\xBC", R"(\x41)", ""}) {
        const PolicyPtr p = parse_policy("save_only_these_names(" + quoted_name(name) + ")");
        EXPECT_EQ(policy_text(*p).find(name) != std::string::npos || policy_text(*p).find(quoted_name(name)) != std::string::npos, true)
            << policy_text(*p);
        EXPECT_EQ(*parse_policy(policy_text(*p)), *p);
    }
    EXPECT_EQ(quoted_name("two\nlines"), R"("two\x0alines")");
    EXPECT_EQ(policy_text(*parse_policy(R"(save_only_these_names('it\'s', "\x41", 'a\d', "\xfc"))")),
              "save_only_these_names(\"it's\", A, \"a\\\\d\", \xC3\xBC)");
}

TEST(Policies, BadTextIsOneError) {
    for (const char* text :
         {"dot_saveable", "save_only_these_names(a", "save_only_these_names(a))", "dots_saveable(a)", "offload_dot_with_no_batch_dims",
          "save_from_both_policies(dots_saveable)", "(", "save_and_offload_only_these_names([a], [a], device, pinned_host)"}) {
        try {
            parse_policy(text);
            ADD_FAILURE() << text;
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ErrorCode::BadUsage) << text;
        }
    }
    try {
        parse_policy("dot_saveable");
    } catch (const Error& e) {
        ASSERT_EQ(e.advices.size(), 1u);
        EXPECT_EQ(e.advices[0], "did you mean dots_saveable?");
    }
    std::string deep;
    for (int i = 0; i < 10000; ++i) deep += "save_from_both_policies(";
    EXPECT_THROW(parse_policy(deep), Error);
}

TEST(Policies, RecordedAnswersOfAPythonFunction) {
    PolicySpec spec;
    spec.text = "<function mine>";
    spec.verdicts.push_back({&primitive("sin"), {AvalRef(DType::F32, {2, 2})}, Attr::seq(Attr::SeqKind::Dict, {}), Attr("save")});
    const PolicyQuery q{std::make_shared<const PolicySpec>(spec), {}};
    EXPECT_EQ(q(primitive("sin"), {AvalRef(DType::F32, {2, 2})}, {}).kind, Kind::Save);
    EXPECT_EQ(q(primitive("sin"), {AvalRef(DType::F32, {3})}, {}).kind, Kind::Save) << "another shape of the same primitive";
    EXPECT_THROW(q(primitive("cos"), {AvalRef(DType::F32, {3})}, {}), Error);
}

TEST(Policies, NoAnswerCountsAsNotSavedAndIsTold) {
    PolicySpec spec;
    spec.text = "<function mine>";
    const Attr no_params = Attr::seq(Attr::SeqKind::Dict, {});
    spec.verdicts.push_back({&primitive("sin"), {AvalRef(DType::F32, {2})}, no_params, Attr("unknown")});
    spec.verdicts.push_back({&primitive("sin"), {AvalRef(DType::F32, {3})}, no_params, Attr("unknown")});
    spec.verdicts.push_back({&primitive("cos"), {AvalRef(DType::F32, {3})}, no_params, Attr("save")});
    const auto policy = std::make_shared<const PolicySpec>(spec);
    EXPECT_EQ((PolicyQuery{policy, {}})(primitive("sin"), {AvalRef(DType::F32, {3})}, {}).kind, Kind::Recompute);
    PolicySpec both;
    both.name = "save_from_both_policies";
    both.args = {Attr(PolicyPtr(policy)), Attr(PolicyPtr())};
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {3}));
    const ParamsRef params = Params::make({{Sym("policy"), Attr(PolicyPtr(std::make_shared<const PolicySpec>(both)))}});
    const JaxprPtr j = b.finish(b.emit(primitive("checkpoint"), {x}, params, {AvalRef(DType::F32, {3})}));
    EXPECT_EQ(unknown_verdicts(*j), (std::vector<UnknownVerdict>{{"<function mine>", &primitive("sin"), 2}}));
}

}  // namespace
}  // namespace jaxscope
