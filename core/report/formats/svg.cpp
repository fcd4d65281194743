// SPDX-License-Identifier: Apache-2.0
#include "report/formats/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/units.h"

namespace jaxscope {
namespace {

using namespace graph_style;

constexpr double kMargin = 24, kHead = 64, kFoot = 40;

/// Cuts UTF-8 text to a width, with an ellipsis.
std::string fitted(const std::string& text, double width, double advance) {
    const auto room = static_cast<std::size_t>(std::max(1.0, width / advance));
    std::size_t count = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((text[i] & 0xC0) == 0x80) continue;
        if (++count > room) return text.substr(0, i) + "\u2026";
    }
    return text;
}

/// On dark pages every colour of the light palette is shown as its counterpart: drawings carry colours as plain attributes, which other
/// programs than browsers read too.
std::string dark_style() {
    const Palette &light = light_palette(), &dark = dark_palette();
    std::string css;
    for (const auto member : {&Palette::known, &Palette::unknown, &Palette::recomputed, &Palette::residual, &Palette::donated,
                              &Palette::canvas, &Palette::panel, &Palette::ink, &Palette::muted, &Palette::rule, &Palette::known_canvas,
                              &Palette::unknown_canvas, &Palette::known_text, &Palette::unknown_text, &Palette::recomputed_text,
                              &Palette::residual_text, &Palette::donated_text, &Palette::edge})
        for (const char* property : {"fill", "stroke"})
            css += std::string("svg [") + property + "=\"" + light.*member + "\"]{" + property + ":" + dark.*member + "}";
    return "<style>@media(prefers-color-scheme:dark){" + css + "}</style>\n";
}

class Svg {
public:
    Svg(double width, double height, const Palette& palette) : p(palette) {
        out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + num(width) + ' ' + num(height) + "\" width=\"" + num(width) +
               "\" height=\"" + num(height) + "\" font-family=\"Inter, 'Helvetica Neue', Arial, sans-serif\">\n";
        if (&palette == &light_palette()) out_ += dark_style();
        rect({0, 0, width, height}, p.canvas, "none", 0);
    }
    void rect(const Rect& r, std::string_view fill, std::string_view stroke, double radius, double width = 1, bool dashed = false) {
        out_ += "<rect x=\"" + num(r.x) + "\" y=\"" + num(r.y) + "\" width=\"" + num(r.w) + "\" height=\"" + num(r.h) + "\" rx=\"" +
                num(radius) + "\" fill=\"";
        out_ += fill;
        out_ += "\" stroke=\"";
        out_ += stroke;
        out_ += "\" stroke-width=\"" + num(width) + (dashed ? "\" stroke-dasharray=\"4 3\"/>\n" : "\"/>\n");
    }
    struct Font {
        double size = kTitleSize;
        bool bold = false, mono = false;
        const char* anchor = "start";
    };
    void text(double x, double y, const std::string& content, std::string_view fill, const Font& font, const std::string& tooltip = {}) {
        out_ += "<text x=\"" + num(x) + "\" y=\"" + num(y) + "\" font-size=\"" + num(font.size) + "\" fill=\"";
        out_ += fill;
        out_ += '"';
        if (font.bold) out_ += " font-weight=\"600\"";
        if (font.mono) out_ += " font-family=\"'JetBrains Mono', Menlo, Consolas, monospace\"";
        if (font.anchor[0] != 's') out_ += std::string(" text-anchor=\"") + font.anchor + '"';
        out_ += '>' + xml_escape(content);
        if (!tooltip.empty()) out_ += "<title>" + xml_escape(tooltip) + "</title>";
        out_ += "</text>\n";
    }
    void path(const std::string& data, std::string_view stroke, double width, bool dashed = false) {
        out_ += "<path d=\"" + data + "\" fill=\"none\" stroke=\"";
        out_ += stroke;
        out_ += "\" stroke-width=\"" + num(width) + (dashed ? "\" stroke-dasharray=\"5 4\"/>\n" : "\"/>\n");
    }
    void arrow_head(Point tip, Point direction, std::string_view fill, double size) {
        const double length = std::hypot(direction.x, direction.y);
        if (length == 0) return;
        const Point d{direction.x / length * size, direction.y / length * size};
        out_ += "<path d=\"M" + pair(tip) + "L" + pair({tip.x - d.x - d.y * 0.5, tip.y - d.y + d.x * 0.5}) + "L" +
                pair({tip.x - d.x + d.y * 0.5, tip.y - d.y - d.x * 0.5}) + "Z\" fill=\"";
        out_ += fill;
        out_ += "\"/>\n";
    }
    void open_group(double x, double y) { out_ += "<g transform=\"translate(" + num(x) + ',' + num(y) + ")\">\n"; }
    void close_group() { out_ += "</g>\n"; }
    std::string finish() && { return std::move(out_) + "</svg>\n"; }

