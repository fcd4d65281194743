// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "base/error.h"
#include "ir/program.h"

namespace jaxscope {

/// Stands between every reader and everything else, and runs after every transformation in the tests: nothing that it hasn't
/// seen reaches a transformation or the JIT.
///
/// For `j` and every jaxpr below it, each once: variables are defined before they are used, dropped ones (`_`) are not used, values
/// of constvars have their avals, and every known primitive's result avals, derived again from inputs and parameters, are the
/// recorded ones (dtype and shape: weak types differ between JAX versions). Opaque primitives are believed.
///
/// Throws   Error{TypeMismatch} or Error{BadInput} that names the equation, at the user's line; Error{LimitExceeded} when jaxprs
///          nest deeper than kMaxNesting.
/// Cost     linear in the equations of distinct jaxprs.
void check_jaxpr(const Jaxpr& j);

/// Where a jaxpr's equation stands in the file that it was read from, for messages: line and column, or a JSON path. `kWholeJaxpr`
/// asks for the jaxpr itself. An error may be about a part of the equation: its context says which parameter.
struct FilePlace {
    SourceLoc loc;
    std::string path;  ///< "$.jaxprs[3].eqns[17]"
};
using FilePlaces = std::function<FilePlace(const Jaxpr& j, std::size_t eqn, const Error& error)>;
constexpr std::size_t kWholeJaxpr = static_cast<std::size_t>(-1);

/// The program's jaxpr, the marked one, those of regions and custom rules. With `places` an error is at its place in the file, and
/// names the user's line below.
void check_program(const Program& program, const FilePlaces& places = {});

}  // namespace jaxscope
