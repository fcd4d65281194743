#include "report/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "report/row_groups.h"

namespace jaxscope {
namespace {

using Kind = Table::Kind;

TEST(Grouped, MergesWhatDiffersInIndicesAlone) {
    std::vector<SizedRow> rows;
    for (const char* name : {"p['blocks'][0]['w']", "p['blocks'][1]['w']", "p['blocks'][2]['w']", "p['head']", "p['blocks'][1]['b']"})
        rows.push_back({100, 1, {"f32[5,5]", name}});
    rows.push_back({1, 1, {"f32[1]", "p['blocks'][7]['w']"}});  // another aval
    const std::vector<SizedRow> out = grouped(rows, {1});
    ASSERT_EQ(out.size(), 4u);
    EXPECT_EQ(out[0].cells[1], "p['blocks'][0-2]['w']");
    EXPECT_EQ(out[0].bytes, 300);
    EXPECT_EQ(out[0].count, 3);
    EXPECT_EQ(out[1].cells[1], "p['head']");
    EXPECT_EQ(out[2].cells[1], "p['blocks'][1]['b']");
    EXPECT_EQ(out[3].cells[1], "p['blocks'][7]['w']");
}

TEST(Grouped, IndicesWithGapsAndHugeOnes) {
    const auto merged = [](std::initializer_list<const char*> names) {
        std::vector<SizedRow> rows;
        for (const char* n : names) rows.push_back({1, 1, {n}});
        const auto out = grouped(rows, {0});
        EXPECT_EQ(out.size(), 1u);
        return out[0].cells[0];
    };
    EXPECT_EQ(merged({"x[0]", "x[2]"}), "x[0,2]");
    EXPECT_EQ(merged({"x[10]", "x[9]"}), "x[9-10]");
    EXPECT_EQ(merged({"x[0]", "x[2]", "x[4]", "x[6]", "x[40]"}), "x[0,2,...,40]");
    EXPECT_EQ(merged({"x[0][1]", "x[1][0]"}), "x[0-1][0-1]");
    EXPECT_EQ(merged({"x[99999999999999999999]", "x[99999999999999999998]"}), "x[99999999999999999998,99999999999999999999]");
    EXPECT_EQ(merged({"x['Dense_0']['k']", "x['Dense_1']['k']"}), "x['Dense_0-1']['k']");
}

TEST(Grouped, NumbersOutsideBracketsTellRowsApart) {
    EXPECT_EQ(grouped({{1, 1, {"sin from a.py:3:4"}}, {1, 1, {"sin from a.py:5:4"}}}, {0}).size(), 2u);
}

std::string printed(const Table& table, PageStyle style, std::size_t limit = 0) {
    std::ostringstream out;
    Page(out, style).table(table, limit);
    return out.str();
}

TEST(Page, WrapsTheLastColumnAndCutsTheMiddleOfOthers) {
    Table t({{"name", Kind::Code}, {"size", Kind::Number}, {"why"}});
    t.add({"a_function_with_a_name_that_goes_on_and_on_and_on_to_the_end", "1 B",
           "because it was said so by somebody who knew that it was so"});
    for (std::string line; const std::size_t width : {60u, 80u}) {
        std::istringstream in(printed(t, {.width = width}));
        int lines = 0;
        while (std::getline(in, line)) {
            ++lines;
            std::size_t columns = 0;
            for (const char c : line) columns += (c & 0xC0) != 0x80;
            EXPECT_LE(columns, width) << line;
        }
        EXPECT_GE(lines, 3);
    }
    const std::string all = printed(t, {.all = true, .width = 60});
    EXPECT_NE(all.find("on_and_on_and_on_to_the_end"), std::string::npos);
    EXPECT_NE(all.find("somebody who knew that it was so"), std::string::npos);
}

TEST(Page, CutsNothingWhereThereIsNoWidth) {
    Table t({{"name", Kind::Code}, {"size", Kind::Number}, {"why"}});
    const std::string name(300, 'n');
    t.add({name, "1 B",
           "because it was said so by somebody who knew that it was so, and who said it at some length, so that it takes its time"});
    const std::string text = printed(t, {.width = std::numeric_limits<std::size_t>::max()});
    EXPECT_NE(text.find(name), std::string::npos);
    EXPECT_NE(text.find("so that it takes its time\n"), std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Page, SaysHowManyRowsAreLeftOut) {
    Table t({{"n", Kind::Number}});
    for (int i = 0; i < 9; ++i) t.add({std::to_string(i)});
    EXPECT_NE(printed(t, {}, 4).find("5 more rows"), std::string::npos);
    EXPECT_EQ(printed(t, {.all = true}, 4).find("more rows"), std::string::npos);
    EXPECT_NE(printed(t, {.format = PageStyle::Format::Markdown}, 4).find("5 more rows"), std::string::npos);
    EXPECT_EQ(printed(t, {.format = PageStyle::Format::Html}, 4).find("more rows"), std::string::npos);  // it scrolls
}

TEST(Page, NamesAreNoMarkup) {
    Table t({{"a", Kind::Code}, {"b"}});
    t.add({"x|`y``z", "<b>|*_[l](u) \x1b[0m"});
    const std::string markdown = printed(t, {.format = PageStyle::Format::Markdown});
    EXPECT_NE(markdown.find("| ``` x\\|`y``z ``` | &lt;b&gt;\\|\\*\\_\\[l\\](u) \\\\x1b\\[0m |"), std::string::npos) << markdown;
    const std::string html = printed(t, {.format = PageStyle::Format::Html});
    EXPECT_NE(html.find("&lt;b&gt;|*_[l](u) \\x1b[0m"), std::string::npos) << html;
    EXPECT_EQ(printed(t, {}).find('\x1b'), std::string::npos);
}

TEST(Page, LinesOfATextStayLinesInHtml) {
    Table t({{"why"}});
    t.add({"expected one\n  in transposing eqn 0 <b>"});
    const std::string html = printed(t, {.format = PageStyle::Format::Html});
    EXPECT_NE(html.find("expected one\n  in transposing eqn 0 &lt;b&gt;"), std::string::npos) << html;
    EXPECT_EQ(html.find("x0a"), std::string::npos) << html;
}

TEST(Page, MiddlesAreCutBetweenCharacters) {
    EXPECT_EQ(without_middle("abcdefgh", 5), "ab\u2026gh");
    EXPECT_EQ(without_middle("\u00e4\u00f6\u00fc\u00df\u00e9", 3), "\u00e4\u2026\u00e9");
    EXPECT_EQ(without_middle("abc", 3), "abc");
    EXPECT_EQ(without_middle("abc", 1), "\u2026");
}

}  // namespace
}  // namespace jaxscope
