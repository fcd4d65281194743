// SPDX-License-Identifier: Apache-2.0
// jaxscope-layout: lays out levels of graphs with Graphviz's dot, in a process of its own, because dot may take very long and has been
// seen to abort. Requests on standard input, answers on standard output, each followed by a line "end" (picture/layout.h has the
// text).
#include <gvc.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/error.h"
#include "picture/layout.h"

namespace {

using jaxscope::LevelGraph;
using jaxscope::LevelLayout;
using jaxscope::Point;

constexpr double kPointsPerInch = 72;  // dot counts in points, node sizes in inches; one of our pixels is one point

void set(void* object, const char* name, const std::string& value) {
    agsafeset(object, const_cast<char*>(name), const_cast<char*>(value.c_str()), const_cast<char*>(""));
}

std::string inches(double pixels) { return std::to_string(pixels / kPointsPerInch); }

/// A node whose axis isn't in its middle is a table of three cells; edges go to the middle one.
std::string lopsided_label(const LevelGraph::Node& node) {
    const auto cell = [&](double width, const char* port) {
        return "<TD" + std::string(port) + " FIXEDSIZE=\"TRUE\" WIDTH=\"" + std::to_string(static_cast<int>(width)) + "\" HEIGHT=\"" +
               std::to_string(static_cast<int>(node.height)) + "\"></TD>";
    };
    const double reach = std::min(node.left, node.right);
    return "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR>" +
           (node.left > reach ? cell(node.left - reach, "") : "") + cell(2 * reach, " PORT=\"p\"") +
           (node.right > reach ? cell(node.right - reach, "") : "") + "</TR></TABLE>";
}

class Dot {
public:
    Dot() : context_(gvContext()) {}
    ~Dot() { gvFreeContext(context_); }
    Dot(const Dot&) = delete;
    Dot& operator=(const Dot&) = delete;

    LevelLayout run(const LevelGraph& graph, const jaxscope::LayoutOptions& options) {
        Agraph_t* g = agopen(const_cast<char*>("level"), Agdirected, nullptr);
        set(g, "nodesep", inches(options.node_gap));
        set(g, "ranksep", inches(options.rank_gap));
        set(g, "splines", "true");
        // Measured: crossing reduction over virtual nodes is what takes time; these bounds cost little quality.
        set(g, "nslimit", "1");
        set(g, "nslimit1", "1");
        set(g, "mclimit", "0.5");
        std::vector<Agnode_t*> nodes;
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) nodes.push_back(add_node(g, graph.nodes[n], n));
        std::vector<Agedge_t*> edges;
        for (const auto& e : graph.edges) {
            Agedge_t* edge = agedge(g, nodes[e.from], nodes[e.to], nullptr, 1);
            set(edge, "weight", std::to_string(static_cast<int>(e.weight * 2)));
            set(edge, "arrowhead", "none");
            set(edge, "tailport", lopsided(graph.nodes[e.from]) ? "p:s" : "s");
            set(edge, "headport", lopsided(graph.nodes[e.to]) ? "p:n" : "n");
            edges.push_back(edge);
        }
        if (gvLayout(context_, g, "dot") != 0) throw jaxscope::Error(jaxscope::ErrorCode::CannotRun, "dot gave up");
        LevelLayout layout = read(g, graph, nodes, edges);
        gvFreeLayout(context_, g);
        agclose(g);
        return layout;
    }

private:
    static bool lopsided(const LevelGraph::Node& node) { return node.left != node.right; }

    static Agnode_t* add_node(Agraph_t* g, const LevelGraph::Node& node, std::size_t number) {
        Agnode_t* made = agnode(g, const_cast<char*>(std::to_string(number).c_str()), 1);
        set(made, "shape", lopsided(node) ? "plain" : "box");
        if (lopsided(node)) {
            char* html = agstrdup_html(g, const_cast<char*>(lopsided_label(node).c_str()));
            agsafeset(made, const_cast<char*>("label"), html, const_cast<char*>(""));
        } else {
            set(made, "label", "");
            set(made, "fixedsize", "true");
            set(made, "width", inches(node.left + node.right));
            set(made, "height", inches(node.height));
        }
        return made;
    }

    static LevelLayout read(Agraph_t* g, const LevelGraph& graph, const std::vector<Agnode_t*>& nodes,
                            const std::vector<Agedge_t*>& edges) {
        LevelLayout layout;
        const boxf box = GD_bb(g);
        layout.width = box.UR.x - box.LL.x;
        layout.height = box.UR.y - box.LL.y;
        const auto place = [&](pointf p) { return Point{p.x - box.LL.x, box.UR.y - p.y}; };  // dot's y goes up
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const Point middle = place(ND_coord(nodes[n]));
            const LevelGraph::Node& node = graph.nodes[n];
            layout.axis.push_back({middle.x - (node.left + node.right) / 2 + node.left, middle.y - node.height / 2});
        }
        for (std::size_t e = 0; e < edges.size(); ++e) {
            auto& points = layout.routes.emplace_back();
            const splines* curve = ED_spl(edges[e]);
            if (curve == nullptr || curve->size == 0) continue;
            const bezier& b = curve->list[0];
            for (int k = 0; k < b.size; ++k) points.push_back(place(b.list[k]));
            // Ends exactly at the boxes: dot leaves gaps for arrowheads and pads ports.
            const LevelGraph::Edge& edge = graph.edges[e];
            points.front() = {layout.axis[edge.from].x, layout.axis[edge.from].y + graph.nodes[edge.from].bottom};
            points.back() = {layout.axis[edge.to].x, layout.axis[edge.to].y + graph.nodes[edge.to].top};
        }
        return layout;
    }

    GVC_t* context_;
};

}  // namespace

int main() {
    Dot dot;
    std::string request, line;
    while (std::getline(std::cin, line)) {
        if (line != "end") {
            request += line + '\n';
            continue;
        }
        std::string answer;
        try {
            answer = jaxscope::write_layout(dot.run(jaxscope::read_level(request), {}));
        } catch (const jaxscope::Error& e) {
            answer = std::string("error ") + e.fact() + '\n';
        } catch (const std::exception& e) {
            answer = std::string("error ") + e.what() + '\n';
        }
        answer += "end\n";
        std::fwrite(answer.data(), 1, answer.size(), stdout);
        std::fflush(stdout);
        request.clear();
    }
    return 0;
}
