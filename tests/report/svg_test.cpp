#include "report/formats/svg.h"

#include <gtest/gtest.h>

#include "support/toy_programs.h"

namespace jaxscope {
namespace {

/// Does every element that opens also close, and is every attribute quoted? Enough of XML to catch broken escaping.
bool well_formed(const std::string& text) {
    std::vector<std::string> open;
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
        const std::size_t end = text.find('>', at);
        if (end == std::string::npos) return false;
        const std::string tag = text.substr(at + 1, end - at - 1);
        if (tag.find('<') != std::string::npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
        if (tag.back() == '/') continue;
        if (tag[0] != '/') {
            open.push_back(tag.substr(0, tag.find(' ')));
            continue;
        }
        if (open.empty() || open.back() != tag.substr(1)) return false;
        open.pop_back();
    }
    return open.empty();
}

/// f(x, w) = sin(x) * w: cos x and w are kept.
SplitReport toy_split() {
    SplitReport split;
    JaxprBuilder known;
    const Value x = known.add_input(AvalRef(DType::F32, {4}), "x"), w = known.add_input(AvalRef(DType::F32, {4}), "w");
    const Value s = toy::apply(known, "sin", {x}), c = toy::apply(known, "cos", {x});
    split.known = known.finish({toy::apply(known, "mul", {s, w}), c, w});
    JaxprBuilder unknown;
    const Value rc = unknown.add_input(AvalRef(DType::F32, {4})), rw = unknown.add_input(AvalRef(DType::F32, {4}));
    const Value t = unknown.add_input(AvalRef(DType::F32, {4}));
    split.unknown = unknown.finish({toy::apply(unknown, "mul", {toy::apply(unknown, "mul", {t, rc}), rw})});
    split.residual_of_known = {false, true, true};
    split.num_residuals = 2;
    split.residuals.rows.resize(2);
    split.residuals.total_bytes = 32;
    return split;
}

TEST(Svg, EscapesWhatComesOfTheProgram) {
    EXPECT_EQ(xml_escape("a<b>&\"'\x01"), "a&lt;b&gt;&amp;&quot;&#39;");
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {4}), "<script>alert(\"x\")</script>");
    const GraphModel model(b.finish({toy::apply(b, "sin", {x})}));
    const std::string svg = program_svg(model, {}, {.title = "a & b", .subtitle = "<>"});
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_TRUE(well_formed(svg)) << svg;
}

TEST(Svg, ProgramWithFramesIsWellFormed) {
    const GraphModel model(toy::with_call());
    const std::string svg = program_svg(model, {"1"}, {.title = "f"});
    EXPECT_TRUE(well_formed(svg));
    EXPECT_NE(svg.find("logistic"), std::string::npos);
}

TEST(Svg, SplitShowsBothHalvesAndWhatCrosses) {
    const SplitReport split = toy_split();
    const SplitGraph graph(split);
    const SplitPicture picture = graph.picture({}, {});
    ASSERT_EQ(picture.crossings.size(), 2u);
    EXPECT_EQ(graph.producer_of(0), EqnPath({}, 1)) << "cos x";
    EXPECT_EQ(graph.producer_of(1), std::nullopt) << "w is saved as it is";
    for (const auto& c : picture.crossings) {
        EXPECT_LT(c.begin.x, picture.boundary);
        EXPECT_GT(c.end.x, picture.boundary);
        EXPECT_EQ(c.bytes, 16);
    }
    for (const auto& node : picture.unknown.nodes) EXPECT_NE(node.role, Role::Recomputed) << node.title;
    const std::string svg = split_svg(split, {.title = "f"});
    EXPECT_TRUE(well_formed(svg));
    for (const char* text : {"KNOWN forward", "UNKNOWN backward", "saved 2", "16 B"}) EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(Svg, BothPalettesAndTheSameTwice) {
    const SplitReport split = toy_split();
    const std::string light = split_svg(split, {.title = "f"});
    EXPECT_EQ(light, split_svg(split, {.title = "f"}));
    EXPECT_NE(light, split_svg(split, {.title = "f", .subtitle = {}, .palette = &dark_palette()}));
}

}  // namespace
}  // namespace jaxscope
