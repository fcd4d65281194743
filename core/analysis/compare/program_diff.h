// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `analysis/compare`: what differs between two programs. Comes in: two jaxprs. Goes out: the equations that only one of them has,
// and those that both have in other forms. Never here: figures of memory, sentences.
#include <cstdint>
#include <string>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// One thing in which an equation isn't what it was.
struct EqnChange {
    enum class Kind : std::uint8_t {
        Param,           ///< `name`; a side that lacks it is empty
        OperandTypes,    ///< of all operands
        ResultTypes,     ///< of all results
        Literal,         ///< operand `number`
        LiteralToValue,  ///< operand `number`
        ValueToLiteral,  ///< operand `number`
        OtherOperand,    ///< operand `number` is another of the values that both programs make
        JaxprsInside,    ///< how many
        OtherResult,     ///< result `number` of a jaxpr is another of the values that both programs make
    };
    Kind kind;
    std::size_t number = 0;
    std::string name, before, now;
};

/// An equation that both programs don't have alike.
struct EqnDiff {
    std::string equation;  ///< its path (EqnPath) in the program it is told of: the first one's; of `added` the second's
    std::string other;     ///< of `changed`: its path in the second
    std::string primitive;
    std::string aval;        ///< of its results
    std::int64_t bytes = 0;  ///< of its results
    std::string source;      ///< JAX's place string
    SourceLoc loc;
    std::vector<EqnChange> what;  ///< of `changed`
};

struct ProgramDiff {
    std::vector<EqnDiff> added, removed, changed;
    std::int64_t same = 0;  ///< equations of the first that stand alike in the second, those of jaxprs inside once for each that holds them
    bool empty() const { return added.empty() && removed.empty() && changed.empty(); }
};

/// Equations are matched in order by primitive, parameters and types, whatever their variables are called; what is left between matches is
/// matched by primitive alone and told as changed, by the inner equations where those hold the difference. Where programs differ in more
/// than some thousand places the matches are good, and may not be as many as there could be.
/// Cost  linear in the equations for each difference.
ProgramDiff diff_programs(const Jaxpr& a, const Jaxpr& b);

}  // namespace jaxscope
