// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/compiler_dump.h"
#include "ir/program.h"

namespace jaxscope {

/// A line of one of the program's files, as the program names it.
struct OwnPlace {
    std::string file;
    int line = 0;
    explicit operator bool() const { return line > 0; }
};

/// The equations of a program by what XLA's texts say of an operation: line of Python, and JAX's name of the primitive at the end of its
/// op_name.
class EquationIndex {
public:
    explicit EquationIndex(const Program& program);

    struct Found {
        std::string equation;    ///< path of the first
        std::int64_t count = 0;  ///< 0: none
    };
    /// The innermost frame that stands in one of the program's files.
    OwnPlace place(const CompilerDump& dump, int frame) const;
    Found find(const OwnPlace& place, std::string_view op_name) const;

    /// Products (and convolutions) of one line that checkpoints' backward passes compute again.
    struct Recomputed {
        std::string primitive;
        OwnPlace place;
        std::int64_t count = 0;
        std::int64_t needed = 0;  ///< of the same line and primitive, without recomputation: the forward pass and the backward pass proper
    };
    std::vector<Recomputed> recomputed_products() const;

private:
    struct Entry {
        const Primitive* primitive = nullptr;
        std::string path;
        std::string call;  ///< "jit(_where)": how op_names call what it holds
        bool rematted = false, transposed = false;
        std::int64_t times = 1;  ///< how often it stands in the program with all calls written out; loops count once
    };
    struct Walk;
    /// A file of the program that a path on another machine leads to; empty for others'.
    const std::string& own_file(const std::string& file) const;

    std::map<std::pair<std::string, int>, std::vector<Entry>> by_place_;
    std::set<std::string> files_;
    Found look_up(const OwnPlace& place, std::string_view op_name) const;
    mutable std::unordered_map<std::string, std::string> own_files_;
    mutable std::unordered_map<std::string, Found> found_;  ///< by place and op_name, which repeat
};

/// Is it an instruction of XLA's that computes a matrix product or a convolution, or calls what does?
bool computes_product(std::string_view opcode);
/// Does the op_name say that it is the recomputation, or the transposition, of something?
bool says_rematted(std::string_view op_name);
bool says_transposed(std::string_view op_name);
/// "dot_general" of "jit(f)/jvp()/dot_general"; of several names in one (a fusion's), the last one's.
std::string_view primitive_in(std::string_view op_name);

}  // namespace jaxscope
