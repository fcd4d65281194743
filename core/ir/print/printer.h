// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// An equation, and the line of the text on which it begins.
struct EqnLine {
    std::int64_t line = 0;  ///< from 0
    const Jaxpr* jaxpr = nullptr;
    std::uint32_t eqn = 0;
};

struct PrintOptions {
    bool source = false;                    ///< each equation's source line behind it, as `pretty_print(source_info=True)`
    int width = 80;                         ///< where JAX breaks lines, in bytes
    std::vector<EqnLine>* lines = nullptr;  ///< takes where equations stand, in the order of the text; not beside `source`
};

/// The text of a jaxpr as `str(jax.make_jaxpr(f)(...))` gives it in JAX 0.10.2, character for character: variable names, jaxprs
/// that occur twice or have more than ten equations as `let name = ... in` in front, parameters, line breaks. Differs in the order
/// inside a frozenset alone, which JAX prints in hash order: here it is sorted.
/// Control characters that a name brings along (JAX's own has none but newlines and tabs) come as \xNN.
/// Throws  Error{LimitExceeded} where the programs printed inside equations exceed kMaxEmbeddedText.
/// Cost    linear in the equations of distinct jaxprs.
/// Source  JAX core.py, pp_toplevel_jaxpr.
std::string to_text(const Jaxpr& j, const PrintOptions& options = {});

/// The names that `to_text(root)` gives to variables. Names are unique over all jaxprs below the root, except where JAX lets the
/// variables of a jit's jaxpr share those of its equation.
class VarNames {
public:
    explicit VarNames(const Jaxpr& root);
    /// "a", "b", ..., "z", "ba", ...; "_" for a dropped one; "?" for a jaxpr that isn't below the root.
    std::string name(const Jaxpr& j, Var v) const;
    /// The name of a jaxpr that stands in front as `let name = ...`, empty for the others.
    std::string shared_name(const Jaxpr& j) const;

private:
    friend class Printer;
    friend std::string to_text(const Jaxpr& j, const PrintOptions& options);
    VarNames() = default;
    void find_shared(const Jaxpr& root);
    friend std::string eqn_text(const Jaxpr& j, const Eqn& e, const PrintOptions& options, const VarNames* names);
    /// Of a variable: 0 where it has no name yet, 1 for "_", else 2 + number. One for all that have its var_id.
    std::uint32_t& number(const Jaxpr& j, Var v);
    const std::uint32_t* find(const Jaxpr& j, Var v) const;
    std::string spell(std::uint32_t name) const;
    std::uint32_t assign(const Jaxpr& j, Var v);
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> names_;  ///< by the two halves of var_id
    std::unordered_map<const Jaxpr*, std::string> shared_;
    std::unordered_map<std::uint32_t, std::uint32_t> shared_vars_;  ///< by SharedVars' id
    std::unordered_map<std::string, int> shared_names_;
    std::vector<const Jaxpr*> shared_order_;
    bool dropped(const Jaxpr& j, Var v) const;
    std::vector<bool> unused_;  ///< variables of `root_` that nothing reads
    const Jaxpr* root_ = nullptr;
    std::uint32_t next_ = 0;
};

/// One equation as it stands in `to_text`, on one line if it fits: `c:f32[3] = mul a b`. Without `names` variables are called by
/// their numbers in `j`: a for the first, ...
std::string eqn_text(const Jaxpr& j, const Eqn& e, const PrintOptions& options = {}, const VarNames* names = nullptr);

/// 0: "a", 25: "z", 26: "ba".
std::string variable_name(std::uint32_t number);

}  // namespace jaxscope
