// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/graph/graph.h"

namespace jaxscope::exec {

/// A kernel's code. `buffers`: its externs, then its stores. Runs tasks [begin, end); `scratch` is this thread's own.
using KernelFunction = void (*)(void** buffers, std::int64_t begin, std::int64_t end, void* scratch);

/// Where a kernel's node takes an operand from.
struct KernelRef {
    enum class Kind : std::uint8_t { Extern, Node, Literal } kind = Kind::Extern;
    std::uint32_t index = 0;  ///< of the extern, the node, or the literal's id
};

/// One equation inside a kernel.
struct KernelNode {
    WorkPtr work;
    NodeKind kind = NodeKind::Element;  ///< or Reduction
    InlineVector<KernelRef, 2> operands;
    std::int16_t phase = 0;  ///< the pass over the columns that computes it (row level: before which pass it is there)
    bool row_level = false;  ///< one element per row
    bool on_demand = false;  ///< computed at whatever index a consumer asks for: broadcasts, iotas
    bool spilled = false;    ///< kept in a scratch row for a later pass
    const Op& op() const { return work->op; }
    ReduceKind reduce() const { return work->reduction->kind; }
    const Dims& shape() const { return op().out[0]->shape; }
};

struct KernelExtern {
    AvalRef aval;
    bool own_index = true;  ///< every read is at the element's own position in the domain
    std::int16_t last_phase = 0;
};
struct KernelStore {
    std::uint32_t node;
    AvalRef aval;
};
/// How a Tiled kernel cuts its domain: [outer, side, between, cols], where operands lie with `side` in the place of `cols`.
struct KernelTile {
    /// An extern that is read with neighbours along `side`. It comes to the tile's own memory first, transposed.
    struct Read {
        std::uint32_t ext = 0;
        Dims strides;             ///< in elements, for each dimension of the domain; 0: not in it
        std::int64_t offset = 0;  ///< of its tile in the thread's scratch memory, in bytes
    };
    Dims domain;                                          ///< without 1s
    std::size_t first = 0, behind = 0, first_column = 0;  ///< dimensions first..behind - 1 make up `side`, those from first_column `cols`
    std::int64_t side = 1, between = 1;
    std::int64_t rows = 1, cols = 1;  ///< of a tile: along `side`, along the columns
    std::vector<Read> reads;
    std::int64_t bytes = 0;  ///< of the tiles of all reads
};

/// A fused loop nest. The domain is rows x cols elements in memory order; element (r, c) has the linear index r * cols + c.
///   Flat    rows = 1 and threads share the columns
///   Row     threads share the rows; each row is passed over once per phase, reductions over columns in between
///   Tiled   the same in tiles, which are the threads' tasks, for operands that lie transposed; with reductions of whole rows
///   Column  rows = outer * reduced: for each o, sums over the reduced rows into inner columns; full-size results may be stored too
struct Kernel {
    enum class Form : std::uint8_t { Flat, Row, Tiled, Column } form = Form::Flat;
    std::int64_t rows = 1, cols = 1;
    std::int64_t reduced = 1;     ///< Column: how many rows make one result row
    std::int64_t outer_rows = 1;  ///< Column: result rows
    int phases = 1;
    KernelTile tile;
    std::vector<KernelNode> nodes;      ///< operands before users
    std::vector<KernelExtern> externs;  ///< buffers read, in the order of the kernel's arguments
    std::vector<KernelStore> stores;    ///< buffers written, behind the externs
    std::int64_t scratch_bytes = 0;     ///< per thread: spilled rows, column sums
    int cost = 0;                       ///< scalar operations per element
    bool checked = false;               ///< debug mode: every computed index is held to its buffer

    /// Column: how many columns one task sums up, and how many tasks there are. Row: tasks are rows. Flat: columns. Tiled: tiles.
    std::int64_t column_block() const;
    std::int64_t tasks() const;
    /// Scalar operations of all tasks, about.
    double work() const { return static_cast<double>(rows) * static_cast<double>(cols) * (1.0 + 0.25 * cost) * phases; }
    /// Everything that code generation depends on: equal keys, same machine code.
    std::vector<std::uint64_t> key() const;
    /// May the output `store` take the memory of `ext`? Same width, read only at its own position and not after the store.
    bool in_place(std::size_t ext, std::size_t store) const;
};

}  // namespace jaxscope::exec
