// SPDX-License-Identifier: Apache-2.0
// Programs other than fuzzers, of libraries that count what was reached (coverage.cpp): nobody asks.
extern "C" __attribute__((weak, no_sanitize_coverage)) void __sanitizer_cov_trace_pc();
extern "C" void __sanitizer_cov_trace_pc() {}
