// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace jaxscope {
struct Primitive;
/// The primitives of `calls/` that rules and transformations below it emit.
struct EmittedCalls {
    const Primitive *jit = nullptr, *custom_jvp = nullptr;
    const Primitive* undeclared = nullptr;  ///< what a name that nobody declared stands for
};
const EmittedCalls& emitted_calls();

/// Makes `families` what `primitive(name)` looks up. Called once, by registry.cpp of `calls/`, which knows all families;
/// `register_all_primitives()` there is called by every program's main and every test's main (explicit lists: self-registering
/// globals are dropped by the linker from a static library).
void set_primitive_families(std::span<const std::span<const Primitive* const>> families, const EmittedCalls& calls);
void register_all_primitives();
}  // namespace jaxscope
