// SPDX-License-Identifier: Apache-2.0
#include "asking/xla_texts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "asking/exported.h"
#include "base/error.h"
#include "io/dumps/dump.h"

namespace jaxscope {

namespace fs = std::filesystem;

namespace {

/// The texts behind the optimisations of one compilation: "module_0012.jit_f.cpu_after_optimizations-live-range.txt".
std::vector<std::string> in_folder(const std::string& folder, const std::string& module) {
    std::map<std::string, std::vector<std::string>> modules;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        const std::size_t after = name.find("after_optimizations");
        if (!name.starts_with("module_") || after == std::string::npos) continue;
        const std::string rest = name.substr(after + std::string_view("after_optimizations").size());
        if (rest != ".txt" && rest != "-buffer-assignment.txt" && rest != "-live-range.txt") continue;
        modules[name.substr(0, name.rfind('.', after))].push_back(entry.path().string());
    }
    std::string names;
    for (const auto& [name, _] : modules) names += (names.empty() ? "" : ", ") + name;
    if (!module.empty()) std::erase_if(modules, [&](const auto& m) { return m.first.find(module) == std::string::npos; });
    if (modules.empty())
        throw Error(ErrorCode::NotFound, names.empty()
                                             ? "expected module_*.after_optimizations*.txt in '" + printable(folder) + "', found none"
                                             : "expected one of the compilations " + names + ", found '" + printable(module) + "'")
            .advise("XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text\" makes XLA write them");
    if (modules.size() > 1)
        throw Error(ErrorCode::BadUsage, "expected --module to say which compilation of '" + printable(folder) + "', found " + names);
    std::vector<std::string>& files = modules.begin()->second;
    std::sort(files.begin(), files.end());
    return files;
}
CompilerDump read(const std::string& file, const std::string& python) {
    std::string text;
    if (file == "-") {
        text.assign(std::istreambuf_iterator<char>(std::cin), {});
        return read_dump(text, "<stdin>");
    }
    std::ifstream in(file, std::ios::binary);
    if (!in) throw Error(ErrorCode::NotFound, "expected a text of XLA, found no file '" + printable(file) + "'");
    text.assign(std::istreambuf_iterator<char>(in), {});
    if (!dump_kind(text) && looks_exported(text)) text = stablehlo_of_exported(file, python);
    return read_dump(text, file);
}

}  // namespace

std::vector<CompilerDump> read_xla_texts(const std::vector<std::string>& paths, const std::string& module, const std::string& python) {
    std::vector<CompilerDump> dumps;
    for (const std::string& path : paths) {
        std::error_code error;
        if (fs::is_directory(path, error))
            for (const std::string& file : in_folder(path, module)) dumps.push_back(read(file, python));
        else
            dumps.push_back(read(path, python));
    }
    return dumps;
}

bool is_xla_text(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return true;
    std::ifstream in(path, std::ios::binary);
    std::string head(1 << 16, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    return dump_kind(head).has_value() || looks_exported(head);
}

}  // namespace jaxscope
