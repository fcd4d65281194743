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

/// Kernels that compute with vectors of their own (`vector_size`), as wide as the processor's, stand in an .inl file, which is parsed once
/// per instruction set (per_processor.inc): a vector wider than the processor's would be taken apart and go through the stack. Under a
/// sanitizer once: three times its checks are a minute of compiling, and the release's tests run the others beside guard pages.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define JAXSCOPE_PARSED_PER_PROCESSOR 1
#endif

namespace jaxscope::exec {

enum class Processor : unsigned char { any, avx2, avx512 };
/// The widest of those above that this machine has.
inline Processor processor() {
#if defined(__x86_64__) && defined(__GNUC__)  // clang 14 doesn't know the levels' names
    const bool level3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool level4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (level3) return level4 ? Processor::avx512 : Processor::avx2;
#endif
    return Processor::any;
}

}  // namespace jaxscope::exec

/// Calls, of the kernels that per_processor.inc parsed in namespace `kernels`, those for this machine.
#ifdef JAXSCOPE_PARSED_PER_PROCESSOR
#define JAXSCOPE_ON_THIS_PROCESSOR(kernels, ...)                          \
    (processor() == Processor::avx512 ? kernels::with_avx512::__VA_ARGS__ \
     : processor() == Processor::avx2 ? kernels::with_avx2::__VA_ARGS__   \
                                      : kernels::any_processor::__VA_ARGS__)
#else
#define JAXSCOPE_ON_THIS_PROCESSOR(kernels, ...) kernels::any_processor::__VA_ARGS__
#endif
