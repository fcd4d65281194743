// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/params.h"
#include "ir/types/attr.h"

namespace jaxscope {

// How the text of an equation differs from a list of all its parameters. A primitive declares it once (Primitive::text); the printer
// leaves out and respells what stands here (JAX's pp_eqn_rules), and the reader of texts puts the same back.

/// The equation whose parameters are printed. `outermost`: it stands in the jaxpr that is printed, or in the function of a custom call
/// there, which JAX runs as Python when it transforms it; what stands further in is traced anew from its jaxpr, and closes over nothing
/// then.
struct PrintedEqn {
    const Params& params;
    bool outermost;
};
/// The equation whose text was read: the parameters shown, types of inputs and results.
struct ReadEqn {
    const std::vector<Params::Entry>& shown;
    const Avals& in;
    const Avals& out;
};

/// A parameter that isn't always shown.
struct HiddenParam {
    const char* name;
    bool (*hidden)(const Attr& value, const PrintedEqn& e);
    Attr (*put_back)(const ReadEqn& e) = nullptr;  ///< the value where the text shows none; null: the parameter stays away
};
/// A parameter that is shown by another name, or another way than `str` gives.
struct SpelledParam {
    const char* name;
    const char* shown;
    std::string (*spell)(const Attr& value);
    Attr (*read)(const Attr& shown) = nullptr;  ///< null: the value as it is read
};

struct CalledInput {
    const Jaxpr* jaxpr;
    std::int64_t input;
};

struct TextForm {
    std::span<const HiddenParam> hidden;
    std::span<const SpelledParam> spelled;
    /// What `name=` in front of the other parameters is: a parameter, or the name of the function in `body`.
    enum class Title : std::uint8_t { None, Param, Body } title = Title::None;
    bool no_params = false;         ///< none is shown
    bool no_results = false;        ///< the left side isn't shown
    bool shares_names = false;      ///< the jaxpr calls its inputs and results as the equation does
    bool open_body = false;         ///< `body` is an open jaxpr, which closes over no values
    bool last_jaxpr_first = false;  ///< JAX binds the parameters in another order than by name
    enum class Ref : std::uint8_t { None, Get, Swap, Add } ref = Ref::None;  ///< reads or writes a Ref (print_refs.h)
    /// The inputs of called jaxprs that an operand goes to, where operands and inputs aren't one to one.
    std::vector<CalledInput> (*called_inputs)(const Params& params, std::int64_t operand) = nullptr;
};

// ---- What declarations are made of

namespace text_form {

bool always(const Attr&, const PrintedEqn&);
bool if_none(const Attr& value, const PrintedEqn&);
bool if_false(const Attr& value, const PrintedEqn&);
bool if_empty(const Attr& value, const PrintedEqn&);  ///< None, or a sequence of nothing
Attr none(const ReadEqn&);
Attr no(const ReadEqn&);
Attr zero(const ReadEqn&);
Attr empty_tuple(const ReadEqn&);

/// A function's own name, where JAX prints that and not the object; and a function of which the text says the name alone.
std::string function_name(const Attr& function);
Attr function_of_name(const Attr& shown);

}  // namespace text_form

/// `accuracy` of exp, sin and the like.
extern const TextForm kAccuracyText;

}  // namespace jaxscope
