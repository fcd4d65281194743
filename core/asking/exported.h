// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace jaxscope {

/// Does a file hold a program that jax.export serialised: StableHLO as MLIR's bytecode?
bool looks_exported(std::string_view bytes);

/// StableHLO text of such a file, by a Python with JAX (empty: JAXSCOPE_PYTHON, else python3). Throws Error{BadInput, CannotRun,
/// Cancelled}.
std::string stablehlo_of_exported(const std::string& file, const std::string& python);

}  // namespace jaxscope
