// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/choices.h"
#include "ir/program.h"

namespace jaxscope {

/// The function that `residuals`, `split` and `policies` speak of: the program, or one of its regions, with the choices applied
/// that change its jaxpr (policies of the checkpoints inside replaced; the policy around it is still to be laid on).
struct Subject {
    std::optional<int> region;
    JaxprPtr jaxpr;
    std::vector<Sym> in_paths;
    std::vector<int> wrt_args;
    std::vector<bool> wrt;        ///< per input
    std::size_t num_outputs = 0;  ///< differentiated results: a region's own without aux; all of a program's
    std::string name;
};

/// Which region `choices` mean (nothing: the program). Throws Error{NotFound} when there is no such region.
std::optional<int> chosen_region(const Program& program, const Choices& choices);

/// Where `choices` leave open which differentiation is meant: the same choices for each that stands in the program, their own first. What
/// they change of that one (policies, arguments) the others don't have. Else the choices alone.
std::vector<Choices> each_region(const Program& program, const Choices& choices);
/// Does the program hold a gradient, or does its capture ask for one (`differentiate`)? Else to differentiate it is a what-if.
bool is_differentiated(const Program& program);

/// Throws Error{NotFound} for argument numbers that the function doesn't have.
Subject make_subject(const Program& program, const Choices& choices);

}  // namespace jaxscope
