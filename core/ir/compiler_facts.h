// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
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

/// An instruction in which devices meet, of what the compiler made of a program over several of them.
struct CompiledCollective {
    std::string kind;                   ///< "all-reduce", "all-gather", ...
    std::int64_t bytes = 0;             ///< of its result on one device
    std::int64_t members = 1;           ///< of one group
    std::optional<std::int64_t> times;  ///< in one run; null: in a loop whose rounds the compiler doesn't know
    std::string op_name, file;          ///< JAX's name stack; the user's line
    int line = 0;
};

struct CompiledOperations;  // ir/compiled_operations.h

/// What a compiler said of the whole program when it was captured: XLA's for the machine's own backend, or one of a device that wasn't
/// there.
struct XlaFacts {
    std::string target;                                                          ///< "tpu:v5p:2x2x1"; empty: the backend that captured
    std::string device;                                                          ///< as JAX names it: "TPU v5"
    std::string version;                                                         ///< of the compiler
    std::string options;                                                         ///< of the environment, given to the compiler
    std::optional<std::int64_t> arguments, outputs, aliased, temporaries, peak;  ///< bytes; none: it didn't say, or refused the program
    std::optional<double> flops, bytes_accessed;
    double compile_seconds = 0;
    std::vector<std::pair<int, int>> aliases;  ///< (output, input)
    std::vector<CompiledCollective> collectives;
    std::vector<std::string> in_specs, out_specs;          ///< P('x', None), per input and result; empty texts: it didn't say
    std::optional<OutOfMemory> out_of_memory;              ///< then there are no figures
    std::shared_ptr<const CompiledOperations> operations;  ///< what became of the equations; null: it wasn't recorded
    bool known = false;
};

}  // namespace jaxscope
