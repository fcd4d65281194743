// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/text/reading.h"

namespace jaxscope {

/// Finds the variables that several jaxprs of a text share (ir/jaxpr.h): JAX calls one variable by one name wherever it stands, so a
/// name that comes again in another jaxpr is the same variable - unless the jaxpr is jit's, whose inputs and results are called as
/// those of its equation.
class TextNames {
public:
    using Names = std::unordered_map<std::string, Var>;
    /// A nested jaxpr was read, and what calls it is not yet.
    void read(std::shared_ptr<Jaxpr> j, Names names) { waiting_.emplace_back(std::move(j), std::move(names)); }
    /// It is that of a `let`, and is moved to `slot`.
    void is_let(const std::shared_ptr<Jaxpr>& slot);
    /// `e` of `outer` calls those that wait.
    void called_by(const Reading& outer, const Eqn& e, const std::vector<Binder>& results);
    /// Tells the jaxprs which of their variables are shared.
    void finish();

private:
    struct Home {
        std::shared_ptr<Jaxpr> jaxpr;
        Var var;
        std::optional<std::uint32_t> id;
    };
    void met(const std::shared_ptr<Jaxpr>& j, const std::string& name, Var v);
    std::vector<std::pair<std::shared_ptr<Jaxpr>, Names>> waiting_;
    std::unordered_map<std::string, Home> homes_;
    std::unordered_map<std::shared_ptr<Jaxpr>, std::vector<SharedVars>> shared_;
    std::uint32_t next_id_ = 0;
};

}  // namespace jaxscope
