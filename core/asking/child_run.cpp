// SPDX-License-Identifier: Apache-2.0
#include "asking/child_run.h"

#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/subprocess.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "calls/remat/remat_lowering.h"
#include "io/arrays/npz.h"
#include "io/capture/writer.h"

namespace jaxscope {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string command_line_program(const std::string& given) {
    if (!given.empty()) return given;
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path() / "jaxscope";
    return fs::exists(here, error) ? here.string() : "jaxscope";
}

std::vector<std::string> words_of(const ChildRun& run, const std::string& capture, const std::string& outputs) {
    std::vector<std::string> words = {command_line_program(run.command), "run", capture, "--json", "--region", "program", "--repeat",
                                      std::to_string(run.repeat)};
    const auto add = [&](const char* name, const std::string& value) { words.insert(words.end(), {name, value}); };
    if (run.outputs) add("--outputs", outputs);
    if (run.jit.threads > 0) add("--threads", std::to_string(run.jit.threads));
    if (run.jit.recompute_cheap) words.emplace_back("--recompute-cheap");
    if (run.jit.remat_lowering != RematLowering::Barrier) add("--remat-lowering", remat_lowering_name(run.jit.remat_lowering));
    if (run.limits.memory > 0) add("--memory-limit", std::to_string(run.limits.memory));
    if (run.limits.seconds > 0) add("--time-limit", std::to_string(run.limits.seconds));
    if (run.profile) words.emplace_back("--profile");
    return words;
}

[[noreturn]] void refuse(const ProcessResult& done, const Error& killed) {
    if (done.exit_code == exit_code(ErrorCode::Cancelled)) throw_cancelled();
    if (done.exit_code == exit_code(ErrorCode::BadInput)) throw Error(ErrorCode::BadInput, last_word(done));
    if (done.exit_code == 128 + SIGKILL) throw Error(killed);
    throw Error(ErrorCode::CannotRun, done.exit_code > 128 ? "expected the run to end by itself, found that signal " +
                                                                 std::to_string(done.exit_code - 128) + " ended it"
                                                           : last_word(done));
}

void read_memory(const Json& memory, RunResult& r) {
    if (memory.at("measured_peak").is_number()) r.measured_peak = memory.at("measured_peak").get<std::int64_t>();
    r.measurement_problem = memory.at("measurement_problem").get<std::string>();
    if (memory.at("arena_resident").is_number()) r.arena_resident = memory.at("arena_resident").get<std::int64_t>();
    for (const Json& row : memory.at("unplanned")) {
        const std::string source = row.at("source").get<std::string>();
        r.unplanned.push_back(
            {row.at("bytes").get<std::int64_t>(), row.at("equation").get<std::string>(), Sym(source.substr(0, source.find(' '))), {}});
    }
}

std::vector<LineTime> line_times(const Json& profile) {
    std::map<std::pair<std::string, int>, double> seconds;
    for (const Json& kernel : profile.at("kernels")) {
        if (kernel.at("share_of_roofline").is_null() || kernel.at("line").get<int>() <= 0) continue;  // a loop is its body's kernels
        seconds[{kernel.at("file").get<std::string>(), kernel.at("line").get<int>()}] += kernel.at("seconds").get<double>();
    }
    std::vector<LineTime> out;
    for (const auto& [place, taken] : seconds) out.push_back({place.first, place.second, taken});
    return out;
}

}  // namespace

ChildRunResult run_in_child(const ChildRun& run) {
    const TemporaryFolder folder;
    const FilesForAChild for_child;
    const std::string capture = folder.file("program.jaxscope"), outputs = folder.file("outputs.npz");
    write_capture(run.program, capture);
    ProcessRequest request;
    request.command = words_of(run, capture, outputs);
    const KilledBy killed_by;
    const ProcessResult done = run_process(request);
    if (done.cancelled) throw_cancelled();
    if (done.exit_code != 0) refuse(done, killed_by.error(run.planned_peak));
    ChildRunResult out;
    out.json = done.output;
    try {
        const Json said = Json::parse(done.output), &time = said.at("time");
        read_memory(said.at("memory"), out.result);
        out.device_peaks = said.at("memory").value("device_peaks", out.device_peaks);
        out.result.compile_seconds = time.at("compile").get<double>();
        out.result.first_seconds = time.at("first_run").get<double>();
        out.result.median_seconds = time.at("run_median").get<double>();
        out.result.best_seconds = time.at("run_min").get<double>();
        out.transform_seconds = time.at("transform").get<double>();
        out.synthesised = said.at("synthesised").get<std::vector<int>>();
        if (run.profile) out.line_times = line_times(said.at("profile"));
    } catch (const Json::exception& e) {
        throw Error(ErrorCode::CannotRun, std::string("expected a report of the run, found what can't be read: ") + e.what());
    }
    if (!run.outputs) return out;
    const NpzReader archive(outputs);
    const Jaxpr& j = *run.program.jaxpr;
    for (std::size_t k = 0; k < j.outvars.size(); ++k)
        out.result.outputs.push_back(archive.read("out" + std::to_string(k), j.aval(j.outvars[k])));
    return out;
}

}  // namespace jaxscope
