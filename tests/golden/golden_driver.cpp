// Runs every golden file: each command behind RUN on the jaxpr text of the file, its output compared with what stands behind EXPECT.
//   golden_driver JAXSCOPE FOLDER [--update]
// A file called fail_* must be refused, with the text behind EXPECT; any other must not. `--update` writes what was found, but never into
// files whose expectations JAX wrote ("written by" in the line ORACLE). Then it looks whether every error code and every primitive that
// jaxscope knows occurs in a golden file, but for those that FOLDER/uncovered.txt names with a reason.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "ir/primitive.h"
#include "ir/registry.h"

namespace fs = std::filesystem;
using namespace jaxscope;

namespace {

struct Run {
    std::string command;  ///< behind RUN
    std::string expect;
};
struct Golden {
    fs::path path;
    std::string head;  ///< comment lines before the program
    std::string input;
    std::vector<Run> runs;  ///< the first command may stand in the head
    bool by_jax = false;
};

Golden read_golden(const fs::path& path) {
    Golden g{path, {}, {}, {}, false};
    std::ifstream in(path);
    enum { Head, Input, Expect } section = Head;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("# ORACLE:") && line.find("written by") != std::string::npos) g.by_jax = true;
        if (line.starts_with("# RUN: ")) {
            g.runs.push_back({line.substr(7), {}});
            if (section != Head) continue;
        }
        if (line == "# EXPECT") {
            section = Expect;
            continue;
        }
        if (section == Head && !line.starts_with('#')) section = Input;
        (section == Head ? g.head : section == Input ? g.input : g.runs.back().expect) += line + "\n";
    }
    return g;
}

void write_golden(const Golden& g) {
    std::ofstream out(g.path);
    out << g.head << g.input;
    for (std::size_t i = 0; i < g.runs.size(); ++i) {
        if (g.head.find("# RUN: " + g.runs[i].command + "\n") == std::string::npos) out << "# RUN: " << g.runs[i].command << '\n';
        out << "# EXPECT\n" << g.runs[i].expect;
    }
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

Outcome run(const std::string& jaxscope, const std::string& command, const std::string& input) {
    ProcessRequest r;
    r.command = {jaxscope};
    for (const std::string& word : split(command, ' ')) {
        r.command.push_back(word);
        if (r.command.size() == 2) r.command.push_back("-");
    }
    r.input = input;
    r.timeout_seconds = 60;
    r.environment["NO_COLOR"] = "1";
    r.environment["OMP_NUM_THREADS"] = "1";
    const ProcessResult result = run_process(r);
    if (result.exit_code == 0) return {result.output, false};
    return {"exit " + std::to_string(result.exit_code) + "\n" + result.error, true};
}

/// What is wrong with one file; nothing where all is as expected (or was made so).
std::string check(const std::string& jaxscope, Golden& g, bool update) {
    const bool must_fail = g.path.filename().string().starts_with("fail_");
    std::string wrong;
    bool changed = false;
    for (Run& r : g.runs) {
        const Outcome got = run(jaxscope, r.command, g.input);
        if (got.refused != must_fail)
            wrong += "  " + r.command + (must_fail ? ": expected to be refused, it was not\n" : ": refused\n" + got.text);
        else if (got.text != r.expect && update && !g.by_jax)
            changed = !(r.expect = got.text).empty();
        else if (got.text != r.expect)
            wrong += "  " + r.command + "\n" + first_difference(r.expect, got.text);
    }
    if (g.runs.empty()) wrong += "  expected a line `# RUN: COMMAND`, found none\n";
    if (changed) write_golden(g);
    return wrong;
}

int check_all(const std::string& jaxscope, std::vector<Golden>& files, bool update) {
    std::atomic<std::size_t> next{0};
    std::atomic<int> failed{0};
    std::mutex print;
    const auto work = [&] {
        for (std::size_t i = next++; i < files.size(); i = next++) {
            const std::string wrong = check(jaxscope, files[i], update);
            if (wrong.empty()) continue;
            ++failed;
            std::lock_guard lock(print);
            std::cerr << files[i].path.string() << '\n' << wrong;
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
    threads.clear();
    return failed;
}

/// Does `name` stand in `text` as an equation's primitive?
bool applies(const std::string& text, const std::string& name) {
    const std::string found = " = " + name;
    for (std::size_t at = text.find(found); at != std::string::npos; at = text.find(found, at + 1)) {
        const char after = at + found.size() < text.size() ? text[at + found.size()] : '\n';
        if (after == ' ' || after == '[' || after == '\n') return true;
    }
    return false;
}

/// Lines `NAME: REASON`.
std::set<std::string> excused(const fs::path& file) {
    std::set<std::string> names;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (const std::size_t colon = line.find(':'); !line.starts_with('#') && colon != std::string::npos)
            names.insert(line.substr(0, colon));
    return names;
}

int check_coverage(const std::vector<Golden>& files, const fs::path& folder) {
    std::string inputs, expected;
    for (const Golden& g : files) {
        inputs += g.input + "\n";
        for (const Run& r : g.runs) expected += r.expect;
    }
    std::vector<std::string> missing, needless;
    std::set<std::string> excuses = excused(folder / "uncovered.txt");
    const auto look = [&](const std::string& name, bool covered) {
        const bool excuse = excuses.erase(name) > 0;
        if (!covered && !excuse) missing.push_back(name);
        if (covered && excuse) needless.push_back(name);
    };
    for (int c = 0; c <= static_cast<int>(ErrorCode::Cancelled); ++c) {
        const std::string name = code_name(static_cast<ErrorCode>(c));
        look(name, expected.find("[" + name + "]") != std::string::npos);
    }
    for (const Primitive* p : all_primitives()) {
        if (p->opaque) continue;  // known by traits alone
        const std::string name = p->name.c_str();
        look(name, applies(inputs, name) || applies(expected, name));
    }
    for (const std::string& name : missing) std::cerr << "no golden file holds " << name << "; uncovered.txt gives no reason\n";
    for (const std::string& name : needless) std::cerr << name << " stands in a golden file: uncovered.txt needn't excuse it\n";
    for (const std::string& name : excuses) std::cerr << "uncovered.txt excuses " << name << ", which jaxscope doesn't know\n";
    return static_cast<int>(missing.size() + needless.size() + excuses.size());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    register_all_primitives();
    const bool update = argc > 3 && std::string(argv[3]) == "--update";
    std::vector<Golden> files;
    for (const auto& e : fs::recursive_directory_iterator(argv[2]))
        if (e.path().extension() == ".jaxpr") files.push_back(read_golden(e.path()));
    std::sort(files.begin(), files.end(), [](const Golden& a, const Golden& b) { return a.path < b.path; });
    const int failed = check_all(argv[1], files, update);
    const int uncovered = check_coverage(files, argv[2]);
    std::cout << files.size() << " golden files, " << failed << " failed, " << uncovered << " gaps in what they cover\n";
    return failed == 0 && uncovered == 0 && !files.empty() ? 0 : 1;
}
