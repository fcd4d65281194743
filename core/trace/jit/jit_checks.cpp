// SPDX-License-Identifier: Apache-2.0
// What jit refuses: JAX's checks of argument numbers and names, and of a call's arguments against them.
#include "trace/jit/jit_checks.h"

#include <fmt/core.h>

#include "pytree/tree.h"
#include "trace/functions.h"

namespace jaxscope::jax::detail {

bool contains(const std::vector<int>& list, int i, std::size_t count) {
    for (const int n : list)
        if ((n < 0 ? n + static_cast<int>(count) : n) == i) return true;
    return false;
}
bool contains(const std::vector<std::string>& list, const std::string& name) {
    for (const std::string& n : list)
        if (n == name) return true;
    return false;
}

bool chooses(const std::vector<int>& numbers, const std::vector<std::string>& list, const Call& call, std::size_t arg,
             const std::string& name) {
    const bool both = !numbers.empty() && !list.empty();
    const bool by_number = contains(numbers, static_cast<int>(arg), call.keywords.size());
    return both ? (call.keywords[arg] ? contains(list, name) : by_number) : by_number || contains(list, name);
}

std::string listed(const std::vector<int>& numbers) {
    std::string text;
    for (const int k : numbers) text += (text.empty() ? "" : ", ") + std::to_string(k);
    return text + (numbers.size() == 1 ? "," : "");
}

namespace {

Error refusal(const JitState& s, const std::string& text) {
    Error e(ErrorCode::BadUsage, text);
    e.at({s.where.file, s.where.line, 0});
    return e;
}

/// What the text of an unhashable argument names: a type, and a value.
struct Unhashable {
    std::string type, value, name;  ///< name: what Python's own error calls the type
};
Unhashable unhashable(const Call& call, std::size_t arg) {
    const PyTreeDef tree = make_tree(call.arguments()).children()[arg];
    if (tree.node()->kind == TreeWriter::Kind::leaf) {
        const Array& a = call.leaves[call.first_leaf(arg)];
        if (a.is_tracer()) return {"jax._src.interpreters.partial_eval.DynamicJaxprTracer", a.str(), "DynamicJaxprTracer"};
        return {"jaxlib._jax.ArrayImpl", a.str(), "jaxlib._jax.ArrayImpl"};
    }
    std::vector<std::string> leaves;
    for (std::size_t k = 0; k < call.leaves_of_arg[arg]; ++k) {
        const Array& a = call.leaves[call.first_leaf(arg) + k];
        leaves.push_back(a.weak_type() ? a.str() : a.repr());
    }
    return {kind_name(*tree.node()), tree_text(tree, leaves), kind_name(*tree.node())};
}

}  // namespace

void check_options(const JitState& s, int n, const std::vector<std::string>& names, bool named) {
    const JitOptions& o = s.options;
    // A function that doesn't tell how many it takes may take any number, as one with *args does.
    const auto in_range = [&](const char* what, const std::vector<int>& list) {
        for (const int i : list)
            if (s.arity >= 0 && (i >= n || i < -n))
                throw refusal(s,
                              fmt::format("Jitted function has {}=({}), but only accepts {} positional arguments.", what, listed(list), n));
    };
    in_range("static_argnums", o.static_argnums);
    in_range("donate_argnums", o.donate_argnums);
    const auto count = static_cast<std::size_t>(n);
    std::string both;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string name = i < names.size() ? names[i] : fmt::format("args[{}]", i);
        const auto k = static_cast<int>(i);
        // JAX goes by names here, and finds none for a number that counts from the end: such an argument is static, and donates nothing.
        if ((contains(o.static_argnums, k, 0) || contains(o.static_argnames, name)) &&
            (contains(o.donate_argnums, k, 0) || contains(o.donate_argnames, name)))
            both += (both.empty() ? "'" : ", '") + name + "'";
    }
    if (!both.empty())
        throw refusal(s, fmt::format("static_argnames and donate_argnames cannot intersect. Argument names {{{}}} appear in both "
                                     "static_argnames and donate_argnames",
                                     both));
    const auto known = [&](const char* what, const std::vector<std::string>& list) {
        std::string strange;
        for (const std::string& name : list)
            if (!contains(names, name)) strange += (strange.empty() ? "'" : ", '") + name + "'";
        if (strange.empty()) return;
        if (!named)
            throw refusal(
                s, fmt::format("Getting the signature of function {} failed. Pass {}_argnums instead of {}_argnames.", o.name, what, what))
                .advise("name the arguments: {.arg_names = {...}}, or by kw where the function is called");
        throw refusal(s, fmt::format("Jitted function has invalid argnames {{{}}} in {}_argnames. Function does not take these args.",
                                     strange, what));
    };
    if (names.size() < count) return;  // names may still come with the call
    known("static", o.static_argnames);
    known("donate", o.donate_argnames);
}

