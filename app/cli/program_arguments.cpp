// SPDX-License-Identifier: Apache-2.0
#include "app/cli/program_arguments.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "base/notes.h"
#include "base/text.h"
#include "base/units.h"
#include "calls/remat/remat_lowering.h"
#include "io/load_program.h"
#include "jit/targets.h"
#include "report/caveats.h"
#include "report/json/report_fields.h"
#include "transforms/inline_rules.h"
#include "transforms/policies.h"

namespace jaxscope::cli {

namespace {

HandMark hand_mark(const std::string& text, bool offload) {
    const std::size_t equals = text.find('=');
    HandMark mark{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1), "", offload};
    if (mark.place.empty()) throw Error(ErrorCode::BadUsage, "expected FILE:LINE or a name to save, found '" + printable(text) + "'");
    return mark;
}

/// `[SITE=]POLICY`. A policy's name holds no '=', so the first one ends the site.
Choices::Replacement replacement(const std::string& text) {
    const std::size_t paren = text.find('(');
    const std::size_t eq = text.substr(0, paren).rfind('=');
    if (eq == std::string::npos) return {"", parse_policy(text)};
    return {text.substr(0, eq), parse_policy(text.substr(eq + 1))};
}

/// `NAME=inline`, of which the names.
std::vector<std::string> inlined(const std::vector<std::string>& rules) {
    std::vector<std::string> names;
    for (const std::string& r : rules) {
        const std::size_t eq = r.rfind('=');
        if (eq == 0 || eq == std::string::npos || r.substr(eq + 1) != "inline")
            throw Error(ErrorCode::BadUsage, "expected NAME=inline after --rule, found '" + printable(r) + "'");
        names.push_back(r.substr(0, eq));
    }
    return names;
}

int region_number(const std::string& text) {
    if (text == "program") return Choices::kProgram;
    int n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < 0)
        throw Error(ErrorCode::BadUsage, "expected `program` or a number from 0 after --region, found '" + printable(text) + "'");
    return n;
}

/// What COLUMNS says, else the terminal's width; in files and pipes lines are as long as it takes.
std::size_t page_width(bool terminal) {
    constexpr std::size_t kLeast = 40, kUsual = 100;
    std::size_t columns = 0;
    if (const char* said = std::getenv("COLUMNS")) {
        const std::string_view text = said;
        if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
            error == std::errc() && end == text.data() + text.size() && columns > 0)
            return std::max(columns, kLeast);
    }
    if (!terminal) return std::numeric_limits<std::size_t>::max();
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? std::max<std::size_t>(size.ws_col, kLeast) : kUsual;
}

}  // namespace

void ProgramArguments::add_file(Arguments& a) {
    a.positional("FILE", file, "a .jaxscope capture, jaxpr text (.jaxpr, .txt), sample:NAME, or - for standard input");
    a.flag("--json", json, "one JSON object on standard output (schema jaxscope.report/1)");
    a.option("--rule", rules,
             "NAME=inline: differentiate the body of this custom_jvp or custom_vjp function (whose rule a text can't hold)");
    a.flag("--all", all, "every row of long tables, nothing grouped or cut");
}

void ProgramArguments::add_region(Arguments& a) {
    a.option("--region", region, "which differentiation: its index in `inspect`, or `program`");
    a.option("--wrt", wrt, "numbers of the arguments to differentiate by, e.g. 0,2, or `all`");
    a.option("--policy", policy,
             "wrap the function in jax.checkpoint with this policy, e.g. dots_saveable; 'each block: POLICY': each of its repeated blocks, "
             "or the body of its "
             "scan, instead");
    a.option("--replace-policy", replace_policy,
             "[SITE=]POLICY: give the checkpoints inside another policy (SITE: function name or FILE:LINE)");
    a.option("--save", save,
             "save what this line makes and recompute all else: FILE:LINE[=PRIMITIVE], or a name of checkpoint_name (may be repeated; "
             "none: nothing)");
    a.option("--offload", offload, "the same, to pinned_host");
    add_strict(a);
    a.option("--project", project, "the folder of your own files: their lines are the ones shown");
}

void ProgramArguments::add_strict(Arguments& a) {
    a.flag("--strict", strict, "refuse programs with a checkpoint policy that gave no answer when it was captured (else: not saved)");
}

std::shared_ptr<const Inspection> ProgramArguments::inspect() {
    auto inspection = std::make_shared<Inspection>(load(), choices());
    look_at(*inspection);
    return inspection;
}

void ProgramArguments::look_at(const Inspection& inspection) {
    refuse_unknown(inspection);
    note(caveats(inspection));
}

void ProgramArguments::note(const std::vector<std::string>& found) {
    for (const std::string& n : found) tell_note("note: " + n);
    notes.insert(notes.begin(), found.begin(), found.end());
}

