// SPDX-License-Identifier: Apache-2.0
#include "analysis/stages/transformed.h"

#include <optional>

#include "base/error.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jvp.h"
#include "transforms/vjp.h"

namespace jaxscope {

namespace {

/// Value and pullback has the function's results in front, then the cotangents: these alone are wanted.
JaxprPtr cotangents_alone(const JaxprPtr& function, const std::vector<bool>& wrt) {
    const JaxprPtr whole = value_and_pullback(function, wrt);
    std::vector<bool> used(function->outvars.size(), false);
    used.resize(whole->outvars.size(), true);
    return dce_jaxpr(whole, used, true).jaxpr;
}

}  // namespace

std::vector<TransformStage> transform_stages(const JaxprPtr& function, const std::vector<bool>& wrt, std::size_t num_outputs) {
    using Kind = TransformStage::Kind;
    std::vector<TransformStage> stages;
    std::optional<Linearized> linearized;  // three stages show a part of it
    const auto halves = [&]() -> const Linearized& {
        if (!linearized) linearized = linearize(function, wrt, num_outputs);
        return *linearized;
    };
    const auto add = [&](Kind kind, auto make) {
        TransformStage stage{kind, nullptr, {}};
        try {
            stage.jaxpr = make();
        } catch (const Error& e) {
            if (e.code == ErrorCode::Cancelled) throw;
            stage.problem = e.fact();
        }
        stages.push_back(std::move(stage));
    };
    add(Kind::Function, [&] { return function; });
    add(Kind::Jvp, [&] { return jvp(function, halves().wrt, num_outputs).jaxpr; });
    add(Kind::Known, [&] { return halves().forward; });
    add(Kind::Unknown, [&] { return halves().linear; });
    add(Kind::Transposed, [&] { return vjp(function, wrt, num_outputs).backward; });
    add(Kind::Dce, [&] { return cotangents_alone(function, wrt); });
    add(Kind::Vmap, [&] {
        return vmap(function, kVmapExamples, std::vector<int>(function->num_invars, 0), std::vector<int>(function->outvars.size(), 0));
    });
    return stages;
}

}  // namespace jaxscope
