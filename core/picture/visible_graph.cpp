// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "analysis/equations/linearity.h"
#include "ir/interpret.h"
#include "picture/graph_index.h"
#include "picture/graph_model.h"

namespace jaxscope {
namespace {

constexpr std::size_t kResultLines = 12;  // more results than that get tags instead

/// Finds equations that depend on no tangent, through nested jaxprs. An answer is kept for every jaxpr and set of tangents.
class RecomputedFinder {
public:
    bool any(const Jaxpr& jaxpr, const std::vector<bool>& inputs) {
        const auto [slot, fresh] = known_.try_emplace({&jaxpr, inputs}, false);
        if (!fresh) return slot->second;
        const std::vector<bool> linear = linear_variables(jaxpr, inputs);
        bool found = false;
        for (const Eqn& eqn : jaxpr.eqns) found = found || recomputes(jaxpr, eqn, linear);
        return known_[{&jaxpr, inputs}] = found;
    }
    bool recomputes(const Jaxpr& jaxpr, const Eqn& eqn, const std::vector<bool>& linear) {
        if (eqn.n_out > 0 && !linear[eqn.first_out]) return true;
        if (!eqn.params->holds_jaxpr()) return false;
        const std::vector<SubJaxpr> inner = sub_jaxprs(eqn);
        return std::any_of(inner.begin(), inner.end(),
                           [&](const SubJaxpr& sub) { return any(*sub.jaxpr, linear_inputs_of(jaxpr, eqn, linear, *sub.jaxpr)); });
    }

private:
    std::map<std::pair<const Jaxpr*, std::vector<bool>>, bool> known_;
};

}  // namespace

/// Collects nodes, then edges, of one jaxpr after the other.
class VisibleBuilder {
public:
    VisibleBuilder(const GraphModel& model, const std::set<std::string>& expanded, const VisibleOptions& options)
        : model_(model), expanded_(expanded), options_(options) {}
    VisibleGraph build() {
        add_jaxpr(*model_.root_, {}, VisibleGraph::kTop, options_.linear_inputs);
        for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) graph_.by_key.emplace(graph_.nodes[n].key, n);
        return std::move(graph_);
    }

private:
    static constexpr std::uint32_t kNone = ~0u;
    /// Which node shows what, for one occurrence of a jaxpr.
    struct Instance {
        const Jaxpr& jaxpr;
        JaxprPath path;
        std::vector<std::uint32_t> node_of_eqn;
        std::vector<std::uint32_t> node_of_input;
        std::vector<bool> linear;  ///< per variable; empty where roles come of the name stacks
    };

    std::uint32_t add_node(GraphItem item, int frame) {
        VisibleGraph::Node node;
        static_cast<GraphItem&>(node) = std::move(item);
        node.frame = frame;
        graph_.nodes.push_back(std::move(node));
        depth_.push_back(frame == VisibleGraph::kTop ? 0 : depth_[static_cast<std::size_t>(frame)] + 1);
        return static_cast<std::uint32_t>(graph_.nodes.size() - 1);
    }

    void add_jaxpr(const Jaxpr& jaxpr, const JaxprPath& path, int frame, const std::vector<bool>& linear_inputs) {
        Instance here{jaxpr, path, std::vector<std::uint32_t>(jaxpr.eqns.size(), kNone), {}, {}};
        if (!linear_inputs.empty()) here.linear = linear_variables(jaxpr, linear_inputs);
        add_inputs(here, frame);
        add_items(here, model_.level(jaxpr, path, 0), frame);
        const std::uint32_t results = add_results(here, frame);
        add_edges(here, results);
        if (frame != VisibleGraph::kTop) return;
        graph_.node_of_eqn = std::move(here.node_of_eqn);
        graph_.node_of_input = std::move(here.node_of_input);
    }

    /// In a split's unknown half the role follows from what depends on tangents, not from names.
    void set_role(const Instance& here, GraphItem& item) {
        if (here.linear.empty() || item.jaxpr != &here.jaxpr) return;
        item.role = Role::Backward;
        for (std::uint32_t i = item.begin; i < item.end && item.role == Role::Backward; ++i)
            if (recomputed_.recomputes(here.jaxpr, here.jaxpr.eqns[i], here.linear)) item.role = Role::Recomputed;
    }

