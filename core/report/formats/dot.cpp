// SPDX-License-Identifier: Apache-2.0
#include "report/formats/dot.h"

#include <fmt/format.h>

#include "report/formats/graph_text.h"
#include "report/palette.h"

namespace jaxscope {

namespace {

/// A dot_quoted string of the dot language. Backslashes would be escapes of labels; control characters stand as \xNN already.
std::string dot_quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : printable(text, 400)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}
std::string label(const std::string& title, const std::string& detail) {
    const std::string first = dot_quoted(title), second = dot_quoted(detail);
    return detail.empty() ? first : first.substr(0, first.size() - 1) + "\\n" + second.substr(1);
}

class DotWriter final : public GraphText {
public:
    std::string finish() && { return std::move(out_) + "}\n"; }

private:
    void begin(const std::string& title) override {
        out_ += "digraph program {\n";
        out_ += fmt::format(
            "  graph [rankdir=TB, compound=true, fontname=\"Helvetica\", bgcolor=\"{}\", fontcolor=\"{}\", label={}, labelloc=t];\n",
            p_.canvas, p_.ink, dot_quoted(title));
        out_ += fmt::format(
            "  node [shape=box, style=\"filled,rounded\", fillcolor=\"{}\", fontname=\"Helvetica\", fontsize=11, fontcolor=\"{}\"];\n",
            p_.panel, p_.ink);
        out_ += fmt::format("  edge [color=\"{}\", fontname=\"Helvetica\", fontsize=9, fontcolor=\"{}\"];\n", p_.edge, p_.muted);
    }
    void half(const std::string& id, const std::string& title) override { cluster(id, title, id == "known" ? p_.known : p_.unknown); }
    void open(const std::string& id, const VisibleGraph::Node& node) override { cluster(id, node.title, role_colour(p_, node.role)); }
    void close() override { out_ += "  }\n"; }
    void node(const std::string& id, const VisibleGraph::Node& node) override {
        out_ += fmt::format("  {} [label={}, color=\"{}\"{}];\n", id, label(node.title, node.detail), role_colour(p_, node.role),
                            node.role == Role::Recomputed ? ", style=\"filled,rounded,dashed\"" : "");
    }
    void edge(const std::string& from, const std::string& to, const std::string& bytes) override {
        out_ += fmt::format("  {} -> {} [label={}];\n", from, to, dot_quoted(bytes));
    }
    void residual(const std::string& from, const std::string& to, const std::string& text) override {
        out_ += fmt::format("  {} -> {} [label={}, color=\"{}\", fontcolor=\"{}\", penwidth=2.5];\n", from, to, dot_quoted(text),
                            p_.residual, p_.residual_text);
    }
    void cluster(const std::string& name, const std::string& title, const char* colour) {
        out_ +=
            fmt::format("  subgraph cluster_{} {{\n  label={}; color=\"{}\"; fontcolor=\"{}\";\n", name, dot_quoted(title), colour, p_.ink);
    }

    const Palette& p_ = light_palette();
    std::string out_;
};

}  // namespace

std::string inspection_dot(const Inspection& inspection, const std::string& what, Depth depth) {
    DotWriter w;
    w.write(inspection, what, depth);
    return std::move(w).finish();
}

}  // namespace jaxscope
