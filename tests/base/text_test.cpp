#include "base/text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/escaped.h"

namespace jaxscope {
namespace {

TEST(ParseSize, TakesBytesAndPowersOf1024) {
    EXPECT_EQ(parse_size("100"), 100);
    EXPECT_EQ(parse_size("2K"), 2048);
    EXPECT_EQ(parse_size("1.5 MiB"), 1572864);
    EXPECT_EQ(parse_size("3g"), std::int64_t{3} << 30);
    EXPECT_EQ(parse_size("1TB"), std::int64_t{1} << 40);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
    for (const char* bad : {"", "x", "1Q", "-1", "1e30", "nan", "2GG", "1 2"}) EXPECT_THROW(parse_size(bad), Error) << bad;
}

TEST(Split, KeepsEmptyParts) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Escaped, SpellsWhatATerminalObeys) {
    EXPECT_EQ(printable("a\x1b[1m\x7f\n\t"), "a\\x1b[1m\\x7f\\x0a\\x09");
    EXPECT_EQ(printable("a\xc2\x9b"
                        "1m \xc2\xa0\xc3\xa9"),
              "a\\xc2\\x9b1m \xc2\xa0\xc3\xa9")
        << "U+009B is a control character, U+00A0 is none";
    EXPECT_EQ(escaped("a\n\tb\r\xff", Keep::Newlines), "a\n\tb\\x0d\\xff");
    EXPECT_EQ(escaped("12345", Keep::Nothing, 3), "123...");
    EXPECT_EQ(escaped("\xc3\xa9\xc3\xa9", Keep::Nothing, 3), "\xc3\xa9...") << "no half a character";
}

TEST(FullText, StaysShortAndPrintable) {
    Error e(ErrorCode::BadInput, "expected a, found \x1b[31m" + std::string(5000, 'x'));
    e.at({"model.py", 41, 5}).in("eqn 7").advise("drop it");
    const std::string text = full_text(e);
    EXPECT_LE(text.size(), 1024u);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.rfind("jaxscope: model.py:41:5: expected a, found \\x1b[31mxxx", 0), 0u);
}

TEST(FullText, InnermostPlaceWins) {
    Error e(ErrorCode::NoRule, "no rule");
    e.at({"inner.py", 3, 1}).at({"outer.py", 9, 1});
    EXPECT_EQ(full_text(e), "jaxscope: inner.py:3:1: no rule [no-rule]");
}

}  // namespace
}  // namespace jaxscope
