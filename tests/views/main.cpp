// jaxscope_test_window FILE [ARGUMENTS OF QT TEST]: the tests of one file; without a name, those that there are.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "views/window_tests.h"

namespace jaxscope::views {

namespace {

std::map<std::string, RunTests>& all_tests() {
    static std::map<std::string, RunTests> tests;
    return tests;
}

}  // namespace

bool add_window_tests(const char* file, RunTests run) {
    return all_tests().emplace(std::filesystem::path(file).stem().string(), run).second;
}

}  // namespace jaxscope::views

int main(int argc, char** argv) {
    const auto& tests = jaxscope::views::all_tests();
    const auto found = argc > 1 ? tests.find(argv[1]) : tests.end();
    if (found == tests.end()) {
        for (const auto& [name, run] : tests) std::puts(name.c_str());
        return argc > 1 ? 1 : 0;
    }
    argv[1] = argv[0];
    return found->second(argc - 1, argv + 1);
}
