// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "ir/program.h"

namespace jaxscope {

/// What Python is asked to capture again.
struct RecaptureRequest {
    std::string target;             ///< FILE.py:NAME, or a capture that says what it was made from
    std::string args, kwargs;       ///< Python expressions, where NAME is the function itself
    std::vector<std::string> axes;  ///< ARG:AXIS, all of one size
    std::string python;             ///< empty: JAXSCOPE_PYTHON, else python3
    double timeout_seconds = 600;   ///< of one call of Python
};

/// A program made from the user's sources as they would be with some changes.
struct Rewritten {
    ProgramPtr program;
    std::string patch;  ///< a unified diff of the sources
};
/// `edits`: what `capture --rewrite` takes (app/capture/jaxscope/command/rewrite.py). No file of the user's is changed.
/// Throws Error{BadInput, CannotRun, Cancelled}: what Python said.
Rewritten recapture_rewritten(const RecaptureRequest& request, const std::string& edits);

/// One program traced for several sizes of an axis of its arguments, by the user's own Python: shapes, no arrays. What was captured is
/// kept; Python runs once for all sizes of a call.
class Recapture {
public:
    /// Captures the program as it is. Throws Error{BadInput, CannotRun, Cancelled}: what Python said.
    explicit Recapture(RecaptureRequest request);

    std::int64_t captured_size() const { return captured_size_; }
    std::int64_t captures() const { return static_cast<std::int64_t>(programs_.size()); }
    /// Captures what isn't there yet.
    void prepare(const std::vector<std::int64_t>& sizes);
    /// Throws Error{BadInput} with what Python said of this size.
    ProgramPtr program(std::int64_t size);

private:
    void ask(const std::vector<std::int64_t>& sizes);

    RecaptureRequest request_;
    TemporaryFolder folder_;
    std::int64_t captured_size_ = 0;
    std::map<std::int64_t, ProgramPtr> programs_;
    std::map<std::int64_t, std::string> problems_;
};

}  // namespace jaxscope
