// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>

namespace jaxscope {
class Jaxpr;
struct Op;
struct Primitive;
/// The primitives of `calls/` that rules and transformations below it emit.
struct EmittedCalls {
    const Primitive *jit = nullptr, *custom_jvp = nullptr;
    const Primitive* undeclared = nullptr;  ///< what a name that nobody declared stands for
    const Primitive* vary = nullptr;        ///< says of a value that it varies over axes of a mesh
    const Primitive* reshard = nullptr;     ///< from one explicit sharding to another
    const Primitive* constraint = nullptr;  ///< where devices have a value, which its type doesn't say
    /// What a scatter with a function of the user's own computes.
    std::shared_ptr<const Jaxpr> (*scatter_apply)(const Op& op) = nullptr;
    /// Those of which the rule for types says over which axes results vary; of others all operands vary over the same axes, and so do the
    /// results.
    std::span<const Primitive* const> collectives = {};
};
const EmittedCalls& emitted_calls();

/// Makes `families` what `primitive(name)` looks up. Called once, by registry.cpp of `calls/`, which knows all families;
/// `register_all_primitives()` there is called by every program's main and every test's main (explicit lists: self-registering
/// globals are dropped by the linker from a static library).
void set_primitive_families(std::span<const std::span<const Primitive* const>> families, const EmittedCalls& calls);
void register_all_primitives();
}  // namespace jaxscope
