// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// What XLA's compiler says of one program that jaxscope made.
struct XlaWord {
    std::string target;                             ///< as it was asked for: "tpu:v5p", "cpu"
    std::string device, version;                    ///< as JAX names it; of the compiler, where it says one
    std::optional<std::int64_t> peak, temporaries;  ///< bytes, by XLA's own memory analysis; null: `problem` says why
    std::optional<std::int64_t> arguments, outputs, aliased;
    double compile_seconds = 0;
    bool kept = false;               ///< read from the disk: the same program had been compiled before
    std::vector<std::string> notes;  ///< what of the program isn't as it was
    std::string problem;             ///< also why it doesn't fit
};
struct XlaQuestion {
    std::vector<std::string> targets;
    std::string python, target_python;  ///< the one that has JAX; one with the target's compiler where that one hasn't it
    double seconds = 0;                 ///< for each compilation; 0: as long as it takes
    bool tell = true;                   ///< what is being compiled, on standard error
};
struct NamedProgram {
    std::string label;
    Program program;
};

/// Hands each program to JAX (`python -m jaxscope.targets.ask`, which rebuilds it as a function) and asks the targets' compilers, one
/// after the other; what is being compiled is said on standard error. Answers are kept on disk by content ($XDG_CACHE_HOME/jaxscope/xla):
/// what was cancelled goes on where it stood. Out: per program the words of all targets, in order.
/// Throws Error{CannotRun} where no Python with JAX can be asked at all, Error{Cancelled}.
std::vector<std::vector<XlaWord>> ask_xla(const std::vector<NamedProgram>& programs, const XlaQuestion& question);

}  // namespace jaxscope
