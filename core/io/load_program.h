// SPDX-License-Identifier: Apache-2.0
#pragma once
// The way in. Comes in: what a user names (a capture, a text, a sample, standard input). Goes out: a type-checked Program. Never here:
// anything that looks at what the program does; a file that is wrong is an Error with its place, never a Program that is half right.
#include <string>

#include "ir/program.h"

namespace jaxscope {

/// Reads a program from what the user names: a `.jaxscope` capture (plain or zstd), a file with jaxpr text, `sample:NAME`, or `-` for
/// standard input. What it is is told by its contents, not by its name. The result has passed the type checker.
/// Throws Error{NotFound, BadInput, TypeMismatch, LimitExceeded} with the place in the file.
ProgramPtr load_program(const std::string& file);

/// Names of the bundled samples, and where they lie (`samples/` of the data folder).
struct BundledSample {
    std::string name, title, source, capture;
};
std::vector<BundledSample> bundled_samples();

/// The folder that holds what jaxscope brings along (samples/, app/capture/, resources/), found from where the executable lies, never by a
/// path that was compiled in: code in it is run. JAXSCOPE_DATA, else share/jaxscope in the executable's own folder (a build tree, where
/// that is a link to the sources), else PREFIX/share/jaxscope for PREFIX/bin.
std::string data_folder();

}  // namespace jaxscope
