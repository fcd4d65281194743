// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace jaxscope {

/// What one of XLA's texts is: of the program before it (StableHLO) and after it (HLO), of the memory that it hands out, of the moment when
/// most is alive, and of what didn't fit.
enum class DumpKind { StableHlo, Hlo, BufferAssignment, MemoryUsage, LiveRange, OutOfMemory };
const char* dump_kind_text(DumpKind kind);  ///< "HLO text", "buffer assignment", ...

/// A line of somebody's Python as a dump names it. Frames are listed once; `caller` is the index of the frame that called this one, -1
/// where none is told. A caller always stands before, or behind, but never in a circle.
struct DumpFrame {
    std::string file, function;
    int line = 0;
    int caller = -1;
};

/// One operation of an HLO or StableHLO text.
struct DumpOperation {
    std::string name, opcode, shape, op_name, computation;
    std::int64_t bytes = 0;  ///< of its result, without the padding that a device's tiles bring
    int frame = -1;          ///< the innermost, in CompilerDump::frames
    bool in_memory = true;   ///< its result has a buffer: it isn't inside of a fusion, nor a view of another one
};

/// Something that has memory, as a dump says it.
struct DumpBuffer {
    std::int64_t bytes = 0;
    std::optional<std::int64_t> unpadded;      ///< what its numbers take, where a device's tiles make more of it
    std::string name, shape, opcode, op_name;  ///< `name` is that of the operation in the HLO
    std::string index;                         ///< "{1}": the element of the operation's tuple that it is
    std::string role;                          ///< parameter, output, constant, temporary, thread-local; or what the text calls it
    int frame = -1;
    std::int64_t offset = -1;  ///< within its allocation
    int parameter = -1;        ///< number of the argument that it is
    bool at_peak = false;      ///< alive when most is
};

/// One allocation of a buffer assignment; values that are never alive together share its bytes.
struct DumpAllocation {
    std::int64_t bytes = 0;
    std::string role;
    int parameter = -1;
    int space = 0;          ///< XLA's colour of the memory: 0 is the device's own, others are on the chip or the host's
    bool live_out = false;  ///< an output lies in it; with `parameter`, an argument's memory that was given to it
};

/// An output that takes an input's memory: numbers of the flat result and argument.
struct DumpAlias {
    int output = 0, input = 0;
    bool must = false;
};

/// One text of XLA, taken apart. What it doesn't tell is empty.
struct CompilerDump {
    DumpKind kind = DumpKind::Hlo;
    std::string file;
    std::string module;  ///< "jit_train_step"
    std::vector<DumpFrame> frames;
    std::vector<DumpOperation> operations;
    std::vector<DumpBuffer> buffers;
    std::vector<DumpAllocation> allocations;
    std::vector<DumpAlias> aliases;
    /// Sizes that the text itself names: \"needed\", \"available\", \"temporaries\", ...
    std::vector<std::pair<std::string, std::int64_t>> figures;
    bool rounded = false;    ///< its sizes are printed with three digits
    bool scheduled = false;  ///< an HLO text behind all optimisations
    int messages = 1;        ///< of an out-of-memory log: how many different ones stand in it
    std::string sentence;    ///< its own first words, where there is a message
};

}  // namespace jaxscope
