#include "report/dot.h"

#include <fmt/format.h>

#include "analysis/graph/graph_model.h"
#include "analysis/split_graph.h"
#include "base/units.h"
#include "report/palette.h"

namespace jaxscope {

namespace {

/// A quoted string of the dot language. Backslashes would be escapes of labels; control characters stand as \xNN already.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : printable(text, 400)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}
std::string label(const std::string& title, const std::string& detail) {
    const std::string first = quoted(title), second = quoted(detail);
    return detail.empty() ? first : first.substr(0, first.size() - 1) + "\\n" + second.substr(1);
}

class DotWriter {
public:
    explicit DotWriter(const Palette& palette) : p_(palette) {}

    void begin(const std::string& title) {
        out_ += "digraph program {\n";
        out_ += fmt::format(
            "  graph [rankdir=TB, compound=true, fontname=\"Helvetica\", bgcolor=\"{}\", fontcolor=\"{}\", label={}, labelloc=t];\n",
            p_.canvas, p_.ink, quoted(title));
        out_ += fmt::format(
            "  node [shape=box, style=\"filled,rounded\", fillcolor=\"{}\", fontname=\"Helvetica\", fontsize=11, fontcolor=\"{}\"];\n",
            p_.panel, p_.ink);
        out_ += fmt::format("  edge [color=\"{}\", fontname=\"Helvetica\", fontsize=9, fontcolor=\"{}\"];\n", p_.edge, p_.muted);
    }
    std::string finish() && { return std::move(out_) + "}\n"; }

    /// Nodes come containers first: a container's cluster stays open until a node of another frame comes.
    void graph(const VisibleGraph& g, const std::string& prefix) {
        std::vector<int> open;  // frames, outermost first
        for (std::size_t n = 0; n < g.nodes.size(); ++n) {
            const VisibleGraph::Node& node = g.nodes[n];
            while (!open.empty() && open.back() != node.frame) {
                open.pop_back();
                out_ += "  }\n";
            }
            if (node.expanded) {
                open_cluster(prefix + std::to_string(n), node.title, role_colour(p_, node.role));
                open.push_back(static_cast<int>(n));
                continue;
            }
            out_ += fmt::format("  {}{} [label={}, color=\"{}\"{}];\n", prefix, n, label(node.title, node.detail),
                                role_colour(p_, node.role), node.role == Role::Recomputed ? ", style=\"filled,rounded,dashed\"" : "");
        }
        for (std::size_t k = 0; k < open.size(); ++k) out_ += "  }\n";
        for (const VisibleGraph::Edge& e : g.edges) {
            if (g.nodes[e.from].expanded || g.nodes[e.to].expanded) continue;
            out_ += fmt::format("  {0}{1} -> {0}{2} [label={3}];\n", prefix, e.from, e.to, quoted(bytes_text(e.bytes)));
        }
    }
    void open_cluster(const std::string& name, const std::string& title, const char* colour) {
        out_ += fmt::format("  subgraph cluster_{} {{\n  label={}; color=\"{}\"; fontcolor=\"{}\";\n", name, quoted(title), colour, p_.ink);
    }
    void close_cluster() { out_ += "  }\n"; }
    void residual(std::uint32_t from, std::uint32_t to, const std::string& text) {
        out_ += fmt::format("  known{} -> unknown{} [label={}, color=\"{}\", fontcolor=\"{}\", penwidth=2.5];\n", from, to, quoted(text),
                            p_.residual, p_.residual_text);
    }

private:
    const Palette& p_;
    std::string out_;
};

void write_split(DotWriter& w, const SplitReport& split) {
    const SplitGraph graph(split);
    const SplitPicture picture = graph.picture(graph.known().first_look(24), graph.unknown().first_look(24));
    w.open_cluster("known", "known, forward", light_palette().known);
    w.graph(picture.known, "known");
    w.close_cluster();
    w.open_cluster("unknown", "unknown, backward", light_palette().unknown);
    w.graph(picture.unknown, "unknown");
    w.close_cluster();
    for (const SplitPicture::Crossing& c : picture.crossings)
        if (!picture.known.nodes[c.from].expanded && !picture.unknown.nodes[c.to].expanded) w.residual(c.from, c.to, c.label);
}

}  // namespace

std::string inspection_dot(const Inspection& inspection, const std::string& what) {
    DotWriter w(light_palette());
    const Program& program = inspection.program();
    if (what == "split") {
        const SplitReport& split = inspection.split();
        w.begin(fmt::format("{}: {} residuals, {}", split.residuals.region_name.empty() ? program.name.str() : split.residuals.region_name,
                            split.num_residuals, bytes_text(split.residuals.total_bytes)));
        write_split(w, split);
    } else if (what == "program") {
        w.begin(program.name.str());
        const GraphModel model(program.jaxpr, Grouping::Auto, program.in_paths);
        w.graph(model.visible(model.first_look()), "n");
    } else {
        throw Error(ErrorCode::BadUsage, "expected --what program or split, found '" + printable(what) + "'");
    }
    return std::move(w).finish();
}

}  // namespace jaxscope