    static std::string num(double v) {
        std::array<char, 32> buffer{};
        std::snprintf(buffer.data(), buffer.size(), "%.1f", v);
        std::string text = buffer.data();
        if (text.ends_with(".0")) text.resize(text.size() - 2);
        return text;
    }
    static std::string pair(Point v) { return num(v.x) + ' ' + num(v.y); }

    const Palette& p;

private:
    std::string out_;
};

std::string curve(const std::vector<Point>& points) {
    std::string data = "M" + Svg::pair(points.front());
    for (std::size_t k = 1; k + 2 < points.size(); k += 3)
        data += "C" + Svg::pair(points[k]) + ' ' + Svg::pair(points[k + 1]) + ' ' + Svg::pair(points[k + 2]);
    return data;
}

void draw_node(Svg& svg, const VisibleGraph::Node& node, const Rect& r) {
    const Palette& p = svg.p;
    const char* colour = role_colour(p, node.role);
    const bool port = node.kind == GraphItem::Kind::Input || node.kind == GraphItem::Kind::Inputs || node.kind == GraphItem::Kind::Results;
    if (node.expanded) {
        svg.rect(r, "none", p.rule, 8, 1.2, node.role == Role::Recomputed);
        svg.text(r.x + 12, r.y + 19, "\u25be " + fitted(node.title, r.w - 40, kTitleAdvance), p.ink, {kTitleSize, true});
        return;
    }
    svg.rect(r, p.panel, port ? p.rule : colour, port ? r.h / 2 : 6, port ? 1 : 1.3, node.role == Role::Recomputed);
    if (!port) svg.rect({r.x, r.y + 1, 4, r.h - 2}, colour, "none", 2);
    const double inset = port ? 16 : 12;
    const double room = r.w - inset - (node.expandable ? 26 : 8);
    svg.text(r.x + inset, r.y + 17, fitted(node.title, room, kTitleAdvance), p.ink, {kTitleSize, true}, node.title);
    svg.text(r.x + inset, r.y + 32, fitted(node.detail, r.w - inset - 8, kDetailAdvance), p.muted, {kDetailSize, false, true}, node.detail);
    if (node.expandable) svg.text(r.right() - 18, r.y + 17, "\u25b8", p.muted, {11});
}

void draw_graph(Svg& svg, const VisibleGraph& graph, const GraphLayout& layout) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
        if (graph.nodes[n].expanded) draw_node(svg, graph.nodes[n], layout.nodes[n]);
    for (const auto& line : layout.lines) svg.path(curve(line.points), svg.p.edge, edge_width(line.bytes));
    for (const Portal& portal : layout.portals) {
        const Rect& r = portal.rect;
        const Rect& node = layout.nodes[portal.node];
        if (!graph.nodes[portal.node].expanded)
            svg.path("M" + Svg::pair({portal.at_left ? r.right() : r.x, r.cy()}) + "L" +
                         Svg::pair({portal.at_left ? node.x : node.right(), r.cy()}),
                     svg.p.edge, 1);
        svg.rect(r, svg.p.panel, svg.p.rule, r.h / 2);
        svg.text(r.cx(), r.y + 14, fitted(portal.text, r.w - 12, kTagAdvance), svg.p.muted, {kTagSize, false, false, "middle"},
                 portal.text);
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
        if (!graph.nodes[n].expanded) draw_node(svg, graph.nodes[n], layout.nodes[n]);
}

void draw_head(Svg& svg, const SvgOptions& options) {
    svg.text(kMargin, 28, options.title, svg.p.ink, {15, true});
    svg.text(kMargin, 46, options.subtitle, svg.p.muted, {12});
}

struct LegendEntry {
    const char* colour;
    const char* word;
    bool dashed, line;
};
void draw_legend(Svg& svg, double y) {
    const Palette& p = svg.p;
    double x = kMargin;
    for (const LegendEntry& entry : {LegendEntry{p.known, "known, forward", false, false},
                                     {p.unknown, "unknown, backward", false, false},
                                     {p.recomputed, "recomputed", true, false},
                                     {p.residual, "residual", false, true}}) {
        if (entry.line)
            svg.path("M" + Svg::pair({x, y}) + "L" + Svg::pair({x + 16, y}), entry.colour, 3);
        else
            svg.rect({x, y - 6, 16, 12}, p.panel, entry.colour, 3, 1.5, entry.dashed);
        svg.text(x + 22, y + 4, entry.word, p.muted, {11});
        x += 40 + 6.6 * static_cast<double>(std::string_view(entry.word).size());
    }
}

void draw_crossings(Svg& svg, const SplitPicture& picture) {
    for (const auto& c : picture.crossings) {
        svg.path(curve(c.points), svg.p.residual, edge_width(c.bytes));
        svg.arrow_head(c.end, {1, 0}, svg.p.residual, 8);
    }
    for (const auto& c : picture.crossings) {  // on top of all lines
        const double y = c.label_y;
        const double width = pill_width(c.label);
        svg.rect({picture.boundary - width / 2, y - 9, width, 18}, svg.p.panel, svg.p.residual, 9, 1);
        svg.text(picture.boundary, y + 4, c.label, svg.p.residual_text, {kTagSize, true, false, "middle"});
    }
}

}  // namespace

