// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/graph/kernel.h"
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

struct Computation;
using ComputationPtr = std::shared_ptr<const Computation>;

/// A step: what it reads and writes is all that plan, donation and checks know of it.
struct Thunk {
    enum class Kind : std::uint8_t { Kernel, Library, Copy, Scan, While, Cond } kind = Kind::Kernel;
    std::vector<std::uint32_t> nodes;  ///< of the graph
    InlineVector<int, 4> reads;
    InlineVector<int, 2> writes;    ///< buffers: operands and results in order
    int scratch = -1;               ///< buffer of scratch memory, or -1
    std::int64_t scratch_each = 0;  ///< kernels: per thread
    std::shared_ptr<const Kernel> kernel;
    /// Of a kernel; of a loop only where it is one function, whose buffers are `reads`, `writes`, then constants_of_bodies.
    KernelFunction function = nullptr;
    LibraryCallPtr library;
    std::int64_t granule = 0;  ///< not 0: the next thunk, a kernel, runs behind each piece of this one's result (jit/plan/behind_pieces.h)
    RareVector<ComputationPtr> bodies;
    RareVector<std::int64_t> carry_offsets;  ///< loops: offset in the scratch of the second buffer of each carry, or -1: in place
    std::int64_t body_arena = 0;             ///< loops: offset in the scratch of the bodies' arena
    bool is_whole_loop() const { return !bodies.empty() && function; }
};

/// A graph as thunks with planned memory. Inputs and outputs are pointers given by the caller; temporaries stand in an arena whose
/// layout is fixed. Code comes later: see attach_code.
struct Computation {
    GraphPtr graph;
    std::vector<Buffer> buffers;
    std::vector<Thunk> thunks;
    std::vector<int> input_buffer, output_buffer;
    std::vector<std::optional<int>> granted;  ///< per output: the input whose memory it really takes
    std::vector<CopiedPair> copied;
    std::int64_t arena_bytes = 0;
    std::int64_t near_bytes = 0;       ///< most that stands in a target's vector memory at once (TargetDevice::near_memory)
    bool guarded = false;              ///< debug mode: see GuardedArena
    std::vector<std::int64_t> guards;  ///< offsets of pages in the arena that nobody may touch
    int threads = 1;

    /// Constants and literals that kernels read from memory, in pool order.
    struct PoolEntry {
        ArrayPtr array;  ///< null: zeros
        AvalRef aval;
        std::optional<LiteralRef> literal;
        Bytes data;
    };
    std::vector<PoolEntry> pool;
};

/// Is `asked` of any step, those of bodies too? It gets the step and the computation that it is in.
template <class Asked>
bool any_step(const Computation& c, const Asked& asked) {
    return std::ranges::any_of(c.thunks, [&](const Thunk& t) {
        return asked(t, c) || std::ranges::any_of(t.bodies, [&](const ComputationPtr& b) { return any_step(*b, asked); });
    });
}

/// What the bodies of a loop, and of loops in it, read of their pools.
std::vector<const Computation::PoolEntry*> constants_of_bodies(const Thunk& loop);

}  // namespace jaxscope::exec
