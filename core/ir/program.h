// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/compiler_facts.h"
#include "ir/jaxpr.h"

namespace jaxscope {

/// Custom rules of a program (capture format, section 5). Equations refer to entries by Attr::Rule; rules may be recursive.
struct CustomRule {
    Sym kind;  ///< "custom_jvp", "custom_vjp_fwd", "custom_vjp_bwd", "custom_vmap", "custom_transpose",
               ///< of libraries' primitives "primitive" (its evaluation), "primitive_jvp", "primitive_transpose", "primitive_vmap"
    Sym function;
    Sym static_args;
    Avals avals;
    std::vector<bool> perturbed;
    std::vector<bool> zero_cotangents;
    bool symbolic_zeros = false;
    bool covers = false;  ///< with symbolic_zeros: it stands for fewer tangents and cotangents, too, which are zeros then
    JaxprPtr jaxpr;       ///< null: `why` says why it isn't there
    Sym why;
    std::exception_ptr error;  ///< what the rule threw when it was traced here: thrown when it is asked for
    std::vector<bool> out_zeros;
    std::vector<int> input_forwards;  ///< custom_vjp_fwd: which residuals are inputs; -1: none
    std::vector<int> closed_over;     ///< the jaxpr's leading inputs are values that the rule closes over: these inputs of the equation
    int variant_of = -1;              ///< the entry that equations name, of which this is another pattern
    std::int64_t axis_size = 0;       ///< custom_vmap: what the rule was traced for, and its results
    std::vector<bool> in_batched, out_batched;
    std::vector<int> in_dims, out_dims;  ///< primitive_vmap: where inputs and results have the axis; -1: nowhere
};
struct CustomRules {
    std::vector<CustomRule> rules;
};

/// One differentiation that stands in the program (DESIGN 2): the user's function before autodiff.
struct Region {
    Sym name;
    Sym kind;                   ///< "grad", "value_and_grad", "vjp", "linearize", ...
    JaxprPtr jaxpr;             ///< constvars: closed-over values; invars: every argument's leaves
    std::vector<Sym> in_paths;  ///< per invar: "params['blocks'][0]['w']"
    std::vector<int> arg_of_input;
    std::vector<Sym> arg_names;
    std::vector<Sym> out_paths;
    std::vector<int> wrt;          ///< argument numbers
    std::vector<bool> wrt_inputs;  ///< per invar
    bool has_aux = false;
    int outputs = 1;  ///< the first so many results are the function's own, the rest aux
    SourceRef source;
    std::optional<int> parent;
    std::optional<int> mark;  ///< K of the calls jaxscope_forward_K / jaxscope_backward_K in Program::marked
    Sym why_unmarked;
};

/// One of the two calls that stand for a region in Program::marked (capture format, section 6).
struct MarkedCall {
    static constexpr int kNotMapped = -1;
    /// A vmap around the call: where the inputs and results of its body, as it was before, have the new axis.
    struct Level {
        int axis = 0;  ///< calls under the same vmap have the same number
        std::int64_t size = 0;
        std::vector<int> in, out;  ///< kNotMapped where there is none
    };
    int mark = 0;
    bool backward = false;
    JaxprPtr jaxpr;            ///< the call's body
    std::vector<Level> batch;  ///< innermost first
};

struct SourceFile {
    std::string path;
    bool project = false;
    std::optional<std::string> text;
};

/// A program as it was captured, pasted or traced: what every stage starts from. Immutable once read.
struct Program {
    Sym name;
    std::string jax_version, producer;
    std::vector<std::pair<Sym, Attr>> flags;
    JaxprPtr jaxpr;                        ///< closed
    JaxprPtr marked;                       ///< the same with regions as marked calls, or null
    std::vector<MarkedCall> marked_calls;  ///< of captures that say how they are mapped; calls of others are known by their names
    std::vector<Sym> in_paths, out_paths;
    std::vector<int> arg_of_input;
    std::vector<Sym> arg_names;
    std::vector<bool> donated, kept;               ///< per input leaf
    std::vector<std::pair<Sym, Sym>> static_args;  ///< (path, text)
    std::vector<int> differentiate;                ///< argument numbers, empty: not said
    bool differentiate_given = false;
    bool has_aux = false;
    Sym jit;                                    ///< "jax" or "eqx"
    std::vector<ArrayPtr> values;               ///< per input leaf, null where left out
    std::vector<std::vector<int>> same_arrays;  ///< inputs that were one array in memory when captured, by leaf number
    std::vector<Attr> in_shardings;  ///< per input leaf: over which devices it was spread when captured, None for one; empty: nothing is
    std::vector<std::string> donate_warnings;
    std::vector<Region> regions;
    std::shared_ptr<const CustomRules> rules;
    std::vector<SourceFile> files;
    XlaFacts xla;                   ///< of the backend that captured
    std::vector<XlaFacts> targets;  ///< of devices that weren't there
    std::string path;               ///< the file it was read from
    std::int64_t file_bytes = 0;
};
using ProgramPtr = std::shared_ptr<const Program>;

}  // namespace jaxscope
