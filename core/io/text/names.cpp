// SPDX-License-Identifier: Apache-2.0
#include "io/text/names.h"

#include <algorithm>
#include <string_view>

#include "ir/primitive.h"
#include "ir/print/text_form.h"

namespace jaxscope {

namespace {

/// Variables of a jit's jaxpr that are called as the equation's inputs and results.
class Suggested {
public:
    Suggested(const Reading& outer, const Eqn& e, const std::vector<Binder>& results, const Jaxpr& inner)
        : outer_(outer), e_(e), results_(results), inner_(inner) {
        if (!applies()) return;
        for (std::size_t k = 0; k < inner.outvars.size() && k < results.size(); ++k)
            if (inner.outvars[k].is_var()) results_of_[inner.outvars[k].var().index].push_back(k);
    }
    bool operator()(const std::string& name, Var v) const {
        if (!applies()) return false;
        const std::uint32_t input = v.index - inner_.num_constvars;
        if (v.index >= inner_.num_constvars && input < inner_.num_invars && input < e_.n_in) {
            const auto known = outer_.scope.find(name);
            if (known != outer_.scope.end() && outer_.jaxpr->inputs(e_)[input] == Atom(known->second)) return true;
        }
        const auto found = results_of_.find(v.index);
        return found != results_of_.end() &&
               std::any_of(found->second.begin(), found->second.end(), [&](std::size_t k) { return results_[k].name == name; });
    }

private:
    bool applies() const { return e_.prim->text && e_.prim->text->shares_names; }
    const Reading& outer_;
    const Eqn& e_;
    const std::vector<Binder>& results_;
    const Jaxpr& inner_;
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> results_of_;
};

}  // namespace

void TextNames::met(const std::shared_ptr<Jaxpr>& j, const std::string& name, Var v) {
    const auto [home, fresh] = homes_.try_emplace(name, Home{j, v, {}});
    if (fresh) return;
    Home& first = home->second;
    if (!first.id) {
        first.id = next_id_++;
        shared_[first.jaxpr].push_back({first.var.index, 1, *first.id});
    }
    shared_[j].push_back({v.index, 1, *first.id});
}

void TextNames::is_let(const std::shared_ptr<Jaxpr>& slot) {
    for (const auto& [j, names] : waiting_)
        for (const auto& [name, v] : names) met(slot, name, v);
    waiting_.clear();
}

void TextNames::called_by(const Reading& outer, const Eqn& e, const std::vector<Binder>& results) {
    for (const auto& [j, names] : waiting_) {
        const Suggested suggested(outer, e, results, *j);
        for (const auto& [name, v] : names) {
            if (suggested(name, v))
                homes_.try_emplace(name, Home{j, v, {}});
            else
                met(j, name, v);
        }
    }
    waiting_.clear();
}

void TextNames::finish() {
    for (auto& [j, runs] : shared_) {
        std::sort(runs.begin(), runs.end(), [](const SharedVars& a, const SharedVars& b) { return a.first < b.first; });
        j->shared_vars = std::move(runs);
    }
}

}  // namespace jaxscope
