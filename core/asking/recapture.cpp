// SPDX-License-Identifier: Apache-2.0
#include "asking/recapture.h"

#include <nlohmann/json.hpp>

#include "asking/capture_package.h"
#include "base/atomic_file.h"
#include "base/notes.h"
#include "base/units.h"
#include "io/load_program.h"

namespace jaxscope {

namespace {

using Json = nlohmann::json;

ErrorCode code_of(const ProcessResult& result) {
    return result.exit_code == exit_code(ErrorCode::CannotRun) ? ErrorCode::CannotRun : ErrorCode::BadInput;
}

/// What the package, or whatever ended it, says of a failure.
[[noreturn]] void fail(const ProcessResult& result, const std::string& target, double timeout) {
    if (result.cancelled) throw Error(ErrorCode::Cancelled, "cancelled");
    if (result.timed_out)
        throw Error(ErrorCode::CannotRun, "expected the capture to end within " + seconds_text(timeout) + ", found it still running");
    const std::string word = last_word(result);
    throw Error(code_of(result), word.empty() ? "expected Python to capture " + target + ", found that it ended with exit code " +
                                                    std::to_string(result.exit_code)
                                              : word);
}

/// What the capture package prints, which has `key`, when it captures the request's target with these options more.
Json said_by_python(const RecaptureRequest& request, const std::vector<std::string>& words, const char* key) {
    ProcessRequest r;
    r.command = {python_of(request.python), "-m", "jaxscope", request.target, "--json", "--no-compress"};
    r.command.insert(r.command.end(), words.begin(), words.end());
    if (!request.args.empty()) r.command.push_back("--args=" + request.args);
    if (!request.kwargs.empty()) r.command.push_back("--kwargs=" + request.kwargs);
    add_capture_package(r);
    r.timeout_seconds = request.timeout_seconds;
    r.forward_stderr = loudness() != Loudness::Quiet;
    const ProcessResult result = run_process(r);
    Json said = Json::parse(result.output, nullptr, false);
    if (said.is_object() && said.contains("problem")) throw Error(code_of(result), said.at("problem").get<std::string>());
    if (result.exit_code != 0 || !said.is_object() || !said.contains(key)) fail(result, request.target, request.timeout_seconds);
    return said;
}

}  // namespace

Recapture::Recapture(RecaptureRequest request) : request_(std::move(request)) { ask({}); }

void Recapture::prepare(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> missing;
    for (const std::int64_t n : sizes)
        if (!programs_.contains(n) && !problems_.contains(n) && std::find(missing.begin(), missing.end(), n) == missing.end())
            missing.push_back(n);
    if (!missing.empty()) ask(missing);
}

ProgramPtr Recapture::program(std::int64_t size) {
    prepare({size});
    if (const auto found = programs_.find(size); found != programs_.end()) return found->second;
    throw Error(ErrorCode::BadInput, problems_[size]);
}

void Recapture::ask(const std::vector<std::int64_t>& sizes) {
    std::vector<std::string> words{"--values", "none", "-o", folder_.file("{}.jaxscope")};
    for (const std::string& axis : request_.axes) words.push_back("--resize=" + axis);
    for (const std::int64_t n : sizes) words.push_back("--size=" + std::to_string(n));
    const Json said = said_by_python(request_, words, "captures");
    captured_size_ = said.at("size").get<std::int64_t>();
    for (const auto& one : said.at("captures")) {
        const auto size = one.at("size").get<std::int64_t>();
        if (one.contains("problem"))
            problems_[size] = one.at("problem").get<std::string>();
        else
            programs_[size] = load_program(one.at("output").get<std::string>());
    }
}

Rewritten recapture_rewritten(const RecaptureRequest& request, const std::string& edits) {
    const TemporaryFolder folder;
    const std::string asked = folder.file("edits.json"), output = folder.file("rewritten.jaxscope");
    {
        const FilesForAChild for_child;
        AtomicFile file(asked);
        file.stream() << edits;
        file.commit();
    }
    const Json said = said_by_python(request, {"--rewrite", asked, "-o", output}, "patch");
    return {load_program(output), said.at("patch").get<std::string>()};
}

}  // namespace jaxscope
