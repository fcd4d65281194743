#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/codegen/kernel_compiler.h"
#include "jit/graph/fuse.h"
#include "jit/jit.h"
#include "jit/kernels/library.h"

namespace jaxscope::exec {

/// A piece of memory of a computation. Several values may share one, one after the other.
struct Buffer {
    enum class Place : std::uint8_t { Input, Output, Arena, Constant } place = Place::Arena;
    std::uint32_t index = 0;  ///< of the input, output, or entry of the constant pool
    AvalRef aval;
    std::int64_t bytes = 0, offset = -1;
    int first = 0, last = -1;  ///< thunks, inclusive; -1 before the first, thunks.size() after the last
    int thunk = -1;            ///< that makes it
    BufferRole role = BufferRole::Temporary;
    std::uint32_t node = ~0u;
};

class Computation;
using ComputationPtr = std::shared_ptr<const Computation>;

/// A step: what it reads and writes is all that plan, donation and checks know of it.
struct Thunk {
    enum class Kind : std::uint8_t { Kernel, Library, Copy, Scan, While, Cond } kind = Kind::Kernel;
    std::vector<std::uint32_t> nodes;  ///< of the graph
    std::vector<int> reads, writes;    ///< buffers: operands and results in order
    int scratch = -1;                  ///< buffer of scratch memory, or -1
    std::int64_t scratch_each = 0;     ///< kernels: per thread
    std::shared_ptr<const Kernel> kernel;
    KernelFunction function = nullptr;
    LibraryCallPtr library;
    std::vector<ComputationPtr> bodies;
    std::vector<std::int64_t> carry_offsets;  ///< loops: offset in the scratch of the second buffer of each carry, or -1: in place
    std::int64_t body_arena = 0;              ///< loops: offset in the scratch of the bodies' arena
};

struct ComputationOptions {
    int threads = 1;
    FuseOptions fuse;
    bool schedule = true;    ///< try other orders than the program's and keep the one that needs least memory
    bool place_io = false;   ///< inputs and outputs stand in the arena, too (a whole program)
    std::vector<bool> kept;  ///< per input: false where jit prunes it; empty: all
};

/// A graph as thunks with planned memory. Inputs and outputs are pointers given by the caller; temporaries stand in an arena whose
/// layout is fixed here. No code is generated yet: see attach_code.
class Computation {
public:
    /// `alias`: per output, the input whose memory it should take when that costs no copy.
    static std::shared_ptr<Computation> build(const GraphPtr& graph, const std::vector<std::optional<int>>& alias,
                                              const ComputationOptions& options);

    GraphPtr graph;
    std::vector<Buffer> buffers;
    std::vector<Thunk> thunks;
    std::vector<int> input_buffer, output_buffer;
    std::vector<std::optional<int>> granted;  ///< per output: the input whose memory it really takes
    std::vector<std::string> notes;
    std::int64_t arena_bytes = 0;
    int threads = 1;

    /// Constants and literals that kernels read from memory, in pool order.
    struct PoolEntry {
        ArrayPtr array;  ///< null: zeros
        AvalRef aval;
        std::optional<LiteralRef> literal;
        std::vector<std::byte> data;
    };
    std::vector<PoolEntry> pool;
};

/// Kernels of a computation and its bodies, for the compiler, then their code back into the thunks.
void collect_kernels(const Computation& c, std::vector<std::shared_ptr<const Kernel>>& out);
void attach_code(Computation& c, const std::vector<KernelFunction>& code, std::size_t& next);
void fill_pool(Computation& c);

struct RunState {
    std::vector<double>* step_seconds = nullptr;  ///< of the outermost computation
    bool check_nan = false;
};
/// Runs all thunks. `in`, `out`: pointers per input and output; `arena`: arena_bytes, 64-byte aligned.
/// Throws Error{Cancelled}; Error{CannotRun} with the equation when `check_nan` finds one.
void run_computation(const Computation& c, void* const* in, void* const* out, char* arena, const RunState& state);

}  // namespace jaxscope::exec
