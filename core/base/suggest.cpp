// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace jaxscope {

namespace {

constexpr std::size_t kMostFiles = 10'000;  ///< of a folder that are compared with a name

}  // namespace

Error& suggest(Error& error, std::string_view text, const std::vector<std::string_view>& names) {
    const std::string_view near = nearest_name(text, names);
    return near.empty() ? error : error.advise("did you mean " + printable(near) + "?");
}

Error unknown_name(ErrorCode code, const std::string& expected, std::string_view text, const std::vector<std::string_view>& names) {
    Error error(code, expected + ", found '" + printable(text) + "'");
    suggest(error, text, names);
    return error;
}

std::string nearest_file(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path asked(path), folder = asked.has_parent_path() ? asked.parent_path() : fs::path(".");
    const std::string name = asked.filename().string();
    if (name.empty()) return {};
    std::error_code error;
    std::vector<std::string> files;
    for (fs::directory_iterator at(folder, error), end; !error && at != end && files.size() < kMostFiles; at.increment(error)) {
        std::error_code unknown;
        if (!at->is_regular_file(unknown)) continue;
        files.push_back(at->path().filename().string());
        if (at->path().stem() == name) return (asked.parent_path() / files.back()).string();
    }
    // Of what stands before the ending, which files have in common: a third may be mistyped.
    const auto stem = [](std::string_view file) { return file.substr(0, file.find('.')); };
    std::string_view best;
    std::size_t least = std::max<std::size_t>(1, stem(name).size() / 3) + 1;
    for (const std::string& file : files) {
        const std::size_t distance = edit_distance(name, file);
        if (distance >= least) continue;
        best = file;
        least = distance;
    }
    return best.empty() ? "" : (asked.parent_path() / best).string();
}

}  // namespace jaxscope
