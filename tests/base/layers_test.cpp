#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>

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
    {"trace", "base ir pytree lax transforms calls donation sharding jit"},
    {"analysis", "base ir pytree lax transforms calls donation sharding jit"},
    {"io", "base ir pytree lax transforms calls donation sharding jit trace analysis"},
    {"report", "base ir pytree lax transforms calls donation sharding jit trace analysis"},
    {"app", "base ir pytree lax transforms calls donation sharding jit trace analysis io report views"},
    {"views", "base ir pytree lax transforms calls donation sharding jit trace analysis io report"},
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
    EXPECT_TRUE(allowed("io", "analysis"));
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

/// Heavy headers cost seconds in every file that sees them: LLVM's stay in core/jit's .cpp files, Qt's out of core.
TEST(Layers, HeavyHeadersStayOutOfPublicHeaders) {
    const fs::path core = fs::path(JAXSCOPE_SOURCE_DIR) / "core";
    static const std::regex kHeavy("^#include <(llvm/|nlohmann/|Q[A-Z]|oneapi/|CLI/)");
    for (const auto& entry : fs::recursive_directory_iterator(core)) {
        // Of core/jit only jit.h is seen from outside; its generator's own headers hold LLVM's types.
        const bool generator = fs::relative(entry.path(), core).begin()->string() == "jit" && entry.path().filename() != "jit.h";
        if (entry.path().extension() != ".h" || generator) continue;
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) EXPECT_FALSE(std::regex_search(line, kHeavy)) << entry.path() << ": " << line;
    }
}

}  // namespace
