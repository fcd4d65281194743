// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "io/arrays/npz.h"
#include "io/capture/write_options.h"
#include "ir/program.h"

namespace jaxscope {

/// Writes a program as a capture (docs/capture-format.md), and its bigger arrays into the archive next to it (FILE.npz). Reading it
/// back gives the same program: jaxprs that were one object are one again, rules and regions included. Both files are written whole
/// or not at all (AtomicFile), equal programs give equal files.
/// Cost  linear in the program; its text is held in memory once.
void write_capture(const Program& program, const std::string& path, const WriteOptions& options = {});

/// The capture's text, not compressed. Arrays of more than `inline_elements` elements are handed to `archive`, or stand in the text
/// like the others where that is null.
std::string capture_text(const Program& program, std::vector<NpzArray>* archive = nullptr, const WriteOptions& options = {});

}  // namespace jaxscope
