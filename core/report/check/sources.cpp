// SPDX-License-Identifier: Apache-2.0
#include "report/check/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

namespace jaxscope {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostEntries = 200'000;  // of a folder that is searched

std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Folders that hold no sources of the user's.
bool is_skipped(const fs::path& folder) {
    static const std::set<std::string> kNames = {"node_modules", "site-packages", "dist-packages", "__pycache__"};
    const std::string name = folder.filename().string();
    std::error_code none;
    return name.starts_with('.') || kNames.contains(name) || fs::exists(folder / "pyvenv.cfg", none);
}

/// Files below this folder whose path ends in `path`.
std::vector<fs::path> below_here(const fs::path& path) {
    const std::string ending = "/" + path.string(), name = path.filename().string();
    std::vector<fs::path> out;
    std::error_code error;
    std::size_t seen = 0;
    fs::recursive_directory_iterator at(".", fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator() && seen < kMostEntries; at.increment(error), ++seen) {
        std::error_code none;
        if (at->is_directory(none)) {
            if (is_skipped(at->path())) at.disable_recursion_pending();
        } else if (at->path().filename() == name && at->path().string().ends_with(ending)) {
            out.push_back(at->path().lexically_normal());
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

class Sources {
public:
    Sources(const Program& program, const std::string& project) : program_(program), project_(project) {}

    /// The file's path from here; nothing where it isn't told which one it is: then `several` are the ones it may be.
    std::optional<std::string> found(const std::string& name, std::vector<fs::path>& several) const {
        const fs::path path(name);
        if (path.is_absolute()) return from_here(path);
        std::error_code none;
        if (!project_.empty() && fs::is_regular_file(fs::path(project_) / path, none))
            return from_here(fs::absolute(fs::path(project_) / path).lexically_normal());
        if (fs::is_regular_file(path, none) && is_text_of(path, name)) return name;
        std::vector<fs::path> all = below_here(path);
        if (all.size() > 1) {
            std::vector<fs::path> same;
            std::copy_if(all.begin(), all.end(), std::back_inserter(same), [&](const fs::path& f) { return has_text(name, f); });
            if (!same.empty()) all = same;
        }
        if (all.size() == 1) return all[0].string();
        several = all;
        return std::nullopt;
    }

private:
    const SourceFile* captured(const std::string& name) const {
        for (const SourceFile& f : program_.files)
            if (f.path == name) return &f;
        return nullptr;
    }
    bool has_text(const std::string& name, const fs::path& file) const {
        const SourceFile* const f = captured(name);
        return f && f->text && *f->text == text_of(file);
    }
    /// Also where the capture has no text to tell by.
    bool is_text_of(const fs::path& file, const std::string& name) const {
        const SourceFile* const f = captured(name);
        return !f || !f->text || *f->text == text_of(file);
    }
    static std::string from_here(const fs::path& absolute) {
        std::error_code none;
        const fs::path relative = absolute.lexically_relative(fs::current_path(none));
        return relative.empty() || *relative.begin() == ".." ? absolute.string() : relative.string();
    }
    const Program& program_;
    const std::string& project_;
};

}  // namespace

void put_at_sources(std::vector<Finding>& findings, const Program& program, const std::string& project) {
    const Sources sources(program, project);
    std::map<std::string, std::string> known;
    std::vector<Finding> notes;
    for (Finding& f : findings) {
        if (f.file == f.program) continue;
        if (f.file.starts_with('<')) {  // <site-packages>/...: no file of the user's repository
            if (f.line > 0) f.message += fmt::format(" (at {}:{})", f.file, f.line);
            f.file = f.program;
            f.line = 0;
            continue;
        }
        const auto [at, first] = known.try_emplace(f.file, f.file);
        if (first) {
            std::vector<fs::path> several;
            if (const auto path = sources.found(f.file, several)) at->second = *path;
            if (!several.empty()) {
                std::string names;
                for (const fs::path& p : several) names += (names.empty() ? "" : ", ") + p.string();
                notes.push_back({f.program,
                                 "caveat",
                                 "note",
                                 fmt::format("the capture's {} may be any of {}: findings name it as the capture does", f.file, names),
                                 f.program,
                                 0,
                                 {},
                                 {},
                                 "--project DIR says in which folder it is"});
            }
        }
        f.file = at->second;
    }
    findings.insert(findings.end(), notes.begin(), notes.end());
}

}  // namespace jaxscope
