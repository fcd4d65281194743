// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/json_writer.h"
#include "base/units.h"
#include "picture/graph_model.h"
#include "picture/saved_values.h"
#include "report/explain_text.h"
#include "report/formats/formats.h"
#include "report/page.h"

namespace jaxscope {

namespace {

constexpr const char* kGraph = "program";

/// Namespaces are paths: a title must not look like one, and two groups of one title are two.
std::string path_part(const VisibleGraph::Node& node) {
    std::string title = node.title;
    std::replace(title.begin(), title.end(), '/', '|');
    return title + " (" + [&] {
        std::string key = node.key;
        std::replace(key.begin(), key.end(), '/', '.');
        return key;
    }() + ")";
}

class GraphWriter {
public:
    GraphWriter(std::ostream& out, const Program& program, const VisibleGraph& graph) : w_(out, false), program_(program), graph_(graph) {
        spaces_.resize(graph.nodes.size());
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
            const VisibleGraph::Node& node = graph.nodes[n];
            std::string around = node.frame < 0 ? "" : spaces_[static_cast<std::size_t>(node.frame)];
            if (node.expanded) around += (around.empty() ? "" : "/") + path_part(node);
            spaces_[n] = std::move(around);
        }
        for (std::size_t e = 0; e < graph.edges.size(); ++e) incoming_[graph.edges[e].to].push_back(e);
    }
    void write() {
        w_.begin_object();
        w_.entry("label", program_title(program_));
        w_.key("graphs");
        w_.begin_array();
        w_.begin_object();
        w_.entry("id", kGraph);
        w_.key("nodes");
        w_.begin_array();
        for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
            if (!graph_.nodes[n].expanded) node(n);
        w_.end_array();
        w_.end_object();
        w_.end_array();
        w_.end_object();
    }

private:
    void pair(const char* key, const std::string& value) {
        if (value.empty()) return;
        w_.begin_object();
        w_.entry("key", key);
        w_.entry("value", value);
        w_.end_object();
    }
    void node(std::uint32_t n) {
        const VisibleGraph::Node& node = graph_.nodes[n];
        w_.begin_object();
        w_.entry("id", node.key);
        w_.entry("label", node.title);
        w_.entry("namespace", spaces_[n]);
        w_.key("attrs");
        w_.begin_array();
        pair("makes", node.detail);
        pair("bytes", bytes_text(node.bytes));
        if (const auto path = node.equation()) source(resolve(*program_.jaxpr, *path));
        w_.end_array();
        w_.key("incomingEdges");
        w_.begin_array();
        if (const auto it = incoming_.find(n); it != incoming_.end())
            for (const std::size_t e : it->second) edge(graph_.edges[e]);
        w_.end_array();
        w_.key("outputsMetadata");
        w_.begin_array();
        w_.begin_object();
        w_.entry("id", "0");
        w_.key("attrs");
        w_.begin_array();
        pair("shape", node.detail);
        w_.end_array();
        w_.end_object();
        w_.end_array();
        w_.end_object();
    }
    void source(const Eqn& eqn) {
        if (const SourceLoc loc = eqn.source.loc(); !loc.file.empty()) pair("line", place(loc.file, loc.line));
    }
    void edge(const VisibleGraph::Edge& e) {
        if (graph_.nodes[e.from].expanded) return;  // from a container: its own inside brings the line
        w_.begin_object();
        w_.entry("sourceNodeId", graph_.nodes[e.from].key);
        w_.entry("sourceNodeOutputId", "0");
        w_.entry("targetNodeInputId", "0");
        w_.end_object();
    }

    JsonWriter w_;
    const Program& program_;
    const VisibleGraph& graph_;
    std::vector<std::string> spaces_;
    std::map<std::uint32_t, std::vector<std::size_t>> incoming_;
};

VisibleGraph whole_graph(const Program& program) {
    const GraphModel model(program.jaxpr, Grouping::Auto, program.in_paths);
    return model.visible(model.first_look(SIZE_MAX));
}

/// The node that shows what an equation makes. A call is opened, and has none of its own: the results of its jaxpr stand for it.
std::string node_of(const VisibleGraph& graph, const std::string& equation) {
    const auto it = graph.by_key.find(equation);
    if (it == graph.by_key.end() || !graph.nodes[it->second].expanded) return equation;
    for (std::uint32_t n = it->second; n < graph.nodes.size(); ++n) {
        const VisibleGraph::Node& node = graph.nodes[n];
        if (node.kind == GraphItem::Kind::Results && node.key.starts_with(equation + "/")) return node.key;
    }
    return "";
}

}  // namespace

void write_model_explorer(std::ostream& out, const Inspection& inspection) {
    const VisibleGraph graph = whole_graph(inspection.program());
    GraphWriter(out, inspection.program(), graph).write();
    out << '\n';
}

void write_model_explorer_data(std::ostream& out, const Inspection& inspection) {
    const VisibleGraph graph = whole_graph(inspection.program());
    std::map<std::string, std::int64_t> saved;  // arguments and constants are kept anyway
    for (const SavedValue& v : saved_values(inspection))
        if (v.program) saved[node_of(graph, to_text(*v.program))] += v.bytes;
    saved.erase("");
    JsonWriter w(out, false);
    w.begin_object();
    w.key(kGraph);
    w.begin_object();
    w.entry("name", "bytes that the backward pass keeps");
    w.key("results");
    w.begin_object();
    for (const auto& [equation, bytes] : saved) {
        w.key(equation);
        w.begin_object();
        w.entry("value", bytes);
        w.end_object();
    }
    w.end_object();
    w.key("gradient");
    w.begin_array();
    for (const auto& [stop, colour] : {std::pair{0, "#fff3d6"}, std::pair{1, "#c2410c"}}) {
        w.begin_object();
        w.entry("stop", stop);
        w.entry("bgColor", colour);
        w.end_object();
    }
    w.end_array();
    w.end_object();
    w.end_object();
    out << '\n';
}

}  // namespace jaxscope
