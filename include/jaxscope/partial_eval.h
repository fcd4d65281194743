// SPDX-License-Identifier: Apache-2.0
#pragma once
// What jaxprs are split, pruned and transposed by: JAX's interpreters.partial_eval and ad_checkpoint.transpose_jaxpr, on what make_jaxpr
// gives. Not part of <jaxscope/jax.h>, as these aren't part of `jax` either.
#include <jaxscope/jit.h>
#include <jaxscope/policy.h>

namespace jaxscope::jax {

/// One flag for all inputs (or results) of a jaxpr, or one each.
class FlagOrEach {
public:
    template <class B>
    requires std::is_same_v<B, bool> FlagOrEach(B flag) : all_(flag), one_(true) {}    // NOLINT(google-explicit-constructor)
    FlagOrEach(std::vector<bool> each) : each_(std::move(each)) {}                     // NOLINT(google-explicit-constructor)
    FlagOrEach(std::initializer_list<bool> each) : each_(each.begin(), each.end()) {}  // NOLINT(google-explicit-constructor)
    /// One each of `n`. Throws Error{BadUsage} where there are others: "dce_jaxpr: used_outputs has 1 flag, the jaxpr has 2 results".
    std::vector<bool> each(std::size_t n, const char* function, const char* what, const char* of, const Where& where) const;

private:
    std::vector<bool> each_;
    bool all_ = false, one_ = false;
};

/// An equation of a jaxpr, to be read.
struct JaxprEqn {
    std::string primitive;                                    ///< "sin", "scan"
    std::vector<std::string> invars, outvars;                 ///< types as JAX prints them: "f32[3]"
    std::string source;                                       ///< "model.cpp:12 (loss)"
    std::vector<std::pair<std::string, std::string>> params;  ///< as JAX prints them, jaxprs left out
    std::vector<std::pair<std::string, Jaxpr>> jaxprs;        ///< those that it holds, by parameter
    /// Empty where there is none of that name.
    std::string param(const std::string& name) const;
};
std::vector<JaxprEqn> eqns(const Jaxpr& jaxpr);
/// Types of its inputs and results, as JAX prints them.
std::vector<std::string> in_avals(const Jaxpr& jaxpr);
std::vector<std::string> out_avals(const Jaxpr& jaxpr);

namespace interpreters::partial_eval {

/// The two halves of a jaxpr. `known`: of the known inputs, its results are the known ones, then `num_res` residuals. `staged`: of the
/// residuals, then the instantiated inputs; its results are the instantiated ones.
struct Split {
    Jaxpr known, staged;
    std::vector<bool> out_unknowns, out_inst;
    std::size_t num_res = 0;
};
/// What remat's rule does: what `saveable` says of each application whose operands are known decides between residuals and recomputation.
/// `in_inst`: inputs that the staged half may read. `ensure_out_*`: results that are unknown, or given by the staged half, come what may.
Split partial_eval_jaxpr_custom(const Jaxpr& jaxpr, const FlagOrEach& in_unknowns, const FlagOrEach& in_inst,
                                const FlagOrEach& ensure_out_unknowns, const FlagOrEach& ensure_out_inst, const Policy& saveable,
                                Where where = {});

/// Without what none of the used results needs. Kept inputs: the used ones, and those of `instantiate`.
struct Used {
    Jaxpr jaxpr;
    std::vector<bool> used_inputs;
};
Used dce_jaxpr(const Jaxpr& jaxpr, const FlagOrEach& used_outputs, const FlagOrEach& instantiate = false, Where where = {});

}  // namespace interpreters::partial_eval

namespace ad_checkpoint {

/// The transposed jaxpr: of the inputs that aren't linear, then the cotangents that aren't zero; its results are the cotangents of the
/// linear inputs, without those that are zero: the second says which, one for each linear input.
struct Transposed {
    Jaxpr jaxpr;
    std::vector<bool> in_zeros;
};
Transposed transpose_jaxpr(const Jaxpr& jaxpr, const FlagOrEach& in_linear, const FlagOrEach& out_zeros, Where where = {});

}  // namespace ad_checkpoint
}  // namespace jaxscope::jax