    bool hidden(const Instance& here, std::uint32_t input) const {
        return here.path.steps.empty() && input < options_.hidden_inputs.size() && options_.hidden_inputs[input];
    }
    bool shown_result(const Instance& here, std::size_t result) const {
        return !here.path.steps.empty() || options_.shown_results.empty() || options_.shown_results[result];
    }

    void add_inputs(Instance& here, int frame) {
        const auto& read = model_.index(here.jaxpr).read;
        here.node_of_input.assign(read.size(), kNone);
        std::size_t used = 0;
        for (std::uint32_t i = 0; i < read.size(); ++i) used += read[i] && !hidden(here, i) ? 1 : 0;
        std::uint32_t crowd = kNone;
        for (std::uint32_t i = 0; i < read.size(); ++i) {
            if (!read[i] || hidden(here, i)) continue;
            const AvalRef aval = here.jaxpr.aval(Var{i});
            if (used <= options_.input_nodes) {
                GraphItem item = port(here, GraphItem::Kind::Input, "in" + std::to_string(i));
                item.title = model_.input_name(here.jaxpr, i).str();
                item.detail = to_text(aval);
                item.begin = i;
                item.bytes = bytes_of(aval);
                here.node_of_input[i] = add_node(std::move(item), frame);
                continue;
            }
            if (crowd == kNone) {
                GraphItem item = port(here, GraphItem::Kind::Inputs, "in");
                item.title = counted(static_cast<std::int64_t>(used), "input", "inputs");
                crowd = add_node(std::move(item), frame);
            }
            here.node_of_input[i] = crowd;
            graph_.nodes[crowd].bytes = add_bytes(graph_.nodes[crowd].bytes, bytes_of(aval));
        }
        if (crowd != kNone) graph_.nodes[crowd].detail = bytes_text(graph_.nodes[crowd].bytes);
    }

    static GraphItem port(const Instance& here, GraphItem::Kind kind, const std::string& name) {
        GraphItem item;
        item.kind = kind;
        item.key = below(here.path, name);
        item.jaxpr_path = here.path;
        item.jaxpr = &here.jaxpr;
        return item;
    }

    std::uint32_t add_results(const Instance& here, int frame) {
        GraphItem item = port(here, GraphItem::Kind::Results, "out");
        std::int64_t count = 0;
        for (std::size_t k = 0; k < here.jaxpr.outvars.size(); ++k) {
            if (!shown_result(here, k)) continue;
            item.detail = to_text(here.jaxpr.aval(here.jaxpr.outvars[k]));
            item.bytes = add_bytes(item.bytes, bytes_of(here.jaxpr.aval(here.jaxpr.outvars[k])));
            ++count;
        }
        if (count == 0) return kNone;
        item.title = counted(count, "result", "results");
        if (count > 1) item.detail = bytes_text(item.bytes);
        return add_node(std::move(item), frame);
    }

    /// Items of one jaxpr, through its expanded groups; recursion goes over nested groups and jaxprs only.
    void add_items(Instance& here, std::vector<GraphItem> items, int frame) {
        for (GraphItem& item : items) {
            const bool open = item.expandable && expanded_.contains(item.key);
            set_role(here, item);
            const std::uint32_t node = add_node(item, frame);
            graph_.nodes[node].expanded = open;
            if (!open || item.kind != GraphItem::Kind::Group)
                for (std::uint32_t i = item.begin; i < item.end; ++i) here.node_of_eqn[i] = node;
            if (!open) continue;
            const int inner = static_cast<int>(node);
            if (item.kind == GraphItem::Kind::Group) add_items(here, model_.children(item), inner);
            if (item.kind == GraphItem::Kind::Call) add_call(here, item, inner);
        }
    }

