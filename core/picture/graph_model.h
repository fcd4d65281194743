// SPDX-License-Identifier: Apache-2.0
#pragma once
// A jaxpr as a picture. Comes in: a jaxpr and which groups are open. Goes out: nodes, lines and their places.
// Never here: pixels, colours, Qt, and any number that analysis doesn't hold. `split_graph` puts a split's two pictures together.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/equations/eqn_path.h"
#include "picture/scope_tree.h"

namespace jaxscope {

/// Something that a graph or an outline shows. Keys are stable: the same place of the same program has the same key in every view.
/// An equation's key is its EqnPath; "12/jaxpr/3-19" is a group of the equations [3, 19), "12/jaxpr/*" a whole nested jaxpr,
/// "12/jaxpr/in" and "12/jaxpr/out" its inputs and results, "12/jaxpr/in3" its input number 3.
struct GraphItem {
    enum class Kind : std::uint8_t {
        Equation,  ///< without jaxprs
        Call,      ///< an equation that holds jaxprs
        Group,     ///< consecutive equations
        Body,      ///< one of the several jaxprs of a call
        Inputs,
        Input,
        Results,
    };
    Kind kind = Kind::Equation;
    std::string key;
    std::string title;   ///< "dot_general", "jit silu", "attention"
    std::string detail;  ///< what it makes: "f32[4,16]"; groups also "22 equations"
    JaxprPath jaxpr_path;
    const Jaxpr* jaxpr = nullptr;  ///< in which the equations stand
    std::uint32_t begin = 0, end = 0;
    std::uint32_t scope = 0;     ///< Group: in the jaxpr's scope tree
    std::int64_t equations = 0;  ///< recursive
    std::int64_t bytes = 0;      ///< of what it makes; for groups of what their equations make in all
    Role role = Role::Plain;     ///< groups: that of all their equations, or Plain
    bool expandable = false;

    std::optional<EqnPath> equation() const {
        if (kind != Kind::Equation && kind != Kind::Call) return {};
        return EqnPath{jaxpr_path, begin};
    }
};

/// What of a program is saved for its backward pass, told of an equation and of every group around it.
struct GraphMark {
    std::int64_t saved_bytes = 0;
    std::int64_t saved_values = 0;
};
using GraphMarks = std::unordered_map<std::string, GraphMark>;  ///< by GraphItem::key

/// What is to be drawn for a set of expanded items. Nodes stand in program order, containers before what they contain.
struct VisibleGraph {
    static constexpr int kTop = -1;
    struct Node : GraphItem {
        int frame = kTop;  ///< the expanded node around it
        bool expanded = false;
        GraphMark mark;
        std::string badge;  ///< what else is to be said of it, where there is no mark
    };
    /// Values that go from one node to another. Where the two don't stand in one frame, the line is drawn between their outermost
    /// containers that do (`from_top`, `to_top`), and tags at the ends tell the rest.
    struct Edge {
        std::uint32_t from = 0, to = 0;
        std::uint32_t from_top = 0, to_top = 0;
        std::int64_t bytes = 0;
        std::uint32_t values = 0;
        AvalRef aval;       ///< of the first value
        std::string label;  ///< name of the first value where it has one (inputs)
        bool tag = false;   ///< never drawn as a line: comes from a crowd of inputs or goes to a crowd of results
    };
    static constexpr std::uint32_t kNone = ~0u;
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::unordered_map<std::string, std::uint32_t> by_key;
    std::vector<std::uint32_t> node_of_eqn;    ///< of the root's equations
    std::vector<std::uint32_t> node_of_input;  ///< of the root's constvars and invars; kNone where nothing reads them or they are hidden
};

/// How the root is to be shown when it is one half of a split. Empty vectors: nothing special.
struct VisibleOptions {
    std::vector<bool> hidden_inputs;  ///< per constvar and invar: gets neither node nor lines (residuals, drawn across the boundary)
    std::vector<bool> linear_inputs;  ///< per constvar and invar: a tangent. What depends on none is recomputed
    std::vector<bool> shown_results;  ///< per result
    std::size_t input_nodes = 6;      ///< more inputs than that are one node and tags at their readers
};

struct GraphIndex;

/// The collapsible hierarchy of a program. Nothing is built before it is asked for, so a million equations open at once; no level
/// has more than kMaxLevelSize items. May be asked from several threads; what one of them builds, the others wait for.
class GraphModel {
public:
    /// `input_names`: of the root's invars, or empty.
    explicit GraphModel(JaxprPtr root, Grouping grouping = Grouping::Auto, std::vector<Sym> input_names = {});

    const Jaxpr& root() const { return *root_; }
    GraphItem root_item() const;
    /// What an expandable item holds, in program order; inputs and results left out.
    std::vector<GraphItem> children(const GraphItem& item) const;
    VisibleGraph visible(const std::set<std::string>& expanded, const VisibleOptions& options = {}) const;
    /// The equation that makes a variable of `jaxpr`, or kNone for its inputs.
    std::uint32_t producer(const Jaxpr& jaxpr, Var var) const;
    /// "params['w']", "x"; "constant" for constvars. `input` counts constvars and invars.
    Sym input_name(const Jaxpr& jaxpr, std::uint32_t input) const;
    /// Keys of all items around an equation, outermost first; the equation itself last.
    std::vector<std::string> keys_around(const EqnPath& path) const;
    /// Keys to expand so that a small program shows its structure, a large one its top level: as many levels as fit `budget` nodes.
    std::set<std::string> first_look(std::size_t budget = 40) const;
    /// The same by what matters: groups that hold most of what is saved are opened, of alike groups the first one, the rest stays closed.
    std::set<std::string> first_look(std::size_t budget, const GraphMarks& marks) const;

private:
    const GraphIndex& index(const Jaxpr& jaxpr) const;
    /// `around`: what the calls around the jaxpr say of it.
    GraphItem equation_item(const Jaxpr& jaxpr, const JaxprPath& path, std::uint32_t eqn, Role around) const;
    GraphItem scope_item(const Jaxpr& jaxpr, const JaxprPath& path, std::uint32_t scope, Role around) const;
    std::vector<GraphItem> level(const Jaxpr& jaxpr, const JaxprPath& path, std::uint32_t scope) const;
    std::int64_t equations(const Jaxpr& jaxpr) const;

    friend class VisibleBuilder;
    JaxprPtr root_;
    Grouping grouping_;
    std::vector<Sym> input_names_;
    mutable std::recursive_mutex building_;  ///< of what stands below: an index counts the equations of nested jaxprs
    mutable std::unordered_map<const Jaxpr*, std::shared_ptr<GraphIndex>> indices_;
    mutable std::unordered_map<const Jaxpr*, std::int64_t> counts_;
};

/// What an equation is called: its primitive, and the user's name for it where there is one ("jit silu", "name attn_out", "scan x8").
std::string equation_title(const Eqn& eqn);
/// "f32[4,16]", "f32[4] +2".
std::string results_text(const Jaxpr& jaxpr, const Eqn& eqn);

}  // namespace jaxscope
