// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A function that is compiled for wider vectors, too: the one that the processor can run is chosen when the program starts. What it
/// calls must be inlined into it (JAXSCOPE_INLINED). Sanitizers run before that choice can be made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define JAXSCOPE_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define JAXSCOPE_WIDE
#endif
#define JAXSCOPE_INLINED __attribute__((always_inline)) inline
