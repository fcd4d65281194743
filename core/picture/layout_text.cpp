// SPDX-License-Identifier: Apache-2.0
// The layout worker's protocol, one record a line:
//   request   level NODES EDGES    node LEFT RIGHT HEIGHT TOP BOTTOM    edge FROM TO WEIGHT
//   answer    layout WIDTH HEIGHT  node X Y    edge N X Y X Y ...
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "picture/layout.h"

namespace jaxscope {
namespace {

constexpr std::size_t kMostRecords = 10'000'000;  // a count beyond is garbage, not a graph

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}
    void keyword(std::string_view expected) {
        const std::string_view found = word();
        if (found != expected) fail(std::string(expected), found);
    }
    double number() {
        const std::string_view found = word();
        double value = 0;
        const auto [end, failed] = std::from_chars(found.data(), found.data() + found.size(), value);
        if (found.empty() || failed != std::errc() || end != found.data() + found.size() || !std::isfinite(value)) fail("a number", found);
        return value;
    }
    std::size_t count(std::size_t limit = kMostRecords) {
        const double value = number();
        if (value < 0 || value > static_cast<double>(limit) || value != std::floor(value)) fail("a count", std::to_string(value));
        return static_cast<std::size_t>(value);
    }

private:
    std::string_view word() {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) {
            if (text_[0] == '\n') ++line_;
            text_.remove_prefix(1);
        }
        const std::size_t end = std::min(text_.find_first_of(" \n"), text_.size());
        const std::string_view found = text_.substr(0, end);
        text_.remove_prefix(end);
        return found;
    }
    [[noreturn]] void fail(const std::string& expected, std::string_view found) const {
        throw Error(ErrorCode::BadInput,
                    "layout text, line " + std::to_string(line_) + ": expected " + expected + ", found '" + printable(found, 40) + "'");
    }
    std::string_view text_;
    int line_ = 1;
};

void put(std::string& out, double value) {
    char buffer[32];
    const auto [end, failed] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 2);
    out += ' ';
    if (failed == std::errc())
        out.append(buffer, end);
    else
        out += '0';
}

}  // namespace

std::string write_level(const LevelGraph& graph) {
    std::string out = "level " + std::to_string(graph.nodes.size()) + ' ' + std::to_string(graph.edges.size()) + '\n';
    for (const auto& node : graph.nodes) {
        out += "node";
        for (const double v : {node.left, node.right, node.height, node.top, node.bottom}) put(out, v);
        out += '\n';
    }
    for (const auto& edge : graph.edges) {
        out += "edge " + std::to_string(edge.from) + ' ' + std::to_string(edge.to);
        put(out, edge.weight);
        out += '\n';
    }
    return out;
}

LevelGraph read_level(std::string_view text) {
    Reader in(text);
    LevelGraph graph;
    in.keyword("level");
    const std::size_t nodes = in.count(), edges = in.count();
    for (std::size_t n = 0; n < nodes; ++n) {
        in.keyword("node");
        LevelGraph::Node node;
        for (double* v : {&node.left, &node.right, &node.height, &node.top, &node.bottom}) *v = in.number();
        graph.nodes.push_back(node);
    }
    for (std::size_t e = 0; e < edges; ++e) {
        in.keyword("edge");
        const std::size_t from = in.count(nodes), to = in.count(nodes);
        if (from >= to || to >= nodes) throw Error(ErrorCode::BadInput, "layout text: expected edges from a node to a later one");
        graph.edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), in.number()});
    }
    return graph;
}

std::string write_layout(const LevelLayout& layout) {
    std::string out = "layout";
    put(out, layout.width);
    put(out, layout.height);
    out += '\n';
    for (const Point& p : layout.axis) {
        out += "node";
        put(out, p.x);
        put(out, p.y);
        out += '\n';
    }
    for (const auto& points : layout.routes) {
        out += "edge " + std::to_string(points.size());
        for (const Point& p : points) {
            put(out, p.x);
            put(out, p.y);
        }
        out += '\n';
    }
    return out;
}

LevelLayout read_layout(std::string_view text, std::size_t nodes, std::size_t edges) {
    Reader in(text);
    LevelLayout layout;
    in.keyword("layout");
    layout.width = in.number();
    layout.height = in.number();
    for (std::size_t n = 0; n < nodes; ++n) {
        in.keyword("node");
        Point p{in.number(), 0};
        p.y = in.number();
        layout.axis.push_back(p);
    }
    for (std::size_t e = 0; e < edges; ++e) {
        in.keyword("edge");
        auto& points = layout.routes.emplace_back();
        for (std::size_t k = in.count(); k > 0; --k) {
            Point p{in.number(), 0};
            p.y = in.number();
            points.push_back(p);
        }
    }
    return layout;
}

}  // namespace jaxscope
