// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/jaxpr.h"

namespace jaxscope {

/// The aval that JAX prints as `f32[3,4]`, `key<fry>[2]`, `f32<host>[2]`; anything else becomes a type that is only shown.
Aval aval_from_text(std::string_view text);
/// How a type that is no array is called: `Ref{float32[3]}` as JAX before 0.7 and captures write it is `Ref{f32[3]}`.
std::string other_aval_text(std::string_view text);
/// A scalar as JAX prints it (`2.0`, `True`, `-inf`, `(1+2j)`) of aval `aval`; nothing where it is no such thing.
std::optional<Literal> literal_from_text(std::string_view text, AvalRef aval);
/// The value of parameter `name` as Python prints it. What isn't understood becomes an object that keeps its text.
Attr value_from_text(std::string_view name, std::string_view text);

/// Puts back the parameters of `primitive` that JAX's printer hides (ir/print/text_form.h), given inputs and results.
std::vector<Params::Entry> with_hidden_params(const Primitive& primitive, std::vector<Params::Entry> shown, const Avals& in,
                                              const Avals& out);

}  // namespace jaxscope
