// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace jaxscope::exec {

/// While it stands, this thread takes numbers too small to be normal for zero, and makes none: as XLA's threads do, so that results are
/// JAX's; and processors that need a hundred cycles for each of them don't.
class FlushedDenormals {
public:
    FlushedDenormals() : before_(read()) { write(before_ | kFlush); }
    ~FlushedDenormals() { write(before_); }
    FlushedDenormals(const FlushedDenormals&) = delete;
    FlushedDenormals& operator=(const FlushedDenormals&) = delete;

    /// For the rest of this thread's life.
    static void for_good() { write(read() | kFlush); }

private:
#if defined(__SSE2__)
    static constexpr std::uint64_t kFlush = 0x8040;  // results and operands, in MXCSR
    static std::uint64_t read() { return _mm_getcsr(); }
    static void write(std::uint64_t v) { _mm_setcsr(static_cast<unsigned>(v)); }
#elif defined(__aarch64__)
    static constexpr std::uint64_t kFlush = 1u << 24;  // FPCR.FZ
    static std::uint64_t read() {
        std::uint64_t v;
        asm volatile("mrs %0, fpcr" : "=r"(v));
        return v;
    }
    static void write(std::uint64_t v) { asm volatile("msr fpcr, %0" : : "r"(v)); }
#else
    static constexpr std::uint64_t kFlush = 0;
    static std::uint64_t read() { return 0; }
    static void write(std::uint64_t) {}
#endif
    std::uint64_t before_;
};

}  // namespace jaxscope::exec