void check_arguments(const JitState& s, const Call& call, const std::vector<std::string>& names) {
    const JitOptions& o = s.options;
    for (std::size_t i = 0; i < call.keywords.size() && i < o.arg_names.size(); ++i)
        if (call.keywords[i] && o.arg_names[i] != call.keywords[i])
            throw refusal(
                s, fmt::format("the argument passed as '{}' stands in the place of '{}': C++ passes arguments by position, kw names them",
                               call.keywords[i], o.arg_names[i]));
    if (s.rules.filter) return;
    bool named = true;
    for (std::size_t i = o.arg_names.size(); i < call.keywords.size(); ++i) named = named && call.keywords[i];
    // Numbers may be those of parameters that have defaults, which this call leaves out.
    check_options(s, std::max(s.arity, static_cast<int>(call.static_args.size())), names, named);
    for (std::size_t i = 0; i < call.static_args.size(); ++i) {
        const bool fixed = chooses(o.static_argnums, o.static_argnames, call, i, names[i]);
        if (call.static_args[i] && !fixed)
            throw refusal(s, fmt::format("Error interpreting argument to {} as an abstract array. The problematic value was passed to the "
                                         "function at path {}.\nThis typically means that a jit-wrapped function was called with a "
                                         "non-array argument, and this argument was not marked as static using the static_argnums or "
                                         "static_argnames parameters of jax.jit.",
                                         o.name, names[i]))
                .advise(fmt::format("make it static: {{.static_argnums = {{{}}}}}", i));
        if (!fixed || call.leaves_of_arg[i] == 0) continue;
        const auto [type, value, python] = unhashable(call, i);
        throw refusal(s, fmt::format("Non-hashable static arguments are not supported. An error occurred while trying to hash an object of "
                                     "type <class '{}'>, {}. The error was:\nTypeError: unhashable type: '{}'",
                                     type, value, python));
    }
}

void check_same_types(const JitState& s, const Call& compiled, const Call& given) {
    std::string list;
    std::size_t mismatches = 0;
    const auto compare = [&](const char* what, const PyTreeDef& one, const PyTreeDef& other) {
        for (const TreeDifference& d : tree_differences(one, other)) {  // without their articles
            list +=
                fmt::format("\n    * at {}{}, seen {} but now given {}, so {}", what, d.path, d.one.substr(2), d.other.substr(2), d.why);
            ++mismatches;
        }
    };
    // As JAX has it: what came by position, what came by name; then the static values, which are part of a call in C++.
    const auto both = [](const Call& c) {
        std::vector<bool> fixed;
        for (const std::vector<Array>& f : c.fixed) fixed.push_back(!f.empty());
        return pair_of_trees(c, fixed).children();
    };
    compare("args", both(compiled)[0], both(given)[0]);
    compare("kwargs", both(compiled)[1], both(given)[1]);
    if (!mismatches) compare("args", make_tree(compiled.arguments()), make_tree(given.arguments()));
    if (mismatches)
        throw refusal(s, fmt::format("Function compiled with input pytree does not match the input pytree it was called with. There are {} "
                                     "mismatches, including:{}",
                                     mismatches, list))
            .advise("pass the arguments as `lower` was given them: those that came by name by name, the others by position");
    const ArgumentNames names = argument_names(compiled, s.options.arg_names);
    for (std::size_t i = 0; i < compiled.leaves.size(); ++i) {
        const AvalRef a = compiled.leaves[i].node()->aval, b = given.leaves[i].node()->aval;
        if (a->dtype != b->dtype || a->shape != b->shape)
            list += fmt::format("\nArgument '{}' compiled with {} and called with {}", names.leaves[i].str(), long_aval(a), long_aval(b));
    }
    if (!list.empty())
        throw refusal(s,
                      "Argument types differ from the types for which this computation was compiled. Perhaps you are calling the compiled "
                      "executable with a different enable_x64 mode than when it was AOT compiled? The mismatches are:" +
                          list);
}

}  // namespace jaxscope::jax::detail