std::string xml_escape(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
        }
    }
    return out;
}

std::string program_svg(const GraphModel& model, const std::set<std::string>& expanded, const SvgOptions& options) {
    const VisibleGraph graph = model.visible(expanded);
    const GraphLayout layout = layout_graph(graph);
    Svg svg(std::max(layout.width, 480.0) + 2 * kMargin, layout.height + kHead + kFoot + kMargin, *options.palette);
    draw_head(svg, options);
    svg.open_group(kMargin, kHead);
    draw_graph(svg, graph, layout);
    svg.close_group();
    draw_legend(svg, kHead + layout.height + 32);
    return std::move(svg).finish();
}

std::string split_svg(const SplitPicture& picture, const SplitReport& split, const SvgOptions& options) {
    constexpr double kColumnHead = 40;
    const Palette& p = *options.palette;
    const double left = kMargin + picture.boundary, bottom = kHead + kColumnHead + picture.height + kMargin;
    const double width = picture.width + 2 * kMargin;
    Svg svg(width, bottom + kFoot, p);
    draw_head(svg, options);
    svg.rect({0, kHead, left, bottom - kHead}, p.known_canvas, "none", 0);
    svg.rect({left, kHead, width - left, bottom - kHead}, p.unknown_canvas, "none", 0);
    svg.path("M" + Svg::pair({left, kHead + 12}) + "L" + Svg::pair({left, bottom}), p.residual, 1.5, true);
    svg.text(kMargin, kHead + 24, "KNOWN forward", p.known_text, {12, true});
    svg.text(kMargin + 116, kHead + 24, count_text(count_equations(*split.known)) + " equations", p.muted, {12});
    const double right = left + 120;
    svg.text(right, kHead + 24, "UNKNOWN backward", p.unknown_text, {12, true});
    std::string detail = count_text(count_equations(*split.unknown)) + " equations";
    if (split.recomputed_flops > 0) detail += " \u00b7 " + flops_text(split.recomputed_flops) + " recomputed";
    svg.text(right + 140, kHead + 24, detail, p.muted, {12});
    const std::string saved = "saved " + count_text(static_cast<std::int64_t>(split.residuals.rows.size())) + " \u00b7 " +
                              bytes_text(split.residuals.total_bytes);
    const double tag = tag_width(saved) + 16;
    svg.rect({left - tag / 2, kHead + 9, tag, 22}, p.panel, p.residual, 11, 1.2);
    svg.text(left, kHead + 24, saved, p.residual_text, {11, true, false, "middle"});
    svg.open_group(kMargin, kHead + kColumnHead);
    draw_graph(svg, picture.known, picture.known_layout);
    draw_graph(svg, picture.unknown, picture.unknown_layout);
    draw_crossings(svg, picture);
    svg.close_group();
    draw_legend(svg, bottom + 20);
    return std::move(svg).finish();
}

std::string split_svg(const SplitReport& split, const SvgOptions& options) {
    const SplitGraph graph(split);
    return split_svg(graph.picture(graph.known().first_look(24), graph.unknown().first_look(24)), split, options);
}

}  // namespace jaxscope
