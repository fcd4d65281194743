// SPDX-License-Identifier: Apache-2.0
#include "api/rule_table.h"

#include <unordered_map>

namespace jaxscope::jax::detail {

namespace {

class Gatherer {
public:
    JaxprPtr visit(const JaxprPtr& j) {
        if (!j) return j;
        if (const auto seen = done_.find(j.get()); seen != done_.end()) return seen->second;
        kept_.push_back(j);
        auto copy = std::make_shared<::jaxscope::Jaxpr>(*j);
        bool changed = false;
        for (Eqn& e : copy->eqns) {
            if (!e.params->holds_jaxpr()) continue;
            ParamsRef params = e.params;
            for (const auto& [name, value] : std::vector<Params::Entry>(params->entries().begin(), params->entries().end())) {
                bool other = false;
                const Attr now = visit(value, other);
                if (other) params = with_param(params, name, now);
                changed = changed || other;
            }
            e.params = params;
        }
        return done_[j.get()] = changed ? JaxprPtr(copy) : j;
    }
    std::shared_ptr<CustomRules> table = std::make_shared<CustomRules>();

private:
    Attr visit(const Attr& a, bool& changed) {
        if (const auto* rule = a.get<Attr::Rule>()) return renumbered(*rule, changed);
        if (const auto* j = a.get<Attr::JaxprRef>()) {
            JaxprPtr now = visit(j->jaxpr);
            changed = changed || now != j->jaxpr;
            return Attr(Attr::JaxprRef{std::move(now), j->closed});
        }
        if (const Attr::Seq* s = a.get_seq()) {
            Attrs items;
            bool other = false;
            for (const Attr& i : s->items) items.push_back(visit(i, other));
            changed = changed || other;
            return other ? Attr::seq(s->kind, std::move(items)) : a;
        }
        if (const Attr::Record* r = a.get_record()) {
            Attr::Record copy = *r;
            bool other = false;
            for (auto& field : copy.fields) field.second = visit(field.second, other);
            changed = changed || other;
            return other ? Attr(std::make_shared<const Attr::Record>(std::move(copy))) : a;
        }
        return a;
    }
    Attr renumbered(const Attr::Rule& rule, bool& changed) {
        const std::shared_ptr<const CustomRules> from = rule.table.lock();
        if (!from || from == table) return Attr(rule);
        changed = true;
        const auto [at, fresh] = first_.try_emplace(from.get(), table->rules.size());
        const std::size_t first = at->second;
        if (fresh) {
            tables_.push_back(from);
            table->rules.insert(table->rules.end(), from->rules.begin(), from->rules.end());
            // A rule may call its own function: its number stands already.
            for (std::size_t i = 0; i < from->rules.size(); ++i) {
                const JaxprPtr now = visit(from->rules[i].jaxpr);
                table->rules[first + i].jaxpr = now;
                if (from->rules[i].error) table->rules[first + i].why = "the rule failed when it was traced";
            }
        }
        return Attr(Attr::Rule{table, static_cast<std::uint32_t>(first + rule.index), rule.text, {}});
    }
    std::unordered_map<const ::jaxscope::Jaxpr*, JaxprPtr> done_;
    std::unordered_map<const CustomRules*, std::size_t> first_;
    std::vector<JaxprPtr> kept_;  ///< what `done_` knows by address
    std::vector<std::shared_ptr<const CustomRules>> tables_;
};

}  // namespace

void gather_rules(::jaxscope::Program& p) {
    Gatherer g;
    p.jaxpr = g.visit(p.jaxpr);
    p.marked = g.visit(p.marked);
    for (MarkedCall& c : p.marked_calls) c.jaxpr = g.visit(c.jaxpr);
    for (Region& r : p.regions) r.jaxpr = g.visit(r.jaxpr);
    if (!g.table->rules.empty()) p.rules = g.table;
}

}  // namespace jaxscope::jax::detail
