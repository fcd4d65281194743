// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/formats/formats.h"
#include "report/formats/graph_text.h"

namespace jaxscope {

namespace {

/// Text in a mermaid_quoted label. Mermaid reads labels as HTML and Markdown: what those would take for themselves becomes a character's
/// number.
std::string mermaid_quoted(const std::string& text) {
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

class MermaidWriter final : public GraphText {
public:
    explicit MermaidWriter(std::ostream& out) : out_(out) {}
    void classes() {
        out_ << "  classDef backward stroke:#b4690e\n  classDef recomputed stroke-dasharray:4 3\n  classDef forward stroke:#2f6f9f\n";
    }

private:
    void begin(const std::string&) override { out_ << "flowchart TB\n"; }
    void half(const std::string& id, const std::string& title) override {
        out_ << "  subgraph " << id << "s[" << mermaid_quoted(title) << "]\n";
    }
    void open(const std::string& id, const VisibleGraph::Node& node) override { half(id, node.title); }
    void close() override { out_ << "  end\n"; }
    void node(const std::string& id, const VisibleGraph::Node& node) override {
        const std::string detail = mermaid_quoted(node.detail), title = mermaid_quoted(node.title);
        out_ << "  " << id << '[' << (node.detail.empty() ? title : title.substr(0, title.size() - 1) + "<br/>" + detail.substr(1))
             << "]:::" << class_of(node.role) << '\n';
    }
    void edge(const std::string& from, const std::string& to, const std::string& bytes) override {
        out_ << fmt::format("  {} -->|{}| {}\n", from, mermaid_quoted(bytes), to);
    }
    void residual(const std::string& from, const std::string& to, const std::string& text) override {
        out_ << fmt::format("  {} ==>|{}| {}\n", from, mermaid_quoted(text), to);
    }

    std::ostream& out_;
};

}  // namespace

void write_mermaid(std::ostream& out, const Inspection& inspection, const std::string& what, Depth depth) {
    MermaidWriter w(out);
    w.write(inspection, what, depth);
    w.classes();
}

}  // namespace jaxscope
