// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "jit/graph/unit.h"
#include "jit/targets.h"

namespace jaxscope::exec {

/// What a target's compiler would store, and in which steps it is made.
struct TargetUnits {
    std::vector<Unit> units;            ///< without kernels: nobody runs them
    std::vector<std::int64_t> scratch;  ///< per unit
    std::vector<std::int64_t> bytes;    ///< per value, where it stands in memory
};

/// XLA's fusions on that device, as its scheduled modules show them:
///   an element-wise value isn't stored: every reader computes it again from what is (also expensive ones: tanh, exp), inside products too;
///   what a product makes is stored behind the element-wise operations that it alone feeds (bias, residual sum, scale and mask);
///   behind which it doesn't wait for what is made later (the other part of a gradient's sum); a product over one position is element-wise;
///   of which the last that computes (a mask that is small doesn't) decides in which type it is stored; what is made narrower of such a
///   value is stored beside it for products of which one waits for the other, as silu is; what a group norm reads of a convolution is
///   stored twice; what is padded is stored, and the pad computed; a scatter fills what it writes over; strided slices and pads between
///   elements are stored, rows that one list of indices picks, and what is joined along a convolution's features; windows are made of what
///   is computed as they read it, and stored; the operand of select_and_scatter is stored, too: by the product that ends with it, else once
///   more before it is read; results, and what loops, sorts, scatters, barriers and other routines read, are stored; an f32 value that
///   products alone read, at default precision, is stored in bf16; of an f32 argument that those in a loop read a bf16 copy stands beside
///   it as long as the loop runs; a concatenation that a product reads is stored; of a product of which only a part is read that part is
///   made.
TargetUnits target_units(const Graph& g, const TargetDevice& device);

/// May `out`, which the step of these nodes makes, take the memory of `in`? `donated`: of an argument that the program was given for it.
/// XLA's TPU compiler writes over temporaries and carries in very few steps (of 59 element-wise ones in eight programs in one).
bool target_in_place(const Graph& g, const std::vector<std::uint32_t>& nodes, ValueId in, ValueId out, bool donated);

}  // namespace jaxscope::exec
