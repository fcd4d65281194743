// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "analysis/correspondence.h"
#include "picture/graph_model.h"

namespace jaxscope {

class Inspection;

/// A residual as the captured program knows it.
struct SavedValue {
    std::optional<EqnPath> program;  ///< what makes it; nothing for arguments and constants, and where the program has no counterpart
    int input = -1;                  ///< of the program, for arguments
    std::int64_t bytes = 0;
};

/// Finds every row's counterpart in the program.
std::vector<SavedValue> saved_values(const Correspondence& correspondence, const ResidualReport& residuals);

/// Of the differentiation that is looked at. Throws what its residuals throw.
std::vector<SavedValue> saved_values(const Inspection& inspection);

/// Bytes and values per item of the program's graph: equations, groups around them, inputs.
GraphMarks saved_marks(const GraphModel& model, const std::vector<SavedValue>& saved);

}  // namespace jaxscope
