// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "trace/jit/jit_state.h"

namespace jaxscope::jax::detail {

/// Is argument `i` of `count` in a list of numbers, which may count from the end? Is the name in a list of names?
bool contains(const std::vector<int>& list, int i, std::size_t count);
bool contains(const std::vector<std::string>& list, const std::string& name);
/// Is this one of the arguments that the two options name? Where both are given JAX infers neither from the other: numbers are those of
/// arguments that come by position, names those of arguments that come by name. Else each holds for both.
bool chooses(const std::vector<int>& numbers, const std::vector<std::string>& list, const Call& call, std::size_t arg,
             const std::string& name);
/// "0, 2", "1,": what stands in a tuple of Python's.
std::string listed(const std::vector<int>& numbers);
/// JAX's checks of argument numbers and names against a function of `n` parameters. `named`: are the names all that there are? A function
/// of which some aren't known has no signature.
void check_options(const JitState& s, int n, const std::vector<std::string>& names, bool named = true);
/// Throws JAX's sentences where a call has another tree or other types than the one that was compiled.
void check_same_types(const JitState& s, const Call& compiled, const Call& given);
/// Throws what JAX says of static, donated and unhashable arguments that can't be so.
void check_arguments(const JitState& s, const Call& call, const std::vector<std::string>& names);

/// JAX's warning of a program that closes over many bytes: as many as JAX_CAPTURED_CONSTANTS_WARN_BYTES says, 2 GB where it says nothing,
/// none where it is -1. JAX_CAPTURED_CONSTANTS_REPORT_FRAMES: with the lines where the largest ones are read.
std::optional<std::string> captured_constants_warning(const Traced& traced);

}  // namespace jaxscope::jax::detail
