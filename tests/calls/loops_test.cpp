// scan, while, cond and custom_linear_solve against what JAX 0.10.2 makes of the same programs (golden/loops.json, written by
// make_loop_golden.py): gradients, residuals with and without a policy, forward mode, vmap and dead code elimination, all as printed text.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calls/remat/remat.h"
#include "io/text/parser.h"
#include "ir/print/printer.h"
#include "ir/program.h"
#include "ir/type_check.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jvp.h"
#include "transforms/policies.h"
#include "transforms/residuals.h"
#include "transforms/vjp.h"

namespace jaxscope {
namespace {

using nlohmann::json;

std::vector<bool> chosen(const Jaxpr& j, const json& which) {
    std::vector<bool> out(j.num_invars, false);
    for (const int i : which) out[static_cast<std::size_t>(i)] = true;
    return out;
}

/// Rows as [aval, producer].
json rows_of(const Residuals& residuals) {
    std::vector<json> rows;
    for (const SavedResidual& r : residuals.rows) {
        std::string what = r.text.substr(0, r.text.find(" from "));
        if (r.kind == SavedResidual::Kind::Argument) what = "argument";
        if (r.kind == SavedResidual::Kind::Constant) what = "constant";
        rows.push_back({to_text(r.aval), what});
    }
    return rows;
}

/// The golden texts call a policy by the name that the case asks for it with.
std::string with_policy_named(std::string text, const json& c) {
    const PolicyPtr policy = c.contains("policy") ? parse_policy(c["policy"].get<std::string>()) : nullptr;
    const std::string printed = policy ? "policy=" + policy->text.str() + "\n" : "";
    for (std::size_t at = 0; policy && (at = text.find(printed, at)) != std::string::npos;)
        text.replace(at, printed.size(), "policy=" + c["policy"].get<std::string>() + "\n");
    return text;
}

/// Where lines break depends on NumPy's integers in JAX's parameters, which the golden texts show as plain ones.
std::string without_spaces(const std::string& text) {
    std::istringstream words(text);
    std::string out, word;
    while (words >> word) out += word;
    return out;
}

json run(const json& c) {
    const JaxprPtr j = parse_jaxpr_text(c["jaxpr"].get<std::string>(), "golden")->jaxpr;
    const std::string kind = c["kind"];
    const auto printed = [&](const JaxprPtr& made) {
        check_jaxpr(*made);
        return with_policy_named(to_text(*made), c);
    };
    if (kind == "grad") return printed(grad(j, chosen(*j, c["wrt"])));
    if (kind == "checkpoint_grad") return printed(grad(checkpoint(j, parse_policy(c["policy"].get<std::string>())), chosen(*j, c["wrt"])));
    if (kind == "jvp") return printed(jvp_jaxpr(j, chosen(*j, c["wrt"]), true).jaxpr);
    if (kind == "vmap") {
        std::vector<int> in_dims = c["axes"];
        return printed(vmap(j, c["size"], in_dims, std::vector<int>(j->outvars.size(), 0)));
    }
    if (kind == "residuals") {
        const std::string policy = c["policy"];
        return rows_of(saved_residuals(policy.empty() ? j : checkpoint(j, parse_policy(policy)), {}));
    }
    std::vector<bool> used;
    for (const int u : c["used"]) used.push_back(u != 0);
    const DceJaxpr small = dce_jaxpr(j, used);
    std::vector<int> inputs;
    for (const bool u : small.used_inputs) inputs.push_back(u ? 1 : 0);
    EXPECT_EQ(json(inputs), c["used_inputs"]);
    return printed(small.jaxpr);
}

class LoopGolden : public testing::TestWithParam<json> {};

TEST_P(LoopGolden, EqualsJax) {
    const json& c = GetParam();
    const json found = run(c);
    if (c["expect"].is_string())
        EXPECT_EQ(without_spaces(found.get<std::string>()), without_spaces(c["expect"].get<std::string>()));
    else
        EXPECT_EQ(found.dump(1), c["expect"].dump(1));
}

std::vector<json> cases() {
    std::ifstream in(std::string(JAXSCOPE_SOURCE_DIR) + "/tests/calls/golden/loops.json");
    return json::parse(in).get<std::vector<json>>();
}

INSTANTIATE_TEST_SUITE_P(Cases, LoopGolden, testing::ValuesIn(cases()), [](const auto& tested) {
    std::string policy = tested.param.value("policy", "");
    return tested.param["kind"].template get<std::string>() + "_" + tested.param["name"].template get<std::string>() +
           (policy.empty() ? "" : "_" + policy) + "_" + std::to_string(tested.index);
});

/// Behaviours F-19: how often the loop runs isn't known, so its steps can't be gone back.
TEST(While, ReverseModeIsRefusedInTheWordsOfJax) {
    for (const json& c : cases()) {
        if (c["kind"] != "jvp" || c["name"] != "dynamic") continue;
        const JaxprPtr j = parse_jaxpr_text(c["jaxpr"].get<std::string>(), "golden")->jaxpr;
        try {
            grad(j, {false, true});
            FAIL() << "expected an error";
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ErrorCode::NotDifferentiable);
            EXPECT_EQ(std::string(e.fact()),
                      "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values. Try "
                      "using lax.scan, or using fori_loop with static start/stop.");
        }
        return;
    }
    FAIL() << "expected the case `dynamic` among the golden ones";
}

TEST(Scan, BodiesThatDontFitAreTypeErrors) {
    const auto refused = [](const std::string& text) {
        try {
            check_jaxpr(*parse_jaxpr_text(text, "golden")->jaxpr);
        } catch (const Error& e) {
            return e.code == ErrorCode::TypeMismatch;
        }
        return false;
    };
    const auto scan = [](const std::string& counts, const std::string& body_out) {
        return "{ lambda ; a:f32[4] b:f32[3,4]. let\n    c:f32[4] = scan[\n      jaxpr={ lambda ; d:f32[4] e:f32[4]. let f:f32[4] = mul d "
               "e; "
               "g:f32[] = reduce_sum[axes=(0,) out_sharding=None] f in (" +
               body_out + ",) }\n      length=3\n      " + counts + "\n      reverse=False\n      unroll=1\n    ] a b\n  in (c,) }";
    };
    EXPECT_FALSE(refused(scan("num_carry=1\n      num_consts=0", "f")));
    EXPECT_TRUE(refused(scan("num_carry=1\n      num_consts=0", "g")));  // the carry changes its type
    EXPECT_TRUE(refused(scan("num_carry=1\n      num_consts=1", "f")));  // no carry, a constant more
    EXPECT_TRUE(refused(scan("num_carry=7\n      num_consts=0", "f")));
    EXPECT_TRUE(refused(scan("num_carry=1\n      num_consts=-1", "f")));
}

}  // namespace
}  // namespace jaxscope
