// SPDX-License-Identifier: Apache-2.0
// Programs other than fuzzers, of libraries that tell what was reached (coverage.cpp): nobody asks. Comparisons of floating-point numbers,
// which g++ tells of, too, libFuzzer doesn't know.
#define JAXSCOPE_UNCOVERED extern "C" __attribute__((weak, no_sanitize_coverage))
JAXSCOPE_UNCOVERED void __sanitizer_cov_trace_pc();
JAXSCOPE_UNCOVERED void __sanitizer_cov_trace_cmpf(float, float);
JAXSCOPE_UNCOVERED void __sanitizer_cov_trace_cmpd(double, double);
void __sanitizer_cov_trace_pc() {}
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
