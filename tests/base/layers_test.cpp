#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// The folders in their order: each may include from itself and from those listed for it, nothing else (ARCHITECTURE.md).
const std::map<std::string, std::string> kMayInclude = {
    {"base", ""},
    {"ir", "base"},
    {"pytree", "base ir"},
    {"lax", "base ir"},
    {"transforms", "base ir pytree lax"},
    {"calls", "base ir pytree lax transforms"},
    {"donation", "base ir pytree lax transforms calls"},
    {"sharding", "base ir pytree lax transforms calls"},
    {"jit", "base ir pytree lax transforms calls donation sharding"},
    {"devices", "base ir lax transforms calls sharding jit"},
    {"trace", "base ir pytree lax transforms calls donation sharding jit devices"},
    {"analysis", "base ir pytree lax transforms calls donation sharding jit devices"},
    {"picture", "base ir pytree lax transforms calls donation sharding jit devices trace analysis"},
    {"io", "base ir lax"},
    {"asking", "base ir pytree lax transforms calls donation sharding jit devices trace analysis io"},
    {"report", "base ir pytree lax transforms calls donation sharding jit devices trace analysis picture"},
    {"api", "base ir pytree lax transforms calls donation sharding jit devices trace analysis picture io report"},
    {"app", "base ir pytree lax transforms calls donation sharding jit devices trace analysis picture io asking report views"},
    {"views", "base ir pytree lax transforms calls donation sharding jit devices trace analysis picture io asking report"},
};

bool allowed(const std::string& from, const std::string& to) {
    return from == to || (" " + kMayInclude.at(from) + " ").find(" " + to + " ") != std::string::npos;
}

void check_folder(const fs::path& folder, const std::string& layer) {
    static const std::regex kInclude("^#include \"([a-z]+)/");
    if (!fs::exists(folder)) return;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string ext = entry.path().extension().string();
        if (ext != ".h" && ext != ".cpp") continue;
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) {
            std::smatch m;
            if (!std::regex_search(line, m, kInclude) || !kMayInclude.count(m[1])) continue;
            EXPECT_TRUE(allowed(layer, m[1])) << entry.path() << " may not include " << line;
        }
    }
}

TEST(Layers, DependenciesPointOneWay) {
    const fs::path root = JAXSCOPE_SOURCE_DIR;
    for (const auto& [layer, below] : kMayInclude) {
        check_folder(layer == "app" || layer == "views" ? root / layer : root / "core" / layer, layer);
    }
    EXPECT_FALSE(allowed("ir", "lax"));
    EXPECT_FALSE(allowed("io", "analysis"));
    EXPECT_TRUE(allowed("asking", "io"));
}

/// The floors of core/lax: parameters at the bottom, then what all rules share (the folder itself), then the families, each on those before
/// it. `families.h` is for whoever lists them all.
TEST(Layers, FamiliesOfLaxStandOnEachOtherOneWay) {
    const std::map<std::string, std::string> may_include = {
        {"params", ""},
        {"", "params"},
        {"elementwise", "params"},
        {"shapes", "params elementwise"},
        {"reductions", "params elementwise shapes"},
        {"linalg", "params elementwise shapes reductions"},
        {"random", "params elementwise"},
        {"collectives", "params elementwise"},
        {"sparse", "params"},
    };
    const fs::path lax = fs::path(JAXSCOPE_SOURCE_DIR) / "core" / "lax";
    const std::regex include("^#include \"lax/(?:([a-z]+)/)?[a-z_]+\\.h\"");
    int seen = 0;
    for (const auto& entry : fs::recursive_directory_iterator(lax)) {
        const std::string ext = entry.path().extension().string();
        if (ext != ".h" && ext != ".cpp") continue;
        const fs::path folder = fs::relative(entry.path().parent_path(), lax);
        const std::string from = folder == "." ? "" : folder.string();
        ASSERT_TRUE(may_include.contains(from)) << from << " is no floor of core/lax";
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) {
            std::smatch m;
            if (!std::regex_search(line, m, include)) continue;
            ++seen;
            const std::string to = m[1];
            const bool below = to.empty() ? from != "params" : (" " + may_include.at(from) + " ").find(" " + to + " ") != std::string::npos;
            EXPECT_TRUE(from == to || below) << entry.path() << ": " << line;
        }
    }
    EXPECT_GT(seen, 100);
}

// ---- Floors inside the larger folders --------------------------------------------------------------------------------------------

// Lowest first: a floor includes from itself and from those before it. "" are the files that stand in the folder itself; a name with a
// dot is one file of these which stands lower.
const std::map<std::string, std::vector<std::string>> kFloors = {
    {"io", {"arrays", "text", "dumps", "capture", ""}},
    {"jit", {"jit.h", "code_cache.h", "targets.h", "targets.cpp", "kernels", "graph", "plan", "codegen", "run"}},
    {"analysis", {"sharding", "equations", "dumps", "compare", "choices.h", "naming", "stages", "", "fit"}},
    {"calls", {"", "loops", "reductions", "remat", "sharding", "host"}},
    {"ir", {"types", "", "print"}},
    {"trace", {"", "host", "numpy", "transformations", "jit", "sharding"}},
};

