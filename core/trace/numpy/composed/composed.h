// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of JAX that are made of others of the front end: called in the user's line, and where JAX jits them, traced once for equal
// types.
#include <functional>
#include <string>
#include <vector>

#include <jaxscope/array.h>

namespace jaxscope::jax::detail {

using Body = std::function<std::vector<Array>(const std::vector<Array>&)>;
/// A jit equation called `name`. As with `jitted`, calls for equal types and equal `key` (static arguments) share their body, which reads
/// nothing but its operands.
std::vector<Array> composed(const char* name, const std::string& key, const std::vector<Operand>& in, const Body& body);
/// With one result.
Array composed_one(const char* name, const std::string& key, const std::vector<Operand>& in,
                   const std::function<Array(const std::vector<Array>&)>& body);
/// The same without an equation of its own: what JAX doesn't jit.
std::vector<Array> in_line(const std::vector<Operand>& in, const Body& body);

// What such bodies begin with.
/// Of one type, whatever their shapes; of one with fractions, where `to_inexact` says so.
std::vector<Array> arrays_of_one_type(const std::vector<Array>& in, bool to_inexact = false);
/// Of one type and one rank, as operators of jax.numpy have them.
std::vector<Array> promoted_arrays(const std::vector<Array>& in, bool to_inexact = false);
Array inexact_of(const Array& a);
/// jnp.lexsort by the rows of an array, the last one first.
Array lexsort_rows(const Array& keys);
/// With dimensions of one in front, up to this many.
Array with_rank(const Array& x, int rank);

}  // namespace jaxscope::jax::detail
