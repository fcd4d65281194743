// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace jaxscope {

/// What JAX's jit keeps bodies of its own functions apart by, beside their types: a number for the axes of vmap that are in scope where a
/// function is traced. The thread's; 0: none.
std::uint64_t& jitted_scope();

/// Are JAX's own jitted functions operations one by one (jax.disable_jit)? The thread's.
bool& jit_disabled();

}  // namespace jaxscope
