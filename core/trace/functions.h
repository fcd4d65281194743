// SPDX-License-Identifier: Apache-2.0
#pragma once
// Traced calls of user functions: what jit, grad, checkpoint and captures share.
#include <jaxscope/jit.h>

#include "base/error.h"
#include "ir/program.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

/// A tree of arrays as Equinox prints it, which have these types: `(f32[3], i32[])`.
std::string types_text(const PyTreeDef& tree, const Avals& types);

/// How arguments are called: `.arg_names`, names given by kw, else args[i]; each leaf with its path behind it.
struct ArgumentNames {
    std::vector<std::string> args;
    std::vector<Sym> leaves;
    std::vector<int> arg_of_leaf;
};
ArgumentNames argument_names(const Call& call, const std::vector<std::string>& given);

/// What JAX takes for the tree of a call: a pair of the arguments by position and those by name, without the static ones. `fixed`: per
/// argument, is it static although it has arrays?
PyTreeDef pair_of_trees(const Call& call, const std::vector<bool>& fixed);
/// The tree with these texts for its leaves: `{'a': 1}`.
std::string tree_text(const PyTreeDef& tree, const std::vector<std::string>& leaves);

/// Stands where the results of later calls have an array. Costs nothing to copy, is read by nobody.
Array place_of_array();

struct TracedCall {
    Traced traced;
    PyTreeDef out_tree;
};
constexpr const char* kUnnamed = "<unnamed function>";
/// Runs the function on tracers of these types, or of its arguments'. `what`: "jit", as errors call it.
TracedCall trace_call(Call& call, const Avals& in, const char* what, const std::string& function, const ArgumentNames* names = nullptr);
TracedCall trace_call(Call& call, const char* what, const std::string& function, const ArgumentNames* names = nullptr);
/// The same where the arguments are known meanwhile, so that the function may branch on what it computes (grad, jvp).
TracedCall trace_known(Call& call, const char* what, const std::string& function);
/// The same in a trace that was made before.
TracedCall trace_call_in(Trace& t, Call& call, const Avals& in, const ArgumentNames* names);
/// The same with leaves that are given as they are, where `fixed` says so.
TracedCall trace_call(Call& call, const std::vector<bool>& fixed, const char* what, const std::string& function);
/// The leaves of the arguments, checked.
const std::vector<Array>& leaves_of(const Call& call);
/// JAX's sentence on an argument without arrays: "Argument 'a' of type <class 'str'> is not a valid JAX type".
std::string static_text(const Call& call, std::size_t arg);
/// Arguments that hold no arrays are refused where everything is differentiated.
void refuse_statics(const Call& call);
/// The same of the arguments that one differentiates by.
void refuse_statics(const Call& call, const std::vector<std::size_t>& argnums);
/// What `f` gives; errors without a place get this one.
template <class F>
decltype(auto) at_place(const Where& where, F&& f) {
    try {
        return f();
    } catch (Error& e) {
        e.at({where.file, where.line, 0});
        throw;
    }
}
Avals avals_of(const std::vector<Array>& arrays);
/// Rows put into one array, as jnp.array makes one of a list.
Array of_rows(const std::vector<Array>& rows, const Where& where);
/// Values of the constants, then of the arguments.
std::vector<Array> with_consts(const Traced& t, const std::vector<Array>& leaves);

struct TracedProgram {
    std::atomic<int> refs{1};
    JaxprPtr jaxpr;
};
Jaxpr public_jaxpr(JaxprPtr jaxpr);

}  // namespace jaxscope::jax::detail
