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

/// Names of the bundled samples, and where they lie (the build tree's `samples/`, or the installed share/jaxscope).
struct BundledSample {
    std::string name, title, source, capture;
};
std::vector<BundledSample> bundled_samples();

/// The folder that holds what jaxscope brings along (samples/, app/capture/, resources/): JAXSCOPE_DATA, else the source tree that it
/// was built from, else PREFIX/share/jaxscope next to the executable.
std::string data_folder();

}  // namespace jaxscope
