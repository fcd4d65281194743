// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace jaxscope {

/// Why XLA refused a program: what doesn't fit, as its own report lists it.
struct OutOfMemory {
    struct Buffer {
        std::int64_t bytes = 0;
        std::string shape, op_name, kind;
        std::string file;  ///< of the user's line; empty where XLA names none
        int line = 0;
    };
    std::optional<std::int64_t> needed, available;  ///< bytes, where the text says them
    std::vector<Buffer> buffers;                    ///< the largest ones
    std::string text;
};

/// What a compiler said of the whole program when it was captured: XLA's for the machine's own backend, or one of a device that wasn't
/// there.
struct XlaFacts {
    std::string target;                                                               ///< "tpu:v5p:2x2x1"; empty: the backend that captured
    std::string device;                                                               ///< as JAX names it: "TPU v5"
    std::string version;                                                              ///< of the compiler
    std::string options;                                                              ///< of the environment, given to the compiler
    std::int64_t arguments = 0, outputs = 0, aliased = 0, temporaries = 0, peak = 0;  ///< bytes
    double flops = 0, bytes_accessed = 0, compile_seconds = 0;
    std::vector<std::pair<int, int>> aliases;  ///< (output, input)
    std::optional<OutOfMemory> out_of_memory;  ///< then there are no figures
    bool known = false;
};

}  // namespace jaxscope
