// SPDX-License-Identifier: Apache-2.0
#include "report/formats/graph_text.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "base/units.h"
#include "picture/split_graph.h"

namespace jaxscope {

bool is_split(const std::string& what) {
    if (what != "split" && what != "program")
        throw unknown_name(ErrorCode::BadUsage, "expected --what program or split", what, {"program", "split"});
    return what == "split";
}

void GraphText::write(const Inspection& inspection, const std::string& what, Depth depth) {
    const Program& program = inspection.program();
    if (is_split(what)) {
        const SplitReport& report = inspection.split();
        begin(fmt::format("{}: {} residuals, {}", report.residuals.region_name.empty() ? program.name.str() : report.residuals.region_name,
                          report.num_residuals, bytes_text(report.residuals.total_bytes)));
        return split(report, depth);
    }
    begin(program.name.str());
    const GraphModel model(program.jaxpr, Grouping::Auto, program.in_paths);
    graph(model.visible(opened_groups(model, depth)), "n");
}

/// Nodes come containers first: a container stays open until a node of another frame comes.
void GraphText::graph(const VisibleGraph& g, const std::string& prefix) {
    const auto id = [&](std::size_t n) { return prefix + std::to_string(n); };
    std::vector<int> opened;  // frames, outermost first
    for (std::size_t n = 0; n < g.nodes.size(); ++n) {
        const VisibleGraph::Node& shown = g.nodes[n];
        for (; !opened.empty() && opened.back() != shown.frame; opened.pop_back()) close();
        if (!shown.expanded) {
            node(id(n), shown);
            continue;
        }
        open(id(n), shown);
        opened.push_back(static_cast<int>(n));
    }
    for (std::size_t k = 0; k < opened.size(); ++k) close();
    for (const VisibleGraph::Edge& e : g.edges)
        if (!g.nodes[e.from].expanded && !g.nodes[e.to].expanded) edge(id(e.from), id(e.to), bytes_text(e.bytes));
}

void GraphText::split(const SplitReport& report, Depth depth) {
    const SplitGraph halves(report);
    const SplitPicture picture = halves.picture(opened_groups(halves.known(), depth, 24), opened_groups(halves.unknown(), depth, 24));
    half("known", "known, forward");
    graph(picture.known, "known");
    close();
    half("unknown", "unknown, backward");
    graph(picture.unknown, "unknown");
    close();
    for (const SplitPicture::Crossing& c : picture.crossings)
        if (!picture.known.nodes[c.from].expanded && !picture.unknown.nodes[c.to].expanded)
            residual("known" + std::to_string(c.from), "unknown" + std::to_string(c.to), c.label);
}

}  // namespace jaxscope
