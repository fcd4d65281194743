// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace jaxscope {

/// What XLA's optimized program has of each equation, by the names that its instructions carry.
struct CompiledOperations {
    /// Instructions of one opcode that come from one equation. Those in fusions count, and the fusion itself (opcode "fusion") for the
    /// equation that makes its result.
    struct Row {
        std::uint32_t eqn = 0;
        std::uint32_t opcode = 0;  ///< in `opcodes`
        std::int64_t count = 0;
        std::int64_t stored = 0;  ///< of these, how many have a result in memory
        std::int64_t bytes = 0;   ///< of those results
    };
    struct Body {
        std::string jaxpr;  ///< its path in the program ("0/jaxpr/32/jaxpr"), empty for the program's own
        std::vector<Row> rows;
    };
    std::vector<std::string> opcodes;
    std::vector<bool> moves_only;  ///< per opcode: says nothing of what is computed; XLA puts such around, before and behind anything
    std::vector<Body> bodies;
    std::int64_t unnamed = 0;  ///< instructions that come from no equation
    std::string unknown;       ///< why there are no rows
};

}  // namespace jaxscope
