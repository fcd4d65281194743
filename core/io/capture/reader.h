// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `io/capture`: docs/capture-format.md, read and written. Comes in: JSON or zstd, from front to back. Goes out: a Program, and a
// file again. Never here: a tree of the whole document (it would be bigger than the program), and the parsing of printed jaxprs but
// for values.
#include <string>
#include <string_view>

#include "ir/program.h"

namespace jaxscope {

struct ReadOptions {
    /// Read the arrays that stand in the archive next to the capture (FILE.npz). Without it they stay unknown, with `npz` set.
    bool arrays = true;
    /// `check_program` after reading: on for everything that is going to be transformed or run.
    bool check = true;
};

/// Reads a capture (docs/capture-format.md), plain or zstd-compressed. The file is read as a stream and nothing of it is run.
///
/// `path`     "-" is standard input. The result's `path` and `file_bytes` say what was read.
/// Throws     Error{NotFound} when there is no such file; Error{BadInput} with the JSON path ("$.jaxprs[3].eqns[17][1][0]: expected
///            a variable below 12, found 99") and `loc.file`; Error{LimitExceeded} beyond base/limits.h; with `check` also what
///            check_program throws.
/// Cost       linear in the file; memory: the program, and the longest single element of a table.
ProgramPtr read_capture(const std::string& path, const ReadOptions& options = {});
/// The same from memory. `name` is what errors call it; arrays in an archive stay unknown.
ProgramPtr read_capture_text(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

}  // namespace jaxscope
