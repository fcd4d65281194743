// SPDX-License-Identifier: Apache-2.0
#include "report/formats/graph_page.h"

#include <map>
#include <sstream>

#include "base/json_writer.h"
#include "base/units.h"
#include "picture/saved_values.h"
#include "picture/split_graph.h"
#include "report/formats/graph_page_script.h"
#include "report/page.h"

namespace jaxscope {

namespace {

constexpr const char* kStyle = R"(<style>
#graph{border:1px solid var(--rule);border-radius:6px;background:var(--panel);padding:8px}
.gbar{display:flex;flex-wrap:wrap;gap:6px;align-items:center}.gbar input{margin:0 0 0 auto;min-width:180px}
.gbar button,.gdetails button{font:inherit;padding:2px 10px;border:1px solid var(--rule);border-radius:4px;background:var(--canvas);color:var(--ink);cursor:pointer}
.gbar button[aria-pressed=true]{border-color:var(--known);font-weight:600}
svg.gview{width:100%;min-width:0;max-width:none;height:560px;margin:8px 0;touch-action:none;cursor:grab;user-select:none;background:var(--canvas);border-radius:4px}
.gview text{font:600 12px Inter,system-ui,sans-serif;fill:var(--ink)}.gview text.gdetail{font:11px "JetBrains Mono",monospace;fill:var(--muted)}
.gview text.gsaved{font:600 11px Inter,system-ui,sans-serif;fill:var(--residual-text)}
.gnode rect{fill:var(--panel);stroke:var(--rule)}.gframe rect{fill:none;stroke:var(--rule)}.gnode,.gframe{cursor:pointer;outline:none}
.gline{fill:none;stroke:var(--edge);stroke-opacity:.55}.gline.picked{stroke:var(--known);stroke-opacity:1}
.hit>rect:first-child{stroke:var(--residual);stroke-width:2.5}.picked>rect:first-child,.gnode:focus>rect:first-child,.gframe:focus>rect{stroke:var(--known);stroke-width:2.5}
.gdetails button{margin-left:12px;padding:0 8px}.gdetails{min-height:1.5em;overflow-wrap:anywhere}tr.picked{background:var(--hover);box-shadow:inset 3px 0 var(--known)}
</style>
)";

/// One graph as JSON: nodes are arrays, in the order that graph_page.js names.
class GraphJson {
public:
    GraphJson(JsonWriter& w, const GraphModel& model, const GraphMarks& marks, Depth depth)
        : w_(w), model_(model), marks_(marks), depth_(depth) {}

    void write(const char* name) {
        const VisibleGraph graph = model_.visible(model_.first_look(kMostGraphNodes));
        std::int64_t left_out = 0;  // equations in groups that stay closed
        for (const VisibleGraph::Node& node : graph.nodes)
            if (node.expandable && !node.expanded) left_out += node.equations;
        w_.begin_object();
        w_.entry("name", name);
        w_.entry("left_out", left_out);
        w_.key("nodes");
        w_.begin_array();
        for (const VisibleGraph::Node& node : graph.nodes) one(node);
        w_.end_array();
        w_.key("edges");
        w_.begin_array();
        for (const VisibleGraph::Edge& e : graph.edges) edge(e);
        w_.end_array();
        w_.key("open");
        w_.begin_array();
        for (const std::string& key : depth_ ? opened_groups(model_, depth_) : model_.first_look(40, marks_))
            if (const auto it = graph.by_key.find(key); it != graph.by_key.end()) w_.value(static_cast<std::int64_t>(it->second));
        w_.end_array();
        w_.key("lines");
        w_.begin_array();
        for (const std::string& line : lines_) w_.value(line);
        w_.end_array();
        w_.end_object();
    }

private:
    void one(const VisibleGraph::Node& node) {
        w_.begin_array();
        w_.value(printable(node.title));
        w_.value(printable(node.detail));
        w_.value(node.frame);
        w_.value(static_cast<int>(node.role));
        w_.value(node.bytes);
        const auto mark = marks_.find(node.key);
        w_.value(mark != marks_.end() && mark->second.saved_bytes > 0 ? bytes_text(mark->second.saved_bytes) : std::string());
        w_.value(line_of(node));
        w_.value(node.equations);
        w_.end_array();
    }
    void edge(const VisibleGraph::Edge& e) {
        w_.begin_array();
        w_.value(static_cast<std::int64_t>(e.from));
        w_.value(static_cast<std::int64_t>(e.to));
        w_.value(e.bytes);
        w_.value(static_cast<std::int64_t>(e.values));
        w_.value(e.tag ? 1 : 0);
        w_.end_array();
    }
    /// The user's line of an equation as a number, -1 for what has none.
    int line_of(const VisibleGraph::Node& node) {
        const auto path = node.equation();
        if (!path) return -1;
        const SourceLoc loc = resolve(model_.root(), *path).source.loc();
        if (loc.file.empty()) return -1;
        const auto [it, fresh] = number_.try_emplace(place(printable(loc.file), loc.line), static_cast<int>(lines_.size()));
        if (fresh) lines_.push_back(it->first);
        return it->second;
    }

    JsonWriter& w_;
    const GraphModel& model_;
    const GraphMarks& marks_;
    Depth depth_;
    std::map<std::string, int> number_;
    std::vector<std::string> lines_;
};

std::string graphs_json(const Inspection& inspection, Depth depth) {
    std::ostringstream text;
    JsonWriter w(text, false);
    w.begin_array();
    const Program& program = inspection.program();
    const GraphModel whole(program.jaxpr, Grouping::Auto, program.in_paths);
    bool differentiable = true;
    GraphMarks marks;
    try {
        marks = saved_marks(whole, saved_values(inspection));
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        differentiable = false;  // the page says why where its residuals would stand
    }
    GraphJson(w, whole, marks, depth).write("Program");
    if (differentiable) {
        const SplitGraph halves(inspection.split());
        GraphJson(w, halves.known(), {}, depth).write("Known (forward)");
        GraphJson(w, halves.unknown(), {}, depth).write("Unknown (backward)");
    }
    w.end_array();
    return text.str();
}

}  // namespace

void write_graph_page(std::ostream& out, const Inspection& inspection, Depth depth) {
    out << kStyle << "<div id=graph></div>\n<script type=\"application/json\" id=\"graph-data\">";
    for (const char c : graphs_json(inspection, depth)) {  // "</script>" in a name must not end the element
        if (c == '<')
            out << "\\u003c";
        else
            out << c;
    }
    out << "</script>\n<script>\n" << kGraphPageScript << "</script>\n";
}

}  // namespace jaxscope