/// "jit/plan/arena.h" -> its floor's position; -1 for a floor that isn't listed.
int floor_of(const std::string& file) {
    const std::string folder = file.substr(0, file.find('/')), rest = file.substr(folder.size() + 1);
    const std::size_t slash = rest.find('/');
    const std::vector<std::string>& floors = kFloors.at(folder);
    auto at = std::find(floors.begin(), floors.end(), slash == std::string::npos ? rest : rest.substr(0, slash));
    if (at == floors.end() && slash == std::string::npos) at = std::find(floors.begin(), floors.end(), "");
    return at == floors.end() ? -1 : static_cast<int>(at - floors.begin());
}

/// File ("jit/plan/arena.h") -> the files of its own top folder that it includes.
using Includes = std::map<std::string, std::set<std::string>>;
Includes includes_in(const std::string& folder) {
    static const std::regex kInclude("^#include \"(([a-z]+)/[^\"]+)\"");
    const fs::path core = fs::path(JAXSCOPE_SOURCE_DIR) / "core";
    Includes found;
    for (const auto& entry : fs::recursive_directory_iterator(core / folder)) {
        const std::string ext = entry.path().extension().string();
        if (ext != ".h" && ext != ".cpp") continue;
        std::set<std::string>& own = found[fs::relative(entry.path(), core).string()];
        std::ifstream in(entry.path());
        std::smatch m;
        for (std::string line; std::getline(in, line);)
            if (std::regex_search(line, m, kInclude) && m[2] == folder) own.insert(m[1]);
    }
    return found;
}

TEST(Floors, NoArrowRunsBackUp) {
    for (const auto& [folder, floors] : kFloors) {
        const Includes files = includes_in(folder);
        ASSERT_GT(files.size(), 20u) << folder;
        for (const auto& [file, included] : files) {
            EXPECT_GE(floor_of(file), 0) << file << " stands on a floor that has no place in the order";
            for (const std::string& other : included) EXPECT_LE(floor_of(other), floor_of(file)) << file << " may not include " << other;
        }
    }
    EXPECT_LT(floor_of("jit/plan/arena.h"), floor_of("jit/run/loops.h"));
    EXPECT_LT(floor_of("io/text/parser.h"), floor_of("io/load_program.h"));
}

// A unit is a header and its .cpp.

/// A circle of units that begins and ends at `unit`, as text; empty if there is none.
std::string circle(const Includes& units, const std::string& unit, std::vector<std::string>& path, std::set<std::string>& done) {
    if (const auto at = std::find(path.begin(), path.end(), unit); at != path.end()) {
        std::string text;
        for (auto u = at; u != path.end(); ++u) text += *u + " -> ";
        return text + unit;
    }
    if (done.count(unit)) return {};
    path.push_back(unit);
    for (const std::string& next : units.at(unit))
        if (std::string found = circle(units, next, path, done); !found.empty()) return found;
    path.pop_back();
    done.insert(unit);
    return {};
}
std::string first_circle(const Includes& units) {
    std::set<std::string> done;
    for (const auto& [unit, next] : units) {
        std::vector<std::string> path;
        if (std::string found = circle(units, unit, path, done); !found.empty()) return found;
    }
    return {};
}

TEST(Floors, NoCircleOfFiles) {
    for (const std::string folder : {"base", "ir", "donation", "jit", "analysis", "io", "report"}) {
        Includes units;
        for (const auto& [file, included] : includes_in(folder)) {
            const std::string unit = file.substr(0, file.rfind('.'));
            std::set<std::string>& next = units[unit];
            for (const std::string& other : included)
                if (const std::string o = other.substr(0, other.rfind('.')); o != unit) {
                    units[o];
                    next.insert(o);
                }
        }
        EXPECT_EQ(first_circle(units), "") << folder;
    }
    EXPECT_EQ(first_circle({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}}), "b -> c -> b");
}

/// Heavy headers cost seconds in every file that sees them: LLVM's stay in core/jit's .cpp files, Qt's out of core.
TEST(Layers, HeavyHeadersStayOutOfPublicHeaders) {
    const fs::path core = fs::path(JAXSCOPE_SOURCE_DIR) / "core";
    static const std::regex kHeavy("^#include <(llvm/|nlohmann/json\\.hpp|Q[A-Z]|oneapi/|CLI/)");
    for (const auto& entry : fs::recursive_directory_iterator(core)) {
        // Of core/jit only jit.h is seen from outside; its generator's own headers hold LLVM's types.
        const bool generator = fs::relative(entry.path(), core).begin()->string() == "jit" && entry.path().filename() != "jit.h";
        if (entry.path().extension() != ".h" || generator) continue;
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) EXPECT_FALSE(std::regex_search(line, kHeavy)) << entry.path() << ": " << line;
    }
}

}  // namespace
