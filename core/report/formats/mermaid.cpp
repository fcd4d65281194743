#include <fmt/format.h>

#include "analysis/graph/graph_model.h"
#include "analysis/split_graph.h"
#include "base/units.h"
#include "report/formats/formats.h"

namespace jaxscope {

namespace {

/// Text in a quoted label. Mermaid reads labels as HTML and Markdown: what those would take for themselves becomes a character's number.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : printable(text, 200)) {
        if (std::string_view("\"<>&#`*_\\;").find(c) != std::string_view::npos)
            out += fmt::format("#{};", static_cast<int>(c));
        else
            out += c;
    }
    return out + '"';
}

const char* class_of(Role role) {
    switch (role) {
        case Role::Backward:
            return "backward";
        case Role::Recomputed:
            return "recomputed";
        default:
            return "forward";
    }
}

class MermaidWriter {
public:
    explicit MermaidWriter(std::ostream& out) : out_(out) { out_ << "flowchart TB\n"; }
    void graph(const VisibleGraph& g, const std::string& prefix) {
        std::vector<int> open;
        for (std::size_t n = 0; n < g.nodes.size(); ++n) {
            const VisibleGraph::Node& node = g.nodes[n];
            for (; !open.empty() && open.back() != node.frame; open.pop_back()) out_ << "  end\n";
            if (node.expanded) {
                subgraph(prefix + std::to_string(n), node.title);
                open.push_back(static_cast<int>(n));
                continue;
            }
            const std::string detail = quoted(node.detail), title = quoted(node.title);
            out_ << "  " << prefix << n << '['
                 << (node.detail.empty() ? title : title.substr(0, title.size() - 1) + "<br/>" + detail.substr(1))
                 << "]:::" << class_of(node.role) << '\n';
        }
        for (std::size_t k = 0; k < open.size(); ++k) out_ << "  end\n";
        for (const VisibleGraph::Edge& e : g.edges)
            if (!g.nodes[e.from].expanded && !g.nodes[e.to].expanded)
                out_ << fmt::format("  {0}{1} -->|{2}| {0}{3}\n", prefix, e.from, quoted(bytes_text(e.bytes)), e.to);
    }
    void subgraph(const std::string& id, const std::string& title) { out_ << "  subgraph " << id << "s[" << quoted(title) << "]\n"; }
    void end() { out_ << "  end\n"; }
    void residual(std::uint32_t from, std::uint32_t to, const std::string& text) {
        out_ << fmt::format("  known{} ==>|{}| unknown{}\n", from, quoted(text), to);
    }
    void classes() {
        out_ << "  classDef backward stroke:#b4690e\n  classDef recomputed stroke-dasharray:4 3\n  classDef forward stroke:#2f6f9f\n";
    }

private:
    std::ostream& out_;
};

}  // namespace

void write_mermaid(std::ostream& out, const Inspection& inspection, const std::string& what) {
    if (what != "program" && what != "split")
        throw Error(ErrorCode::BadUsage, "expected --what program or split, found '" + printable(what) + "'");
    if (what == "program") {
        const Program& program = inspection.program();
        const GraphModel model(program.jaxpr, Grouping::Auto, program.in_paths);
        MermaidWriter w(out);
        w.graph(model.visible(model.first_look()), "n");
        return w.classes();
    }
    const SplitGraph graph(inspection.split());
    const SplitPicture picture = graph.picture(graph.known().first_look(24), graph.unknown().first_look(24));
    MermaidWriter w(out);
    w.subgraph("known", "known, forward");
    w.graph(picture.known, "known");
    w.end();
    w.subgraph("unknown", "unknown, backward");
    w.graph(picture.unknown, "unknown");
    w.end();
    for (const SplitPicture::Crossing& c : picture.crossings)
        if (!picture.known.nodes[c.from].expanded && !picture.unknown.nodes[c.to].expanded) w.residual(c.from, c.to, c.label);
    w.classes();
}

}  // namespace jaxscope
