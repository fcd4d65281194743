// SPDX-License-Identifier: Apache-2.0
#include "asking/ask_xla.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "asking/capture_package.h"
#include "base/atomic_file.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/notes.h"
#include "base/subprocess.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "io/capture/writer.h"

namespace jaxscope {

namespace {

using Json = nlohmann::json;

std::optional<std::int64_t> bytes_of(const Json& analysis, const char* key) {
    const auto found = analysis.find(key);
    if (found == analysis.end() || !found->is_number()) return std::nullopt;
    return found->get<std::int64_t>();
}

std::string text_of(const Json& entry, const char* key) {
    const auto found = entry.find(key);
    return found == entry.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

XlaWord read_word(const Json& said) {
    XlaWord word;
    word.target = text_of(said, "target");
    word.problem = text_of(said, "problem");
    word.kept = said.value("kept", false);
    word.notes = said.value("notes", word.notes);
    const auto facts = said.find("facts");
    if (facts == said.end()) return word;
    word.device = text_of(*facts, "device");
    word.version = text_of(*facts, "libtpu");
    if (word.version.empty()) word.version = text_of(*facts, "version");
    word.compile_seconds = facts->value("compile_seconds", 0.0);
    const Json& memory = facts->at("memory_analysis");
    if (!memory.is_object()) {
        if (word.problem.empty()) word.problem = "this compiler has no memory analysis";
        return word;
    }
    word.peak = bytes_of(memory, "peak_memory_in_bytes");
    word.temporaries = bytes_of(memory, "temp_size_in_bytes");
    word.arguments = bytes_of(memory, "argument_size_in_bytes");
    word.outputs = bytes_of(memory, "output_size_in_bytes");
    word.aliased = bytes_of(memory, "alias_size_in_bytes");
    // XLA's CPU compiler leaves its temporaries out of the peak; they are one allocation there, which stands as long as the program runs.
    if (word.target == "cpu" && word.arguments && word.outputs && word.aliased && word.temporaries)
        word.peak = *word.arguments + *word.outputs - *word.aliased + *word.temporaries;
    if (!word.peak && word.problem.empty()) word.problem = "this XLA says no peak";
    return word;
}

/// The files, and what is asked of them.
std::string question_text(const std::vector<NamedProgram>& programs, const XlaQuestion& question, const TemporaryFolder& folder) {
    Json asked = {{"targets", question.targets}, {"target_python", nullptr}, {"timeout", nullptr}, {"programs", Json::array()}};
    if (!question.target_python.empty()) asked["target_python"] = question.target_python;
    if (question.seconds > 0) asked["timeout"] = question.seconds;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const std::string file = folder.file(std::to_string(i) + ".jaxscope");
        Program plain = programs[i].program;
        plain.files.clear();  // comments of the user's make no other program
        write_capture(plain, file, {.compress = false});
        asked["programs"].push_back({{"label", printable(programs[i].label)}, {"file", file}});
    }
    return asked.dump();
}

[[noreturn]] void refuse(const ProcessResult& done, const std::string& python) {
    const Json answer = Json::parse(done.output, nullptr, false);
    if (answer.is_object() && answer.contains("refused")) throw Error(ErrorCode::BadUsage, text_of(answer, "refused"));
    const std::string said = last_word(done);
    if (done.exit_code == 127 || said.find("No module named 'jax'") != std::string::npos)
        throw Error(ErrorCode::CannotRun, "expected a Python with JAX to rebuild the program with, found none in " + printable(python))
            .advise("--python EXE, or the variable JAXSCOPE_PYTHON");
    throw Error(
        ErrorCode::CannotRun,
        "expected XLA's word on the program, found that " +
            (done.exit_code > 128 ? std::string("signal: ") + strsignal(done.exit_code - 128) + " ended Python"
                                  : "Python ended with exit code " + std::to_string(done.exit_code) + (said.empty() ? "" : ": " + said)));
}

}  // namespace

std::vector<std::vector<XlaWord>> ask_xla(const std::vector<NamedProgram>& programs, const XlaQuestion& question) {
    const TemporaryFolder folder;
    const FilesForAChild for_child;
    ProcessRequest request;
    const std::string python = python_of(question.python);
    request.command = {python, "-m", "jaxscope.targets.ask"};
    request.input = question_text(programs, question, folder);
    request.forward_stderr = question.tell && loudness() != Loudness::Quiet;
    add_capture_package(request);
    // Compilers of targets have processes of their own: no TPU of this machine, nor a libtpu without one, is started in this one.
    request.environment["JAX_PLATFORMS"] = "cpu";
    const ProcessResult done = run_process(request);
    if (done.cancelled) throw_cancelled();
    if (done.exit_code != 0) refuse(done, python);
    std::vector<std::vector<XlaWord>> words(programs.size());
    std::istringstream lines(done.output);
    std::string line;
    try {
        for (std::size_t n = 0; std::getline(lines, line); ++n)
            words.at(n / question.targets.size()).push_back(read_word(Json::parse(line)));
    } catch (const std::exception& e) {
        throw Error(ErrorCode::CannotRun, std::string("expected XLA's word on the program, found what can't be read: ") + e.what());
    }
    return words;
}

}  // namespace jaxscope
