// Runs every golden file: the command behind RUN on the jaxpr text of the file, its output compared with what stands behind EXPECT.
//   golden_driver JAXSCOPE FOLDER [--update]
// A file called fail_* must be refused, with the text behind EXPECT; any other must not.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/subprocess.h"
#include "base/text.h"

namespace fs = std::filesystem;
using namespace jaxscope;

namespace {

struct Golden {
    std::string head;     ///< comment lines, RUN and ORACLE among them
    std::string command;  ///< behind RUN
    std::string input;
    std::string expect;
};

Golden read_golden(const fs::path& path) {
    Golden g;
    std::ifstream in(path);
    std::string* section = &g.head;
    for (std::string line; std::getline(in, line);) {
        if (line == "# EXPECT") {
            section = &g.expect;
            continue;
        }
        if (section == &g.head && !line.starts_with('#')) section = &g.input;
        if (line.starts_with("# RUN: ")) g.command = line.substr(7);
        *section += line + "\n";
    }
    return g;
}

void write_golden(const fs::path& path, const Golden& g) {
    std::ofstream out(path);
    out << g.head << g.input << "# EXPECT\n" << g.expect;
}

std::string first_difference(const std::string& expected, const std::string& found) {
    std::istringstream a(expected), b(found);
    std::string x, y;
    for (int line = 1;; ++line) {
        const bool more_a = static_cast<bool>(std::getline(a, x)), more_b = static_cast<bool>(std::getline(b, y));
        if (!more_a && !more_b) return "no difference";
        if (!more_a) x = "(end)";
        if (!more_b) y = "(end)";
        if (x != y || more_a != more_b) return "  line " + std::to_string(line) + "\n  expected: " + x + "\n  found:    " + y + "\n";
    }
}

struct Outcome {
    std::string text;
    bool refused = false;
};

Outcome run(const std::string& jaxscope, const Golden& g) {
    ProcessRequest r;
    r.command = {jaxscope};
    for (const std::string& word : split(g.command, ' ')) {
        r.command.push_back(word);
        if (r.command.size() == 2) r.command.push_back("-");
    }
    r.input = g.input;
    r.timeout_seconds = 60;
    r.environment["NO_COLOR"] = "1";
    const ProcessResult result = run_process(r);
    if (result.exit_code == 0) return {result.output, false};
    return {"exit " + std::to_string(result.exit_code) + "\n" + result.error, true};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const bool update = argc > 3 && std::string(argv[3]) == "--update";
    std::vector<fs::path> files;
    for (const auto& e : fs::recursive_directory_iterator(argv[2]))
        if (e.path().extension() == ".jaxpr") files.push_back(e.path());
    std::sort(files.begin(), files.end());
    int failed = 0;
    for (const fs::path& file : files) {
        Golden g = read_golden(file);
        const Outcome got = run(argv[1], g);
        const bool must_fail = file.filename().string().starts_with("fail_");
        if (got.refused != must_fail) {
            std::cerr << file.string() << (must_fail ? ": expected to be refused, it was not\n" : ": refused\n" + got.text);
            ++failed;
            continue;
        }
        if (got.text == g.expect) continue;
        if (update) {
            g.expect = got.text;
            write_golden(file, g);
            continue;
        }
        std::cerr << file.string() << '\n' << first_difference(g.expect, got.text);
        ++failed;
    }
    std::cout << files.size() << " golden files, " << failed << " failed\n";
    return failed == 0 && !files.empty() ? 0 : 1;
}
