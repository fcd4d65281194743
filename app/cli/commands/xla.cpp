// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "app/cli/program_arguments.h"
#include "asking/exported.h"
#include "base/error.h"
#include "io/dumps/dump.h"
#include "report/dumps/dump_page.h"

namespace jaxscope::cli {

namespace fs = std::filesystem;

namespace {

/// What XLA itself wrote: its texts, together and by the equations of a capture.
class Xla final : public Command {
public:
    explicit Xla(Arguments& a) {
        a.positional("TEXT", texts_,
                     "texts of one compilation (HLO, StableHLO, buffer assignment, live ranges, memory usage, an out-of-memory message; - "
                     "for standard input), a file of jax.export, or the folder of --xla_dump_to");
        a.option("--capture", args_.file, "the capture of the same function: names its equations");
        a.option("--module", module_, "which compilation of the folder, as module_0012 or jit_train_step");
        a.option("--python", python_, "the Python that reads files of jax.export (default: JAXSCOPE_PYTHON, else python3)");
        a.flag("--json", args_.json, "one JSON object on standard output");
        a.flag("--all", args_.all, "every row of every table");
    }
    int run() override {
        if (texts_.empty()) throw Error(ErrorCode::BadUsage, "expected at least one text of XLA, found none");
        std::vector<CompilerDump> dumps;
        for (const std::string& file : files()) dumps.push_back(read(file));
        const ProgramPtr program = args_.file.empty() ? nullptr : args_.load();
        const DumpReport report = dump_report(dumps, program.get());
        args_.note(report.notes);
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "xla", args_.notes);
            w.key("dump");
            write_json(w, report);
            finish_json(w);
        } else {
            Page page = args_.page();
            dump_page(page, report);
        }
        return 0;
    }

private:
    std::vector<std::string> files() const {
        std::vector<std::string> out;
        for (const std::string& text : texts_) {
            std::error_code error;
            if (!fs::is_directory(text, error)) {
                out.push_back(text);
                continue;
            }
            const std::vector<std::string> found = in_folder(text);
            out.insert(out.end(), found.begin(), found.end());
        }
        return out;
    }
    /// The texts behind the optimisations of one compilation: "module_0012.jit_f.cpu_after_optimizations-live-range.txt".
    std::vector<std::string> in_folder(const std::string& folder) const {
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
        if (!module_.empty()) std::erase_if(modules, [&](const auto& m) { return m.first.find(module_) == std::string::npos; });
        if (modules.empty())
            throw Error(ErrorCode::NotFound, names.empty()
                                                 ? "expected module_*.after_optimizations*.txt in '" + printable(folder) + "', found none"
                                                 : "expected one of the compilations " + names + ", found '" + printable(module_) + "'")
                .advise("XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text\" makes XLA write them");
        if (modules.size() > 1)
            throw Error(ErrorCode::BadUsage, "expected --module to say which compilation of '" + printable(folder) + "', found " + names);
        std::vector<std::string>& files = modules.begin()->second;
        std::sort(files.begin(), files.end());
        return files;
    }
    CompilerDump read(const std::string& file) const {
        std::string text;
        if (file == "-") {
            text.assign(std::istreambuf_iterator<char>(std::cin), {});
            return read_dump(text, "<stdin>");
        }
        std::ifstream in(file, std::ios::binary);
        if (!in) throw Error(ErrorCode::NotFound, "expected a text of XLA, found no file '" + printable(file) + "'");
        text.assign(std::istreambuf_iterator<char>(in), {});
        if (!dump_kind(text) && looks_exported(text)) text = stablehlo_of_exported(file, python_);
        return read_dump(text, file);
    }

    ProgramArguments args_;
    std::vector<std::string> texts_;
    std::string module_, python_;
};

}  // namespace

std::unique_ptr<Command> make_xla(Arguments& a) { return std::make_unique<Xla>(a); }

}  // namespace jaxscope::cli
