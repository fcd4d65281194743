// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/sym.h"

namespace jaxscope {

/// JAX's name stack of an equation (jax._src.source_info_util.NameStack): the scopes that it was traced in (jax.named_scope) and the
/// transformations that made it, outermost first. Relative to the jaxpr that it stands in. Interned: 4 bytes.
class NameStack {
public:
    struct Entry {
        Sym name;
        bool transform = false;  ///< jvp, transpose, vmap; else a scope
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    NameStack() = default;
    /// From JAX's text: "transpose(jvp(loss))/dot" is transpose, jvp, the scopes loss and dot. `str` gives the same text back, whatever it
    /// is.
    static NameStack parse(std::string_view text);
    NameStack scope(Sym name) const;      ///< NameStack.extend
    NameStack transform(Sym name) const;  ///< NameStack.transform
    NameStack operator+(NameStack inner) const;

    bool empty() const { return id_ == 0; }
    std::vector<Entry> entries() const;  ///< outermost first
    /// Does the transformation, or the scope, of that name stand in it?
    bool has_transform(Sym name) const;
    bool has_scope(Sym name) const;
    /// As JAX prints it. A transformation wraps the scope behind it: "jvp(loss)", and "jvp()" where there is none.
    std::string str() const;
    /// The parts between the slashes of `str`: scopes with the transformations around them.
    struct Segment {
        std::string text;
        bool transformed;
    };
    std::vector<Segment> segments() const;
    std::uint32_t id() const { return id_; }
    friend bool operator==(NameStack, NameStack) = default;

private:
    NameStack with(Entry entry) const;
    std::uint32_t id_ = 0;
};

/// The transformations' and JAX's own names in name stacks.
namespace stack_names {
extern const Sym kJvp, kTranspose, kVmap, kRematted;
}

}  // namespace jaxscope
