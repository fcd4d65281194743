// SPDX-License-Identifier: Apache-2.0
#include "io/load_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"
#include "io/capture/reader.h"
#include "io/dumps/dump.h"
#include "io/text/parser.h"
#include "io/text/surroundings.h"

namespace jaxscope {

namespace fs = std::filesystem;

namespace {

/// First line of a Python file's docstring or of a C++ file's comment: what the sample is.
std::string title_of(const fs::path& source) {
    std::ifstream in(source);
    std::string line;
    std::getline(in, line);
    for (const std::string_view begin : {"\"\"\"", "// "})
        if (line.starts_with(begin)) line.erase(0, begin.size());
    if (line.ends_with("\"\"\"")) line.resize(line.size() - 3);
    return line;
}

std::string standard_input() { return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()}; }

std::string whole_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
/// A file's first words, by which jaxpr text is told.
std::string head_of(const std::string& path) {
    std::string head(4096, '\0');
    std::ifstream in(path, std::ios::binary);
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    return head;
}

/// A file whose ending says that it is jaxpr text, or that gzip packed, and that is neither that nor a capture.
[[noreturn]] void refuse_as_text(const std::string& file) {
    const std::string text = head_of(file);
    const OtherContent other = other_content(text);
    const std::string_view before = std::string_view(text).substr(0, other.offset);
    const std::size_t line_begin = before.rfind('\n') + 1;
    Error error(ErrorCode::BadInput, "expected the text of a jaxpr ({ lambda ...), found " + printable(other.found, 60));
    if (!other.advice.empty()) error.advise(other.advice);
    throw error.at(
        {file, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')), 1 + static_cast<int>(before.size() - line_begin)});
}

ProgramPtr load_file(const std::string& file) {
    const std::string head = head_of(file);
    if (looks_like_jaxpr_text(head)) return read_jaxpr_text(whole_file(file), file);
    if (file.ends_with(".py"))
        throw Error(ErrorCode::BadInput, "expected a capture or jaxpr text, found a Python file")
            .at({file, 1, 1})
            .advise("jaxscope capture " + printable(file, 60) + ":NAME -o OUT.jaxscope");
    if (!looks_like_capture(head))
        if (const std::optional<DumpKind> kind = dump_kind(head))
            throw Error(ErrorCode::BadInput, std::string("expected a capture or jaxpr text, found XLA's ") + dump_kind_text(*kind))
                .at({file, 1, 1})
                .advise("jaxscope xla " + printable(file, 60) + " reads it, with --capture by the equations of a capture");
    if ((file.ends_with(".jaxpr") || looks_like_gzip(head)) && !looks_like_capture(head)) refuse_as_text(file);
    return read_capture(file);
}
Error empty(const std::string& file) {
    return Error(ErrorCode::BadInput, "expected a capture or jaxpr text, found nothing").at({file, 0, 0});
}

Error no_file(const std::string& file) {
    Error error(ErrorCode::NotFound, "expected a capture or jaxpr text, found no file '" + printable(file) + "'");
    if (const std::string near = nearest_file(file); !near.empty()) return error.advise("did you mean " + printable(near) + "?");
    for (const BundledSample& s : bundled_samples())
        if (const std::string whole = "sample:" + s.name; s.name == file || edit_distance(whole, file) <= 2)
            return error.advise("did you mean " + whole + "?");
    return error;
}

std::string sample_file(const std::string& name) {
    const std::vector<BundledSample> samples = bundled_samples();
    std::string known;
    std::vector<std::string_view> names;
    for (const BundledSample& s : samples) {
        if (s.name == name) return s.capture;
        known += (known.empty() ? "" : ", ") + s.name;
        names.emplace_back(s.name);
    }
    throw unknown_name(ErrorCode::NotFound, "expected one of the samples " + known, name, names);
}

}  // namespace

std::string data_folder() {
    if (const char* given = std::getenv("JAXSCOPE_DATA"); given && *given) return given;
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    const fs::path in_build_tree = folder / "share" / "jaxscope", installed = folder.parent_path() / "share" / "jaxscope";
    return (fs::exists(in_build_tree / "samples", error) ? fs::canonical(in_build_tree, error) : installed).string();
}

std::vector<BundledSample> bundled_samples() {
    std::vector<BundledSample> out;
    std::error_code error;
    const fs::path folder = fs::path(data_folder()) / "samples";
    for (const auto& entry : fs::directory_iterator(folder / "captures", error)) {
        if (entry.path().extension() != ".jaxscope") continue;
        const std::string name = entry.path().stem().string();
        const fs::path in_cpp = folder / "cpp" / (name + ".cpp"),
                       source = fs::exists(in_cpp, error) ? in_cpp : folder / "python" / (name + ".py");
        out.push_back({name, title_of(source), source.string(), entry.path().string()});
    }
    std::sort(out.begin(), out.end(), [](const BundledSample& a, const BundledSample& b) { return a.name < b.name; });
    return out;
}

ProgramPtr load_program(const std::string& file) {
    ProgramPtr program;
    if (file == "-") {
        const std::string bytes = standard_input();
        if (bytes.empty()) throw empty("<stdin>");
        program = looks_like_jaxpr_text(bytes) ? read_jaxpr_text(bytes, "<stdin>") : read_capture_text(bytes, "<stdin>");
    } else if (file.starts_with("sample:")) {
        program = read_capture(sample_file(file.substr(7)));
    } else {
        std::error_code error;
        if (!fs::exists(file, error)) throw no_file(file);
        if (fs::is_directory(file, error)) throw Error(ErrorCode::BadInput, "expected a file, found the folder '" + printable(file) + "'");
        if (fs::is_regular_file(file, error) && fs::file_size(file, error) == 0 && !error && !file.ends_with(".jaxpr")) throw empty(file);
        program = load_file(file);
    }
    return program;
}

}  // namespace jaxscope