    void add_call(const Instance& here, const GraphItem& call, int frame) {
        const Eqn& eqn = here.jaxpr.eqns[call.begin];
        const std::vector<SubJaxpr> inner = sub_jaxprs(eqn);
        const auto linear = [&](const Jaxpr& jaxpr) {
            return here.linear.empty() ? std::vector<bool>{} : linear_inputs_of(here.jaxpr, eqn, here.linear, jaxpr);
        };
        for (const SubJaxpr& sub : inner) {
            JaxprPath path = call.jaxpr_path;
            path.steps.push_back({call.begin, sub.param, sub.index});
            if (inner.size() == 1) add_jaxpr(*sub.jaxpr, path, frame, linear(*sub.jaxpr));
        }
        if (inner.size() == 1) return;
        for (GraphItem& body : model_.children(call)) {
            const bool open = body.expandable && expanded_.contains(body.key);
            const std::uint32_t node = add_node(body, frame);
            graph_.nodes[node].expanded = open;
            if (open) add_jaxpr(*body.jaxpr, body.jaxpr_path, static_cast<int>(node), linear(*body.jaxpr));
        }
    }

    void add_edges(const Instance& here, std::uint32_t results) {
        const auto& producer = model_.index(here.jaxpr).producer;
        std::vector<std::uint32_t> last_reader(here.jaxpr.num_vars(), kNone);
        const auto read = [&](Atom atom, std::uint32_t reader, bool tag) {
            if (atom.is_literal() || last_reader[atom.var().index] == reader) return;
            const std::uint32_t var = atom.var().index;
            last_reader[var] = reader;
            const bool input = producer[var] == kNone;
            const std::uint32_t from = input ? here.node_of_input[var] : here.node_of_eqn[producer[var]];
            if (from == reader || from == kNone) return;
            const bool crowd = input && graph_.nodes[from].kind == GraphItem::Kind::Inputs;
            add_value(here.jaxpr, atom, from, reader, input ? model_.input_name(here.jaxpr, var).str() : std::string(), tag || crowd);
        };
        EqnWalk walk(here.jaxpr, {});
        walk.forward([&](const Eqn& eqn) {
            for (const Atom a : here.jaxpr.inputs(eqn)) read(a, here.node_of_eqn[walk.index()], false);
        });
        if (results == kNone) return;
        const bool many = here.jaxpr.outvars.size() > kResultLines;
        for (std::size_t k = 0; k < here.jaxpr.outvars.size(); ++k)
            if (shown_result(here, k)) read(here.jaxpr.outvars[k], results, many);
    }

    void add_value(const Jaxpr& jaxpr, Atom atom, std::uint32_t from, std::uint32_t to, const std::string& label, bool tag) {
        const auto [slot, fresh] = edge_of_.try_emplace(std::uint64_t{from} << 32 | to, graph_.edges.size());
        if (fresh) {
            VisibleGraph::Edge edge;
            edge.from = edge.from_top = from;
            edge.to = edge.to_top = to;
            edge.aval = jaxpr.aval(atom);
            edge.label = label;
            edge.tag = tag;
            lift(edge);
            graph_.edges.push_back(std::move(edge));
        }
        VisibleGraph::Edge& edge = graph_.edges[slot->second];
        edge.bytes = add_bytes(edge.bytes, bytes_of(jaxpr.aval(atom)));
        ++edge.values;
    }

    void lift(VisibleGraph::Edge& edge) const {
        const auto frame = [&](std::uint32_t n) { return graph_.nodes[n].frame; };
        while (frame(edge.from_top) != frame(edge.to_top)) {
            std::uint32_t& deeper = depth_[edge.from_top] > depth_[edge.to_top] ? edge.from_top : edge.to_top;
            deeper = static_cast<std::uint32_t>(frame(deeper));
        }
    }

    const GraphModel& model_;
    const std::set<std::string>& expanded_;
    const VisibleOptions& options_;
    RecomputedFinder recomputed_;
    VisibleGraph graph_;
    std::vector<int> depth_;
    std::unordered_map<std::uint64_t, std::size_t> edge_of_;
};

VisibleGraph GraphModel::visible(const std::set<std::string>& expanded, const VisibleOptions& options) const {
    return VisibleBuilder(*this, expanded, options).build();
}

}  // namespace jaxscope
