// Behaviours C to G on jaxprs: captures of behaviour_programs.py against what real JAX made of the same functions (make_behaviours.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "io/load_program.h"
#include "ir/type_check.h"
#include "transforms/residuals.h"
#include "transforms/vjp.h"

namespace jaxscope {
namespace {

using nlohmann::json;
const std::string kFolder = std::string(JAXSCOPE_SOURCE_DIR) + "/tests/transforms/behaviours/";

json expected_cases() {
    std::ifstream in(kFolder + "expected.json");
    return json::parse(in);
}

std::vector<std::string> ids() {
    std::vector<std::string> out;
    for (const json& c : expected_cases()) out.push_back(c["id"]);
    return out;
}

std::map<std::string, int> census(const Jaxpr& j) {
    std::map<std::string, int> count;
    for (const Eqn& e : j.eqns) {
        ++count[e.prim->name.c_str()];
        for (const JaxprPtr& s : e.params->jaxprs())
            for (const auto& [name, n] : census(*s)) count[name] += n;
    }
    return count;
}

// Cases whose residuals are JAX's in another order.
const std::set<std::string> kReordered = {};

class Behaviour : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        const json all = expected_cases();
        for (const json& c : all)
            if (c["id"] == GetParam()) case_ = c;
        program_ = load_program(kFolder + GetParam() + ".jaxscope");
        for (const int a : program_->arg_of_input) {
            const std::vector<int> wrt = case_["wrt"];
            wrt_.push_back(std::find(wrt.begin(), wrt.end(), a) != wrt.end());
        }
    }

    void check_residuals() const {
        ResidualQuery q;
        q.wrt = wrt_;
        q.in_paths = program_->in_paths;
        const Residuals r = saved_residuals(program_->jaxpr, q);
        check_jaxpr(*r.forward);
        check_jaxpr(*r.linear);
        std::vector<std::string> ours, jax;
        for (const SavedResidual& row : r.rows) ours.push_back(to_text(row.aval) + " " + row.text);
        for (const json& row : case_["residuals"]) {
            std::string text = row[1];
            // With respect to some arguments only, JAX saw a function of those, called xs.
            if (!case_["all"] && text.starts_with("from the argument xs["))
                text = "from the argument " + program_->in_paths[argument_of(text)].str();
            jax.push_back(row[0].get<std::string>() + " " + text);
        }
        if (kReordered.count(GetParam()) == 0) {
            EXPECT_EQ(ours, jax);
            return;
        }
        EXPECT_NE(ours, jax) << "the order is JAX's now: take the case off the list";
        std::sort(ours.begin(), ours.end());
        std::sort(jax.begin(), jax.end());
        EXPECT_EQ(ours, jax);
    }

    std::size_t argument_of(const std::string& text) const {
        const auto k = static_cast<std::size_t>(std::stoi(text.substr(text.find('[') + 1)));
        std::size_t seen = 0;
        for (std::size_t i = 0; i < wrt_.size(); ++i)
            if (wrt_[i] && seen++ == k) return i;
        return 0;
    }

    void check_census(const char* what, const Jaxpr& j) const {
        check_jaxpr(j);
        EXPECT_EQ(census(j), (case_[what].get<std::map<std::string, int>>())) << what;
    }

    json case_;
    ProgramPtr program_;
    std::vector<bool> wrt_;
};

TEST_P(Behaviour, AsRealJax) {
    const std::size_t num_outputs = program_->jaxpr->outvars.size();
    if (case_.contains("residuals")) check_residuals();
    if (case_.contains("grad")) check_census("grad", *value_and_grad(program_->jaxpr, wrt_));
    if (case_.contains("pullback")) check_census("pullback", *vjp(program_->jaxpr, wrt_, num_outputs).backward);
    if (case_.contains("linear")) check_census("linear", *linearize(program_->jaxpr, wrt_, num_outputs).linear);
    if (case_.contains("refused")) {
        try {
            value_and_grad(program_->jaxpr, wrt_);
            ADD_FAILURE() << "expected a refusal: " << case_["refused"];
        } catch (const Error& e) {
            EXPECT_EQ(e.fact(), case_["refused"].get<std::string>());
            EXPECT_EQ(exit_code(e.code), 3);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(CtoG, Behaviour, testing::ValuesIn(ids()), [](const auto& param) {
    std::string name = param.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}  // namespace
}  // namespace jaxscope
