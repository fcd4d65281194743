// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/program.h"
#include "ir/types/attr.h"

namespace jaxscope {

/// A value that the backward pass keeps from the forward pass.
struct SavedResidual {
    enum class Kind : std::uint8_t { Literal, Constant, Argument, Named, Computed } kind = Kind::Computed;
    AvalRef aval;
    std::string text;  ///< JAX's string: "from the argument params['w']", "named 'h' from model.py:3:4 (f)", "output of sin from ..."
    std::int64_t bytes = 0;
    SourceRef source;  ///< of the equation that makes it; unknown for arguments and constants
    Var var;           ///< of `Residuals::forward`
    int input = -1;    ///< of Argument, and of Constant where it is an input that is held fixed
    int eqn = -1;      ///< index of the equation in `Residuals::forward`
    int output = -1;   ///< which result of it
};

struct Residuals {
    std::vector<SavedResidual>
        rows;  ///< numbers, constants, arguments, then results of equations in program order; without literals unless asked for
    std::int64_t total_bytes = 0;
    JaxprPtr forward;  ///< the forward pass that makes them: outputs are the function's, then the residuals
    JaxprPtr linear;   ///< inputs: the residuals (in `forward`'s order), then tangents
};

struct ResidualQuery {
    std::vector<bool> wrt;               ///< per input; empty: all
    std::vector<Sym> in_paths;           ///< per input: "params['w']"
    std::size_t num_outputs = SIZE_MAX;  ///< results that are differentiated; the rest is aux
    bool literals = false;               ///< rows for numbers: the program's own, and those that rules make (a padding's tangent)
    std::vector<bool> numbers;           ///< per constvar: it stands for a literal, as numbers in C++ programs do; empty: none does
};

/// What autodiff saves of `j`, a function's jaxpr before autodiff. Inputs that are not differentiated are "from a constant", as are
/// constvars. Rows agree with print_saved_residuals of JAX 0.10.2 (ad_checkpoint.saved_residuals: linearize, then read the forward jaxpr's
/// residual outputs, through reduce_precision). Cost linear in the equations; nothing is executed. Throws Error{NoRule | NotDifferentiable
/// | UnknownPrimitive}, context "linearizing eqn 7: ...".
Residuals saved_residuals(const JaxprPtr& j, const ResidualQuery& query);

/// Rows of a forward jaxpr, whose last `num_residuals` results are what is saved.
std::vector<SavedResidual> residual_rows(const JaxprPtr& forward, std::size_t num_residuals, const ResidualQuery& query = {});

/// `aval text`, one line a row: what print_saved_residuals prints.
std::string to_text(const Residuals& residuals);

}  // namespace jaxscope
