// SPDX-License-Identifier: Apache-2.0
#include "io/text/sharing.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/primitive.h"
#include "ir/print/printer.h"
#include "ir/print/text_form.h"

namespace jaxscope {

namespace {

/// What stands for a jaxpr that is written out, when both the next `let` and one met already have its text.
enum class Prefer : std::uint8_t { NextLetButForPairs, NextLet, Known };

class Sharing {
public:
    Sharing(const std::vector<std::shared_ptr<Jaxpr>>& lets, Prefer prefer) : lets_(lets), prefer_(prefer) {
        for (const auto& l : lets) unmet_.insert(l.get());
    }

    /// Says whether all `let`s were met. Changes nothing yet.
    bool walk(const std::shared_ptr<Jaxpr>& root) {
        queue_.push_back({root, false});
        seen_.insert(root.get());
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            const Place here = queue_[i];
            // All of them were made by the parser a moment ago.
            for (Eqn& e : std::const_pointer_cast<Jaxpr>(here.jaxpr)->eqns)
                if (e.params->holds_jaxpr()) equation(e, here.written_out);
        }
        return unmet_.empty();
    }
    void apply() {
        for (const auto& change : changes_)
            change.first->params = map_jaxprs(change.first->params, [&](const JaxprPtr& s) { return change.second.at(s.get()); });
    }

private:
    using Instead = std::unordered_map<const Jaxpr*, JaxprPtr>;
    struct Place {
        JaxprPtr jaxpr;
        bool written_out;  ///< below a program inside the text: names don't tell what is one object
    };

    void equation(Eqn& e, bool written_out) {
        std::vector<JaxprPtr> inner = e.params->jaxprs();
        if (e.prim->text && e.prim->text->last_jaxpr_first) std::reverse(inner.begin(), inner.end());
        const bool programs = holds_programs(*e.params);
        const bool free = written_out || programs;
        Instead instead;
        bool changed = false;
        for (std::size_t i = 0; i < inner.size(); ++i) {
            const JaxprPtr& s = inner[i];
            // matvec and vecmat of a symmetric solve are one object.
            const bool pair = programs && i == 1;
            const JaxprPtr& found = instead.emplace(s.get(), meet(s, free, pair)).first->second;
            changed = changed || found != s;
            const bool is_let = met_.contains(found.get());
            if (seen_.insert(found.get()).second) queue_.push_back({found, free && !is_let});
        }
        if (changed) changes_.emplace_back(&e, std::move(instead));
    }
    static bool holds_programs(const Params& params) {
        return std::any_of(params.entries().begin(), params.entries().end(),
                           [](const auto& p) { return p.second.get_record() && p.second.holds_jaxpr(); });
    }

    /// The object that stands here; `free`: it may be one of the `let`s though it is written out.
    JaxprPtr meet(const JaxprPtr& s, bool free, bool pair) {
        if (unmet_.erase(s.get()) > 0) met_.insert(s.get());
        if (!free || met_.contains(s.get())) return s;
        const std::string text = to_text(*s);
        while (next_ < lets_.size() && !unmet_.contains(lets_[next_].get())) ++next_;
        const bool next_fits = next_ < lets_.size() && to_text(*lets_[next_]) == text;
        const auto known = met_by_text_.find(text);
        const bool prefer_known = prefer_ == Prefer::Known || (prefer_ == Prefer::NextLetButForPairs && pair);
        if (known != met_by_text_.end() && (!next_fits || prefer_known)) return least_used(known->second);
        if (!next_fits) return s;
        const JaxprPtr& let = lets_[next_];
        unmet_.erase(let.get());
        met_.insert(let.get());
        met_by_text_[text].push_back({let, 1});
        return let;
    }

    struct Met {
        JaxprPtr let;
        std::size_t times = 0;
    };
    /// A `let` stands for something that is there more than once: of several with one text none may be left with one use.
    static JaxprPtr least_used(std::vector<Met>& alike) {
        Met& met = *std::min_element(alike.begin(), alike.end(), [](const Met& a, const Met& b) { return a.times < b.times; });
        ++met.times;
        return met.let;
    }

    const std::vector<std::shared_ptr<Jaxpr>>& lets_;
    const Prefer prefer_;
    std::unordered_set<const Jaxpr*> unmet_, met_, seen_;
    std::unordered_map<std::string, std::vector<Met>> met_by_text_;
    std::vector<Place> queue_;
    std::vector<std::pair<Eqn*, Instead>> changes_;
    std::size_t next_ = 0;
};

}  // namespace

void restore_sharing(const std::shared_ptr<Jaxpr>& root, const std::vector<std::shared_ptr<Jaxpr>>& lets) {
    if (lets.empty()) return;
    for (const Prefer prefer : {Prefer::NextLetButForPairs, Prefer::NextLet, Prefer::Known}) {
        Sharing sharing(lets, prefer);
        if (!sharing.walk(root)) continue;
        sharing.apply();
        return;
    }
    // A `let` that nothing uses: no text of JAX's. What names say holds.
}

Called called_from(const Jaxpr& root) {
    enum class State : std::uint8_t { New, Open, Done };
    std::unordered_map<const Jaxpr*, State> state;
    std::vector<std::pair<const Jaxpr*, bool>> stack{{&root, false}};
    Called out;
    while (!stack.empty()) {
        const auto [j, leaving] = stack.back();
        stack.pop_back();
        if (leaving) {
            state[j] = State::Done;
            continue;
        }
        if (state[j] != State::New) continue;
        state[j] = State::Open;
        out.jaxprs.insert(j);
        stack.emplace_back(j, true);
        for (std::size_t i = 0; i < j->eqns.size(); ++i)
            for (const JaxprPtr& sub : j->eqns[i].params->jaxprs()) {
                if (state[sub.get()] == State::Open) {
                    out.cycle = {j, i};
                    return out;
                }
                if (state[sub.get()] == State::New) stack.emplace_back(sub.get(), false);
            }
    }
    return out;
}

}  // namespace jaxscope
