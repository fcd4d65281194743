// SPDX-License-Identifier: Apache-2.0
#include "picture/inner_ends.h"

#include <algorithm>
#include <optional>

#include "base/cancel.h"
#include "calls/control_flow.h"

namespace jaxscope {
namespace {

/// The one jaxpr that an open equation shows, and how its operands and results are the jaxpr's; nothing where it is closed, or shares its
/// operands out among several.
struct OpenBody {
    JaxprPtr jaxpr;
    JaxprPath path;
    std::int64_t length = 1;
    std::size_t carries = 0, before = 0;  ///< of a scan; `before`: operands in front of what is scanned
    std::int64_t times_of_result(std::size_t result) const { return result < carries ? 1 : length; }
    std::int64_t times_of_operand(std::size_t operand) const { return operand < before ? 1 : length; }
};

std::optional<OpenBody> open_body(const VisibleGraph& graph, const Jaxpr& jaxpr, const EqnPath& path) {
    const auto found = graph.by_key.find(to_text(path));
    if (found == graph.by_key.end() || !graph.nodes[found->second].expanded) return {};
    const Eqn& eqn = jaxpr.eqns[path.eqn];
    const std::vector<SubJaxpr> inner = sub_jaxprs(eqn);
    if (inner.size() != 1 || inner.front().jaxpr->num_invars != jaxpr.inputs(eqn).size() ||
        inner.front().jaxpr->outvars.size() != eqn.n_out)
        return {};
    OpenBody out{inner.front().jaxpr, path.jaxpr};
    out.path.steps.push_back({path.eqn, inner.front().param, inner.front().index});
    if (eqn.prim->flow != Flow::Scan) return out;
    const auto& scan = eqn.params->as<ScanParams>();
    out.length = scan.length;
    out.carries = static_cast<std::size_t>(scan.num_carry);
    out.before = static_cast<std::size_t>(scan.num_consts + scan.num_carry);
    return out;
}

/// The innermost item around an equation that is there to be seen.
std::uint32_t visible_at(const GraphModel& model, const VisibleGraph& graph, const EqnPath& path) {
    std::uint32_t node = VisibleGraph::kNone;
    for (const std::string& key : model.keys_around(path))
        if (const auto found = graph.by_key.find(key); found != graph.by_key.end()) node = found->second;
    return node;
}

std::uint32_t input_node(const VisibleGraph& graph, const JaxprPath& path, std::uint32_t input, std::uint32_t otherwise) {
    for (const std::string& name : {"/in" + std::to_string(input), std::string("/in")})
        if (const auto found = graph.by_key.find(to_text(path) + name); found != graph.by_key.end()) return found->second;
    return otherwise;
}

class Ends {
public:
    Ends(const GraphModel& model, const VisibleGraph& graph) : model_(model), graph_(graph) {}

    InnerEnd made(const Jaxpr& jaxpr, const EqnPath& path, std::uint32_t result, std::int64_t times) const {
        const std::uint32_t node = visible_at(model_, graph_, path);
        const std::optional<OpenBody> body = open_body(graph_, jaxpr, path);
        if (!body) return {node, times};
        const std::int64_t inside = times * body->times_of_result(result);
        const Atom atom = body->jaxpr->outvars[result];
        if (atom.is_literal()) return {node, times};
        const std::uint32_t eqn = model_.producer(*body->jaxpr, atom.var());
        if (eqn == VisibleGraph::kNone) return {input_node(graph_, body->path, atom.var().index, node), inside};
        return made(*body->jaxpr, {body->path, eqn}, atom.var().index - body->jaxpr->eqns[eqn].first_out, inside);
    }

    void read(const Jaxpr& jaxpr, const EqnPath& path, Var var, std::int64_t times, std::vector<InnerEnd>& out) const {
        check_cancelled();
        const std::uint32_t node = visible_at(model_, graph_, path);
        const std::optional<OpenBody> body = open_body(graph_, jaxpr, path);
        if (!body) return add({node, times}, out);
        const auto operands = jaxpr.inputs(jaxpr.eqns[path.eqn]);
        const std::size_t before = out.size();
        for (std::size_t k = 0; k < operands.size(); ++k) {
            if (operands[k].is_literal() || operands[k].var().index != var.index) continue;
            const Var inner{body->jaxpr->num_constvars + static_cast<std::uint32_t>(k)};
            const std::int64_t inside = times * body->times_of_operand(k);
            for (std::uint32_t e = 0; e < body->jaxpr->eqns.size(); ++e) {
                const auto inputs = body->jaxpr->inputs(body->jaxpr->eqns[e]);
                if (std::any_of(inputs.begin(), inputs.end(), [&](Atom a) { return a.is_var() && a.var().index == inner.index; }))
                    read(*body->jaxpr, {body->path, e}, inner, inside, out);
            }
        }
        if (out.size() == before) add({node, times}, out);  // handed on without being read
    }

private:
    static void add(InnerEnd end, std::vector<InnerEnd>& out) {
        if (std::none_of(out.begin(), out.end(), [&](const InnerEnd& e) { return e.node == end.node; })) out.push_back(end);
    }
    const GraphModel& model_;
    const VisibleGraph& graph_;
};

}  // namespace

InnerEnd made_at(const GraphModel& model, const VisibleGraph& graph, std::uint32_t eqn, std::uint32_t result) {
    if (const std::uint32_t node = graph.node_of_eqn[eqn]; !graph.nodes[node].expanded) return {node};
    return Ends(model, graph).made(model.root(), {{}, eqn}, result, 1);
}

std::vector<InnerEnd> read_at(const GraphModel& model, const VisibleGraph& graph, std::uint32_t eqn, Var var) {
    std::vector<InnerEnd> out;
    if (const std::uint32_t node = graph.node_of_eqn[eqn]; !graph.nodes[node].expanded) return {{node}};
    Ends(model, graph).read(model.root(), {{}, eqn}, var, 1, out);
    return out;
}

}  // namespace jaxscope
