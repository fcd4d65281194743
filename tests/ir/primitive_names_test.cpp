// A primitive is declared in one place (ir/primitive.h): code compares pointers and asks traits. This test reads the sources.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "ir/primitive.h"

namespace fs = std::filesystem;

namespace jaxscope {
namespace {

struct Exception {
    std::string_view path;  ///< a file or a folder; empty: everywhere
    std::string_view what;  ///< the literal, or "name": `Primitive::name` as a string
    std::string_view why;
};

/// Where the name of a primitive may be asked for as a string. Messages need no exception: they add the name to a text.
constexpr Exception kMayAskTheName[] = {
    {"core/lax/", "", "families name the jaxprs that their expansions make after themselves"},
    {"core/calls/", "", "families name the jaxprs that their expansions make after themselves"},
    {"core/ir/primitive.cpp", "", "the registry"},
    {"core/ir/print/", "", "the printer"},
    {"core/ir/type_check.cpp", "", "a message that shortens names from files"},
    {"core/io/", "", "readers and writers"},
    {"core/jit/", "", "reports of the plan and of a run call steps and buffers after their equations"},
    {"core/analysis/", "", "rows of tables"},
    {"core/report/", "", "reports"},
    {"core/trace/transformations/policy.cpp", "", "a callable policy of the user's is asked about names, as JAX's are"},
    {"core/trace/transformations/partial_eval.cpp", "", "equations that a user's program reads"},
};

/// Literals that are spelled as a primitive is and mean something else.
constexpr Exception kOtherWords[] = {
    {"", "name", "a parameter and a field of JSON, whatever has one"},
    {"core/ir/name_stack.cpp", "transpose", "the transformation"},
    {"", "split", "the command, the tab and the picture of that name"},
    {"", "check", "the command of that name"},
    {"core/jit/codegen/", "", "functions of the C library"},
    {"", "copy", "a step that copies, of no equation"},
    {"core/io/", "", "keys and kinds of number in captures, opcodes of HLO"},
    {"core/trace/", "", "functions of jax.numpy, called as the primitives that they emit; transformations"},
    {"app/cli/steps.cpp", "", "steps of `transform --apply`, called as the functions of JAX that do the same"},
};
static_assert(std::size(kMayAskTheName) + std::size(kOtherWords) <= 20);

bool applies(const Exception& e, const std::string& path, std::string_view what) {
    return path.starts_with(e.path) && (e.what.empty() || e.what == what);
}
template <std::size_t N>
bool excused(const Exception (&list)[N], std::array<bool, N>& used, const std::string& path, std::string_view what) {
    for (std::size_t i = 0; i < N; ++i)
        if (applies(list[i], path, what)) return used[i] = true;
    return false;
}

/// Calls `look(path, line number, line without its comment)` for the program's own sources.
template <class Look>
void for_each_line(Look look) {
    const fs::path root = JAXSCOPE_SOURCE_DIR;
    static const std::regex kComment(R"rx(^((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*)//.*)rx");
    for (const char* folder : {"core", "views", "app/cli", "app/gui"})
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const std::string ext = entry.path().extension().string();
            if (ext != ".h" && ext != ".cpp") continue;
            std::ifstream in(entry.path());
            const std::string path = fs::relative(entry.path(), root).generic_string();
            int number = 0;
            for (std::string line; std::getline(in, line);)
                look(path, ++number, line.find("//") == std::string::npos ? line : std::regex_replace(line, kComment, "$1"));
        }
}

std::set<std::string> names_of_primitives() {
    std::set<std::string> names;
    for (const Primitive* p : all_primitives()) {
        names.insert(p->name.c_str());
        names.insert(p->older_names.begin(), p->older_names.end());
    }
    return names;
}

TEST(PrimitiveNames, StandInDefinitionsAlone) {
    const std::set<std::string> names = names_of_primitives();
    ASSERT_GT(names.size(), 150u);
    static const std::regex kLiteral(R"rx("((?:[^"\\]|\\.)*)")rx");
    std::array<bool, std::size(kOtherWords)> used{};
    for_each_line([&](const std::string& path, int number, const std::string& line) {
        if (line.find('"') == std::string::npos || path.starts_with("core/lax/") || path.starts_with("core/calls/") ||
            line.starts_with("#include"))
            return;
        for (std::sregex_iterator m(line.begin(), line.end(), kLiteral), end; m != end; ++m)
            if (const std::string word = (*m)[1]; names.contains(word) && !excused(kOtherWords, used, path, word))
                ADD_FAILURE() << path << ':' << number << ": \"" << word
                              << "\" is the name of a primitive: compare pointers, or state a trait in its definition";
    });
    for (std::size_t i = 0; i < used.size(); ++i) EXPECT_TRUE(used[i]) << "nothing needs the exception for " << kOtherWords[i].why;
}

/// A definition that knows itself needs no name, and another family's primitive is reached by its pointer.
TEST(PrimitiveNames, AreNotLookedUp) {
    static const std::regex kLookUp(R"rx(\bprimitive\((Sym\()?")rx");
    for_each_line([&](const std::string& path, int number, const std::string& line) {
        EXPECT_FALSE(line.find("primitive(") != std::string::npos && std::regex_search(line, kLookUp))
            << path << ':' << number << ": " << line;
    });
}

TEST(PrimitiveNames, AreAskedByPrinterReadersAndReports) {
    static const std::regex kAsked(R"rx((->|\.)name\.c_str\(\))rx");
    std::array<bool, std::size(kMayAskTheName)> used{};
    for_each_line([&](const std::string& path, int number, const std::string& line) {
        if (line.find("name.c_str()") != std::string::npos && std::regex_search(line, kAsked) &&
            !excused(kMayAskTheName, used, path, "name"))
            ADD_FAILURE() << path << ':' << number << ": the name of a primitive as a string, which only printer, readers and reports ask";
    });
    for (std::size_t i = 0; i < used.size(); ++i) EXPECT_TRUE(used[i]) << "nothing needs the exception for " << kMayAskTheName[i].path;
}

TEST(PrimitiveNames, AreUnique) {
    std::set<std::string> names;
    for (const Primitive* p : all_primitives()) {
        EXPECT_TRUE(names.insert(p->name.c_str()).second) << p->name.c_str();
        for (const char* older : p->older_names) EXPECT_TRUE(names.insert(older).second) << older;
        EXPECT_EQ(&primitive(p->name.c_str()), p);
    }
}

}  // namespace
}  // namespace jaxscope
