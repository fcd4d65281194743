// The printer against texts that JAX 0.10.2 printed: tests/io/printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "io/capture/reader.h"
#include "io/printed_text.h"
#include "ir/primitive.h"
#include "ir/print/printer.h"

namespace jaxscope {
namespace {

namespace fs = std::filesystem;

std::string first_difference(const std::string& got, const std::string& wanted) {
    std::istringstream a(got), b(wanted);
    std::string x, y;
    for (int line = 1; std::getline(b, y); ++line)
        if (!std::getline(a, x) || x != y) return "line " + std::to_string(line) + "\n  JAX:      " + y + "\n  jaxscope: " + x;
    return "more lines than JAX prints";
}

class Printed : public testing::TestWithParam<std::string> {};

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/printed"))
        if (entry.path().extension() == ".jaxscope") out.push_back(entry.path().stem().string());
    std::sort(out.begin(), out.end());
    return out;
}

TEST_P(Printed, AsJaxPrintsIt) {
    const fs::path base = fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/printed" / GetParam();
    const ProgramPtr program = read_capture(base.string() + ".jaxscope", {.arrays = false});
    const std::string wanted = with_sorted_sets(read_file(base.string() + ".txt"));
    const std::string got = with_sorted_sets(to_text(*program->jaxpr));
    EXPECT_TRUE(got == wanted) << first_difference(got, wanted);
    if (!fs::exists(base.string() + ".source.txt")) return;
    const std::string wanted_source = read_file(base.string() + ".source.txt");
    const std::string got_source = to_text(*program->jaxpr, {.source = true});
    EXPECT_TRUE(got_source == wanted_source) << first_difference(got_source, wanted_source);
}
INSTANTIATE_TEST_SUITE_P(Captures, Printed, testing::ValuesIn(names()), [](const auto& i) { return i.param; });

TEST(EqnText, OneEquationAloneWithTheProgramsNames) {
    const ProgramPtr program =
        read_capture((fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/printed/remat_both.jaxscope").string(), {.arrays = false});
    const VarNames names(*program->jaxpr);
    const std::string text = to_text(*program->jaxpr);
    int found = 0;
    for (const Eqn& e : program->jaxpr->eqns) {
        const std::string one = eqn_text(*program->jaxpr, e, {}, &names);
        EXPECT_NE(one, "");
        if (!e.params->holds_jaxpr() && text.find("    " + one.substr(0, one.find('\n'))) != std::string::npos) ++found;
        EXPECT_EQ(one.find("lambda"), std::string::npos) << one;
    }
    EXPECT_GT(found, 3);
}

}  // namespace
}  // namespace jaxscope
