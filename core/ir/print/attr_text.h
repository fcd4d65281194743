// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "ir/types/attr.h"

namespace jaxscope {

/// A parameter's value as Python's `str` gives it, which is what a jaxpr's text shows: `(0, 1)`, `float32`, `GatherScatterMode.CLIP`.
/// Objects that only Python has come as the capture recorded them, addresses as ` at 0xXXXXXXXXXXXX`; sets sorted; a jaxpr inside
/// something else as its own text with names of its own.
std::string str_text(const Attr& a);
/// The same as `repr`: what stands inside tuples and lists: `'x'`, `dtype('float32')`, `np.int64(3)`.
std::string repr_text(const Attr& a);
/// A Python string literal.
std::string python_repr(std::string_view text);

/// While one text is being made, jaxprs inside records are laid out once each by the printer that makes it, and all of them together are
/// held to `kMaxEmbeddedText`: a chain of them that doubles from one to the next would fill any memory. Outside of a scope a value that
/// holds a jaxpr has no text: Error{BadInput}.
class EmbeddedTextScope {
public:
    using Print = std::string (*)(const Jaxpr& j);
    explicit EmbeddedTextScope(Print print);
    ~EmbeddedTextScope();
    EmbeddedTextScope(const EmbeddedTextScope&) = delete;
    EmbeddedTextScope& operator=(const EmbeddedTextScope&) = delete;
};

}  // namespace jaxscope
