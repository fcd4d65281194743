// SPDX-License-Identifier: Apache-2.0
#include "picture/graph_model.h"

#include <algorithm>
#include <queue>

#include "ir/primitive.h"
#include "picture/graph_index.h"

namespace jaxscope {

std::string equation_title(const Eqn& eqn) {
    std::string title = eqn.prim != nullptr ? std::string() + eqn.prim->name : "?";
    std::string name = sym_param(eqn, "name");
    if (name.empty() && eqn.params->holds_jaxpr()) {
        const std::vector<SubJaxpr> inner = sub_jaxprs(eqn);
        if (inner.size() == 1) name = inner.front().jaxpr->name.str();
    }
    if (!name.empty()) title += ' ' + name;
    if (const Attr* length = eqn.params->find("length"))
        if (const auto* n = length->get<std::int64_t>(); n != nullptr && eqn.params->holds_jaxpr()) title += " \u00d7" + count_text(*n);
    return title;
}

std::string results_text(const Jaxpr& jaxpr, const Eqn& eqn) {
    if (eqn.n_out == 0) return "no result";
    std::string text = to_text(jaxpr.aval(jaxpr.output(eqn, 0)));
    if (eqn.n_out > 1) text += " +" + std::to_string(eqn.n_out - 1);
    return text;
}

/// "block 3" and "block 1" are of one kind.
static std::string without_number(const std::string& title) {
    const std::size_t end = title.find_last_not_of("0123456789");
    return end == std::string::npos ? title : title.substr(0, end + 1);
}

GraphModel::GraphModel(JaxprPtr root, Grouping grouping, std::vector<Sym> input_names)
    : root_(std::move(root)), grouping_(grouping), input_names_(std::move(input_names)) {
    JAXSCOPE_ASSERT(root_ != nullptr);
}

std::int64_t GraphModel::equations(const Jaxpr& jaxpr) const {
    const std::lock_guard lock(building_);
    if (counts_.empty()) {
        for (const Jaxpr* j : all_jaxprs(*root_)) {  // inner ones first
            auto n = static_cast<std::int64_t>(j->eqns.size());
            for (const Eqn& eqn : j->eqns)
                for (const SubJaxpr& sub : sub_jaxprs(eqn)) n = add_bytes(n, counts_.at(sub.jaxpr.get()));
            counts_[j] = n;
        }
    }
    return counts_.at(&jaxpr);
}

const GraphIndex& GraphModel::index(const Jaxpr& jaxpr) const {
    const std::lock_guard lock(building_);
    auto& slot = indices_[&jaxpr];
    if (slot) return *slot;
    slot = std::make_shared<GraphIndex>();
    slot->tree = build_scope_tree(jaxpr, grouping_);
    slot->equations.assign(1, 0);
    slot->bytes.assign(1, 0);
    slot->equations.reserve(jaxpr.eqns.size() + 1);
    slot->bytes.reserve(jaxpr.eqns.size() + 1);
    slot->producer.assign(jaxpr.num_vars(), GraphIndex::kNone);
    const std::uint32_t inputs = jaxpr.num_constvars + jaxpr.num_invars;
    slot->read.assign(inputs, false);
    for (std::uint32_t i = 0; i < jaxpr.eqns.size(); ++i) {
        const Eqn& eqn = jaxpr.eqns[i];
        std::int64_t count = 1;
        if (eqn.params->holds_jaxpr())
            for (const SubJaxpr& sub : sub_jaxprs(eqn)) count = add_bytes(count, equations(*sub.jaxpr));
        slot->equations.push_back(add_bytes(slot->equations.back(), count));
        slot->bytes.push_back(add_bytes(slot->bytes.back(), result_bytes(jaxpr, eqn)));
        for (std::uint32_t k = 0; k < eqn.n_out; ++k) slot->producer[eqn.first_out + k] = i;
        for (const Atom a : jaxpr.inputs(eqn))
            if (a.is_var() && a.var().index < inputs) slot->read[a.var().index] = true;
    }
    for (const Atom a : jaxpr.outvars)
        if (a.is_var() && a.var().index < inputs) slot->read[a.var().index] = true;
    return *slot;
}

Sym GraphModel::input_name(const Jaxpr& jaxpr, std::uint32_t input) const {
    if (input < jaxpr.num_constvars) return "constant";
    const std::uint32_t invar = input - jaxpr.num_constvars;
    if (&jaxpr == root_.get() && invar < input_names_.size()) return input_names_[invar];
    if (invar < jaxpr.arg_names.size() && !jaxpr.arg_names[invar].empty()) return jaxpr.arg_names[invar];
    return Sym("input " + std::to_string(invar));
}

GraphItem GraphModel::equation_item(const Jaxpr& jaxpr, const JaxprPath& path, std::uint32_t at, Role around) const {
    const Eqn& eqn = jaxpr.eqns[at];
    GraphItem item;
    item.kind = eqn.params->holds_jaxpr() ? GraphItem::Kind::Call : GraphItem::Kind::Equation;
    item.key = below(path, std::to_string(at));
    item.title = equation_title(eqn);
    item.detail = results_text(jaxpr, eqn);
    item.jaxpr_path = path;
    item.jaxpr = &jaxpr;
    item.begin = at;
    item.end = at + 1;
    item.equations = index(jaxpr).equations[at + 1] - index(jaxpr).equations[at];
    item.bytes = result_bytes(jaxpr, eqn);
    item.role = std::max(around, role_of(*eqn.source));
    item.expandable = item.equations > 1;
    return item;
}

GraphItem GraphModel::scope_item(const Jaxpr& jaxpr, const JaxprPath& path, std::uint32_t scope_id, Role around) const {
    const GraphIndex& known = index(jaxpr);
    const Scope& scope = known.tree.scopes[scope_id];
    GraphItem item;
    item.kind = GraphItem::Kind::Group;
    item.key = below(path, std::to_string(scope.begin) + '-' + std::to_string(scope.end));
    item.title = scope_title(scope.label);
    item.jaxpr_path = path;
    item.jaxpr = &jaxpr;
    item.begin = scope.begin;
    item.end = scope.end;
    item.scope = scope_id;
    item.equations = known.equations[scope.end] - known.equations[scope.begin];
    item.bytes = known.bytes[scope.end] - known.bytes[scope.begin];
    item.detail = counted(item.equations, "equation", "equations");
    const auto role = [&](std::uint32_t eqn) { return std::max(around, role_of(*jaxpr.eqns[eqn].source)); };
    if (scope.begin < scope.end) item.role = role(scope.begin);  // the root of an empty program has none
    for (std::uint32_t i = scope.begin; i < scope.end && item.role != Role::Plain; ++i)
        if (role(i) != item.role) item.role = Role::Plain;
    item.expandable = true;
    return item;
}

GraphItem GraphModel::root_item() const {
    GraphItem item = scope_item(*root_, {}, 0, Role::Plain);
    item.key = "*";
    item.kind = GraphItem::Kind::Body;
    return item;
}

std::vector<GraphItem> GraphModel::level(const Jaxpr& jaxpr, const JaxprPath& path, std::uint32_t scope) const {
    std::vector<GraphItem> items;
    const Role around = role_around(*root_, path);
    for (const std::uint32_t child : index(jaxpr).tree.scopes[scope].children) {
        const bool is_scope = (child & Scope::kScopeChild) != 0;
        items.push_back(is_scope ? scope_item(jaxpr, path, child & ~Scope::kScopeChild, around)
                                 : equation_item(jaxpr, path, child, around));
    }
    return items;
}

std::vector<GraphItem> GraphModel::children(const GraphItem& item) const {
    using Kind = GraphItem::Kind;
    if (item.kind == Kind::Group) return level(*item.jaxpr, item.jaxpr_path, item.scope);
    if (item.kind == Kind::Body) return level(*item.jaxpr, item.jaxpr_path, 0);
    if (item.kind != Kind::Call) return {};
    const std::vector<SubJaxpr> inner = sub_jaxprs(item.jaxpr->eqns[item.begin]);
    std::vector<GraphItem> items;
    for (const SubJaxpr& sub : inner) {
        JaxprPath path = item.jaxpr_path;
        path.steps.push_back({item.begin, sub.param, sub.index});
        if (inner.size() == 1) return level(*sub.jaxpr, path, 0);
        GraphItem body;
        body.kind = Kind::Body;
        body.key = below(path, "*");
        body.title = sub.param.str() + (sub.alone ? "" : ' ' + std::to_string(sub.index));
        body.jaxpr_path = path;
        body.jaxpr = sub.jaxpr.get();
        body.end = static_cast<std::uint32_t>(sub.jaxpr->eqns.size());
        body.equations = equations(*sub.jaxpr);
        body.detail = counted(body.equations, "equation", "equations");
        body.expandable = body.equations > 0;
        items.push_back(std::move(body));
    }
    return items;
}

std::vector<std::string> GraphModel::keys_around(const EqnPath& path) const {
    std::vector<std::string> keys;
    JaxprPath at;
    const auto add_scopes = [&](const Jaxpr& jaxpr, std::uint32_t eqn) {
        std::vector<std::string> inner;
        for (std::uint32_t s = index(jaxpr).tree.scope_of_eqn[eqn]; s != 0; s = index(jaxpr).tree.scopes[s].parent)
            inner.push_back(scope_item(jaxpr, at, s, Role::Plain).key);
        keys.insert(keys.end(), inner.rbegin(), inner.rend());
        keys.push_back(below(at, std::to_string(eqn)));
    };
    for (const auto& step : path.jaxpr.steps) {
        const Jaxpr& jaxpr = resolve(*root_, at);
        resolve(*root_, EqnPath{at, step.eqn});
        add_scopes(jaxpr, step.eqn);
        const bool several = sub_jaxprs(jaxpr.eqns[step.eqn]).size() > 1;
        at.steps.push_back(step);
        if (several) keys.push_back(below(at, "*"));
    }
    resolve(*root_, path);
    add_scopes(resolve(*root_, at), path.eqn);
    return keys;
}

std::set<std::string> GraphModel::first_look(std::size_t budget) const {
    std::set<std::string> expanded;
    const auto smaller = [](const GraphItem& a, const GraphItem& b) { return a.equations < b.equations; };
    std::priority_queue<GraphItem, std::vector<GraphItem>, decltype(smaller)> queue(smaller);
    std::size_t shown = 0;
    const auto add = [&](std::vector<GraphItem> items) {
        shown += items.size();
        for (GraphItem& item : items)
            if (item.expandable) queue.push(std::move(item));
    };
    add(children(root_item()));
    while (!queue.empty()) {
        const GraphItem item = queue.top();
        queue.pop();
        std::vector<GraphItem> inner = children(item);
        // One crowd of equations would take the room of several groups.
        if (inner.size() > budget / 2 || shown + inner.size() > budget) continue;
        expanded.insert(item.key);
        add(std::move(inner));
    }
    return expanded;
}

std::set<std::string> GraphModel::first_look(std::size_t budget, const GraphMarks& marks) const {
    constexpr std::int64_t kLeastShare = 50;  // of what is saved: less isn't worth the room
    const auto saved = [&](const GraphItem& item) {
        const auto found = marks.find(item.key);
        return found == marks.end() ? std::int64_t{0} : found->second.saved_bytes;
    };
    std::int64_t total = 0;
    std::vector<GraphItem> queue;
    std::size_t shown = 0;
    const auto add = [&](std::vector<GraphItem> items) {
        shown += items.size();
        std::set<std::string> names;
        for (GraphItem& item : items)
            if (item.expandable && saved(item) > 0 && names.insert(without_number(item.title)).second) queue.push_back(std::move(item));
    };
    std::vector<GraphItem> top = children(root_item());
    for (const GraphItem& item : top) total = add_bytes(total, saved(item));
    if (total == 0) return first_look(budget);
    add(std::move(top));
    std::set<std::string> expanded;
    while (!queue.empty()) {
        const auto most = std::max_element(queue.begin(), queue.end(), [&](const auto& a, const auto& b) { return saved(a) < saved(b); });
        const GraphItem item = std::move(*most);
        queue.erase(most);
        if (saved(item) < total / kLeastShare) break;
        std::vector<GraphItem> inner = children(item);
        // What holds most isn't left closed because trifles around it took the room.
        const std::size_t room = saved(item) >= total / 2 ? 2 * budget : budget;
        if (shown + inner.size() > room) continue;
        expanded.insert(item.key);
        add(std::move(inner));
    }
    return expanded;
}

std::uint32_t GraphModel::producer(const Jaxpr& jaxpr, Var var) const { return index(jaxpr).producer[var.index]; }

}  // namespace jaxscope
