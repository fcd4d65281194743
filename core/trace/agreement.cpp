// SPDX-License-Identifier: Apache-2.0
#include "trace/agreement.h"

#include <fmt/core.h>

#include <cctype>
#include <string_view>

#include "base/error.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/promote.h"

namespace jaxscope::jax::detail {

namespace {

bool agree(AvalRef a, AvalRef b) { return a->shape == b->shape && a->dtype == b->dtype; }
const char* what_differs(AvalRef a, AvalRef b) {
    if (a->shape == b->shape) return "dtypes do not match";
    return a->dtype == b->dtype ? "shapes do not match" : "shapes and dtypes do not match";
}
/// One difference is a sentence, several are a list.
std::string listed(std::vector<std::string> differences, const char* between, bool capital = true) {
    if (differences.size() == 1) {
        if (capital) differences[0][0] = static_cast<char>(std::toupper(static_cast<unsigned char>(differences[0][0])));
        return differences[0] + ".\n";
    }
    std::string out;
    for (std::size_t i = 0; i < differences.size(); ++i)
        out += "  * " + differences[i] + (i + 1 == differences.size() ? ".\n" : i + 2 == differences.size() ? ";\n" : between);
    return out;
}
/// JAX leaves lines empty between most of what it lists, but for the types of branches.
constexpr const char *kDense = ";\n", *kSpaced = ";\n\n";

std::string carry_at(const std::string& path) {
    if (path.empty()) return "the input carry c";
    constexpr std::string_view kFori = ".loop_carry_";  // a member of fori_loop's own carry, `loop_carry` in JAX, and a tuple there
    if (!path.starts_with(kFori)) return "the input carry component c" + path;
    const std::size_t digit = kFori.size();
    return fmt::format("the input carry component loop_carry[{}]{}", path[digit], path.substr(digit + 1));
}
std::string at_path(const std::string& path) { return path.empty() ? "" : " at path " + path; }

}  // namespace

void check_carry_tree(const char* loop, const PyTreeDef& in, const PyTreeDef& out) {
    std::vector<std::string> found;
    for (const TreeDifference& d : tree_differences(in, out))
        found.push_back(fmt::format("{} is {} but the corresponding component of the carry output is {}, so {}", carry_at(d.path), d.one,
                                    d.other, d.why));
    if (found.empty()) return;
    throw Error(ErrorCode::TypeMismatch,
                fmt::format("{} function carry input and carry output must have the same pytree structure, but they differ:\n\n{}\nRevise "
                            "the function so that the carry output has the same pytree structure as the carry input.",
                            loop, listed(std::move(found), kSpaced)));
}

void check_carry_types(const char* loop, const Avals& in, const Avals& out, const std::vector<std::string>& paths) {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < in.size(); ++i)
        if (!agree(in[i], out[i]))
            found.push_back(fmt::format("{} has type {} but the corresponding output carry component has type {}, so the {}",
                                        carry_at(i < paths.size() ? paths[i] : ""), long_aval(in[i]), long_aval(out[i]),
                                        what_differs(in[i], out[i])));
    if (found.empty()) return;
    throw Error(
        ErrorCode::TypeMismatch,
        fmt::format("{} function carry input and carry output must have equal types, but they differ:\n\n{}\nRevise the function so "
                    "that all output types match the corresponding input types.",
                    loop, listed(std::move(found), kSpaced)));
}

bool promote_carry(Avals& in, const Avals& out, const char* loop, const std::vector<std::string>& paths) {
    bool changed = false;
    Avals expected = out;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (agree(in[i], out[i]) || !in[i]->weak_type || in[i]->shape != out[i]->shape) continue;
        const DType wider = promoted_type({in[i], out[i]}).type;
        if (wider == in[i]->dtype) continue;
        in[i] = expected[i] = strong(with_dtype(in[i], wider));
        changed = true;
    }
    check_carry_types(loop, in, expected, paths);
    return changed;
}

void check_branches(const char* api, const Branch& one, const Branch& other) {
    const std::string which = fmt::format("{0} is {1}\n{2} is {3}\n\n", one.name, one.function, other.name, other.function);
    const auto revise = [&](const char* so_that) { return fmt::format("Revise {} and/or {} so that {}", one.name, other.name, so_that); };
    std::vector<std::string> found;
    for (const TreeDifference& d : tree_differences(one.tree, other.tree))
        found.push_back(fmt::format("{} output{} is {} but {} output{} is {}, so {}", one.name, at_path(d.path), d.one, other.name,
                                    at_path(d.path), d.other, d.why));
    if (!found.empty())
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("{} branch outputs must have the same pytree structure, but they differ:\n\n{}{}\n{}", api, which,
                                listed(std::move(found), kSpaced, false), revise("they have the same pytree structure.")));
    const std::vector<std::string> paths = one.tree.paths();
    for (std::size_t i = 0; i < one.types.size(); ++i)
        if (!agree(one.types[i], other.types[i]))
            found.push_back(fmt::format("the output of {}{} has type {} but the corresponding output of {} has type {}, so the {}",
                                        one.name, at_path(i < paths.size() ? paths[i] : ""), long_aval(one.types[i]), other.name,
                                        long_aval(other.types[i]), what_differs(one.types[i], other.types[i])));
    if (!found.empty())
        throw Error(ErrorCode::TypeMismatch, fmt::format("{} branches must have equal output types but they differ.\n\n{}{}\n{}", api,
                                                         which, listed(std::move(found), kDense), revise("all output types match.")));
}

}  // namespace jaxscope::jax::detail