void ProgramArguments::refuse_unknown(const Inspection& inspection) const {
    if (!strict) return;
    const std::vector<UnknownVerdictRow> unknown = inspection.unknown_verdicts();
    if (unknown.empty()) return;
    Error error(ErrorCode::BadInput, "expected an answer of the policy " + printable(unknown.front().policy) + " about '" +
                                         printable(unknown.front().primitive) + "', found that it gave none when the program was captured");
    if (unknown.size() > 1) error.in("the policies in it left " + std::to_string(unknown.size()) + " primitives unanswered");
    throw error.advise("leave --strict out: such equations count as not saved; or --replace-policy with one of JAX's");
}

void ProgramArguments::add_threads(Arguments& a) {
    a.option("--threads", threads, 0, "threads to plan for and run on (0: as many as OMP_NUM_THREADS says, else one a core)");
}

void ProgramArguments::add_execution(Arguments& a) {
    add_threads(a);
    a.option("--memory-limit", memory_limit, "refuse to run beyond this size, e.g. 2G; what is run is watched in a process of its own");
    a.option("--time-limit", time_limit, 0, "end after this many seconds, whatever is at work (0: never)");
    a.flag("--recompute-cheap", recompute_cheap, "let fusion recompute cheap values instead of keeping them, as XLA does");
    a.option("--remat-lowering", remat_lowering,
             "barrier, while or cond: what keeps the recomputation of a differentiated checkpoint apart from the first computation");
}

void ProgramArguments::add_target(Arguments& a) {
    a.option("--target", target, "estimate for this device's compiler instead of planning for this machine: tpu:v5p");
}

std::string ProgramArguments::estimated() const {
    const TargetDevice& device = target_device(target);
    return std::string("estimated for ") + device.name + ": " + device.accuracy;
}

ProgramPtr ProgramArguments::load() {
    const auto begin = std::chrono::steady_clock::now();
    ProgramPtr program = load_program(file);
    if (!rules.empty()) program = inline_rules(*program, inlined(rules));
    load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    tell_detail(fmt::format("{}: {} read in {}", printable(file), bytes_text(program->file_bytes), seconds_text(load_seconds)));
    note_target();
    return program;
}

bool ProgramArguments::within_limit(std::int64_t planned_peak, const char* of) const {
    const std::int64_t limit = memory_limit.empty() ? 0 : parse_size(memory_limit);
    if (limit <= 0 || planned_peak <= limit) return true;
    std::cerr << "jaxscope: " << printable(file) << ": expected a planned peak of at most " << bytes_text(limit) << ", found "
              << bytes_text(planned_peak) << of << '\n';
    return false;
}

void ProgramArguments::note_target() {
    notes.clear();
    if (!target.empty()) notes.push_back(estimated());
    for (const std::string& n : notes) tell_note("note: " + n);
}

Page ProgramArguments::page() const {
    PageStyle style;
    style.all = all;
    const char* no_colour = std::getenv("NO_COLOR");
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    style.colour = terminal && (!no_colour || *no_colour == '\0');
    style.width = page_width(terminal);
    return {std::cout, style};
}

Choices ProgramArguments::choices() const {
    Choices c;
    if (!region.empty()) c.region = region_number(region);
    if (wrt == "all")
        c.wrt_all = true;
    else if (!wrt.empty())
        c.wrt = parse_numbers(wrt, "--wrt");
    if (!policy.empty()) set_policy(c, policy);
    if (!save.empty() || !offload.empty()) {
        c.by_hand.emplace();
        for (const std::string& s : save)
            if (s != "none") c.by_hand->push_back(hand_mark(s, false));
        for (const std::string& s : offload) c.by_hand->push_back(hand_mark(s, true));
    }
    for (const std::string& r : replace_policy) c.replace_policy.push_back(replacement(r));
    if (!donate.empty()) c.donate = donate == "none" ? std::vector<int>{} : parse_numbers(donate, "--donate");
    c.expand = expand;
    c.project = project;
    c.jit.threads = threads;
    c.jit.recompute_cheap = recompute_cheap;
    c.jit.debug_prints = debug_prints;
    if (!remat_lowering.empty()) c.jit.remat_lowering = parse_remat_lowering(remat_lowering);
    if (!target.empty()) c.jit.target = &target_device(target);
    if (!memory_limit.empty()) c.jit.memory_limit = parse_size(memory_limit);
    return c;
}

ChildLimits ProgramArguments::limits() const { return {memory_limit.empty() ? 0 : parse_size(memory_limit), time_limit}; }

void begin_json(JsonWriter& w, const char* command, const std::vector<std::string>& notes) {
    w.begin_object();
    w.key("schema");
    w.value("jaxscope.report/1");
    w.key("command");
    w.value(command);
    if (notes.empty()) return;
    w.key("notes");
    write_json(w, notes);
}
void finish_json(JsonWriter& w) {
    w.end_object();
    std::cout << '\n';
    std::cout.flush();
}

}  // namespace jaxscope::cli
