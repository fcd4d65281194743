// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `analysis/dumps`: what XLA's own texts say of a program's memory, together, and by the program's equations where there is one.
// Comes in: texts that io has taken apart, perhaps a program. Goes out: a DumpReport. Never here: files, our own plan.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/compiler_dump.h"
#include "ir/program.h"

namespace jaxscope {

struct DumpedFile {
    std::string file, kind, module;
};

/// Sizes in bytes, each where a text says it.
struct DumpedMemory {
    std::optional<std::int64_t> needed, available;  ///< of an out-of-memory message
    std::optional<std::int64_t> peak;               ///< alive together at the moment when most is
    std::optional<std::int64_t> arguments, outputs, aliased, constants, temporaries, total;
    std::optional<std::int64_t> other_spaces;  ///< memory on the chip, or the host's
    bool rounded = false;                      ///< printed by XLA with three digits
};

struct DumpedBuffer {
    std::int64_t bytes = 0;
    std::optional<std::int64_t> unpadded;  ///< what its numbers take, where a device's tiles make more of it
    std::string shape, name, opcode, op_name, role;
    std::string file;  ///< the innermost frame of the program's own files, without a program the innermost frame
    int line = 0;
    std::string equation;        ///< the first equation that it may come from; empty: none found, or no program
    std::int64_t equations = 0;  ///< how many it may come from
    bool at_peak = false;
};

/// A line of Python, and what the listed buffers that it made take.
struct DumpedLine {
    std::string file;
    int line = 0;
    std::int64_t bytes = 0, largest = 0, buffers = 0;
};

struct DumpedOpcode {
    std::string opcode;
    std::int64_t count = 0, bytes = 0;  ///< of results
};

struct DumpedAlias {
    int output = 0, input = 0;
    std::string output_path, input_path;  ///< where the program's results and arguments are those of the text
    bool must = false;
};

/// Products that the program computes a second time (under jax.checkpoint), and how many of these are in what XLA made of it.
struct DumpedRecomputation {
    std::string primitive, file;
    int line = 0;
    std::int64_t asked = 0, kept = 0;
};

struct DumpReport {
    std::vector<DumpedFile> files;
    std::string module;
    DumpedMemory memory;
    std::string listed;                 ///< what the buffers are: "alive at the peak", "values of the buffer assignment", ...
    bool alive_together = false;        ///< may their bytes be added up?
    std::vector<DumpedBuffer> buffers;  ///< the largest first
    std::int64_t buffers_left_out = 0;
    std::vector<DumpedLine> lines;
    std::vector<DumpedOpcode> operations;
    std::vector<DumpedAlias> aliases;
    std::vector<std::string> unused_donations;  ///< donated arguments of the program whose memory XLA gives to no output
    std::vector<DumpedRecomputation> recomputed;
    std::int64_t joined = 0, joinable = 0;  ///< operations with a line of the program's files; of these, such with an equation
    std::vector<std::string> notes;
};

/// `program` may be null. All texts are taken to be of one compilation; throws Error{BadInput} where they name different modules.
DumpReport dump_report(const std::vector<CompilerDump>& dumps, const Program* program);

}  // namespace jaxscope
