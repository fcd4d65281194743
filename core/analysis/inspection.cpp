// SPDX-License-Identifier: Apache-2.0
#include "analysis/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "analysis/equations/cost.h"
#include "analysis/residual_rows.h"
#include "analysis/sharding/distribution.h"
#include "analysis/sharding/per_device.h"
#include "analysis/sharding/sharded_run.h"
#include "analysis/stages/stage_cache.h"
#include "analysis/stages/step.h"
#include "analysis/stages/subject.h"
#include "analysis/summary.h"
#include "base/progress.h"
#include "base/supervised.h"
#include "base/units.h"
#include "calls/remat/remat_lowering.h"
#include "jit/targets.h"
#include "transforms/policies.h"
#include "transforms/vjp.h"

namespace jaxscope {

namespace {

std::string numbers_key(const std::optional<std::vector<int>>& numbers) {
    if (!numbers) return "-";
    std::string s;
    for (const int n : *numbers) s += std::to_string(n) + ",";
    return s;
}
/// What the region's derivation depends on.
std::string subject_key(const Choices& c) {
    std::string s = fmt::format("r{} w{}{} p{}", c.region, c.wrt_all ? "all" : "", numbers_key(c.wrt), c.policy ? policy_words(c) : "-");
    for (const Choices::Replacement& r : c.replace_policy) s += "|" + r.site + "=" + (r.policy ? policy_text(*r.policy) : "none");
    if (c.by_hand) {
        s += fmt::format("|by hand{}", static_cast<int>(c.marked_at));
        for (const HandMark& m : *c.by_hand) s += fmt::format("|{}\n{}\n{}\n{}", m.place, m.primitive, m.aval, m.offload);
    }
    return s;
}
std::string step_key(const Choices& c) { return c.changes_program() || c.as_step ? subject_key(c) : "as captured"; }
std::string donation_key(const Choices& c) { return "d" + numbers_key(c.donate) + "-" + numbers_key(c.kept_back); }
std::string jit_key(const JitOptions& o) {
    return fmt::format("j{} {} {} {} {} {} {} {} {}", o.threads, o.fuse, o.recompute_cheap, o.schedule, o.debug, o.debug_prints,
                       o.write_prints, o.target ? o.target->name : "", static_cast<int>(o.remat_lowering));
}

std::vector<bool> donated_arguments(const Program& p, const Choices& c) {
    if (!c.donate) return p.donated;
    const int last = p.arg_of_input.empty() ? -1 : *std::max_element(p.arg_of_input.begin(), p.arg_of_input.end());
    for (const int a : *c.donate)
        if (a < 0 || a > last)
            throw Error(ErrorCode::NotFound, fmt::format("expected arguments to donate from 0 to {}, found {}", last, a));
    std::vector<bool> out;
    for (const int a : p.arg_of_input) out.push_back(std::find(c.donate->begin(), c.donate->end(), a) != c.donate->end());
    return out;
}

std::vector<bool> donated_inputs(const Program& p, const Choices& c) {
    std::vector<bool> out = donated_arguments(p, c);
    for (const int leaf : c.kept_back)
        if (leaf >= 0 && static_cast<std::size_t>(leaf) < out.size()) out[static_cast<std::size_t>(leaf)] = false;
    return out;
}

/// Leaves of donated arguments that the user keeps.
std::vector<DonatedLeaf> kept_back_leaves(const Program& p, const Choices& c) {
    const std::vector<bool> donated = donated_arguments(p, c);
    std::vector<DonatedLeaf> out;
    for (const int leaf : c.kept_back) {
        const auto at = static_cast<std::size_t>(leaf);
        if (leaf < 0 || at >= donated.size() || !donated[at] || at >= p.in_paths.size()) continue;
        const AvalRef aval = p.jaxpr->aval(p.jaxpr->invar(static_cast<std::uint32_t>(leaf)));
        DonatedLeaf kept{leaf, p.in_paths[at].str(), to_text(aval), aval->bytes()};
        kept.reason = "kept back by hand; in Python it is passed as an argument of its own";
        out.push_back(std::move(kept));
    }
    return out;
}

std::uint64_t next_derivation() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

Error of_one_device(const std::string& what) {
    return {ErrorCode::CannotRun, "expected " + what + " of a program of one device, found one of several"};
}
/// What the program of each device isn't made for yet, and what JAX refuses there.
void refuse_over_devices(const Jaxpr& step, const JitOptions& options) {
    for (const Jaxpr* j : all_jaxprs(step))
        for (const Eqn& e : j->eqns)
            if (const EffectSet ordered = e.effects.filter_in(&EffectTraits::ordered); !ordered.empty() && !e.params->holds_jaxpr())
                throw Error(ErrorCode::CannotRun,
                            std::string("expected no ordered effect in a program over several devices (as JAX), found ") + ordered.str() +
                                " of " + e.prim->name)
                    .at(e.source.loc());
    if (options.debug) throw of_one_device("debug mode");
    if (options.target && !options.target->sharded) throw of_one_device(std::string("an estimate for ") + options.target->name);
    if (options.remat_lowering != RematLowering::Barrier) throw of_one_device("another lowering of recomputation");
}

SplitReport make_split(const Subject& s, const Choices& c, ResidualReport residuals) {
    SplitReport out;
    out.residuals = std::move(residuals);
    const JaxprPtr j = with_policy(s.jaxpr, c);
    const Linearized found = linearize(j, s.wrt, s.num_outputs);
    auto known = std::make_shared<Jaxpr>(*found.forward);
    known->arg_names = s.in_paths;
    known->arg_names.resize(known->num_invars);
    out.known = std::move(known);
    out.unknown = found.linear;
    out.num_residuals = found.num_residuals;
    out.wrt = s.wrt;
    out.residual_of_known.assign(out.known->outvars.size() - found.num_residuals, false);
    out.residual_of_known.resize(out.known->outvars.size(), true);
    for (const auto& [primitive, work] : recomputed_work(*out.unknown, out.num_residuals)) {
        out.recomputed.push_back({primitive, work.count, work.flops});
        out.recomputed_flops += work.flops;
    }
    std::stable_sort(out.recomputed.begin(), out.recomputed.end(),
                     [](const RecomputedRow& x, const RecomputedRow& y) { return x.flops > y.flops; });
    out.total_flops = cost_of(*out.known).flops + cost_of(*out.unknown).flops;
    return out;
}

}  // namespace

Inspection::Inspection(ProgramPtr program, Choices choices, const Inspection* share)
    : program_(std::move(program)),
      choices_(std::move(choices)),
      stages_(std::make_shared<HeldStages>(share && share->program_ == program_ ? share->stages_->shared()
                                                                                : std::make_shared<StageCache>(type_mesh(*program_)))),
      cancel_(std::make_shared<CancelToken>()) {}
Inspection::~Inspection() = default;

const ProgramSummary& Inspection::summary() const {
    const CancelScope scope(*cancel_);
    return stages_->get<ProgramSummary>("summary", [&] { return summarize(*program_); });
}

std::uint64_t Inspection::derivation() const { return stages_->get<std::uint64_t>("derivation " + subject_key(choices_), next_derivation); }

std::optional<int> Inspection::region() const { return chosen_region(*program_, choices_); }

const ResidualReport& Inspection::residuals() const {
    const CancelScope scope(*cancel_);
    return stages_->get<ResidualReport>(fmt::format("residuals {} {} {}", subject_key(choices_), choices_.expand, choices_.project), [&] {
        const Subject s = make_subject(*program_, choices_);
        ResidualReport r = residual_report(s, choices_, derivation(), shares_of(s));
        r.unknown_verdicts = unknown_rows(s, choices_);
        return r;
    });
}
std::vector<UnknownVerdictRow> Inspection::unknown_verdicts() const {
    const TransformScope scope(stages_->shared()->transforms);
    return unknown_rows(make_subject(*program_, choices_), choices_);
}

const SplitReport& Inspection::split() const {
    const CancelScope scope(*cancel_);
    return stages_->get<SplitReport>("split " + subject_key(choices_) + choices_.project,
                                     [&] { return make_split(make_subject(*program_, choices_), choices_, residuals()); });
}

const std::vector<TransformStage>& Inspection::transformed() const {
    const CancelScope scope(*cancel_);
    return stages_->get<std::vector<TransformStage>>("transformed " + subject_key(choices_), [&] {
        const Subject s = make_subject(*program_, choices_);
        return transform_stages(with_policy(s.jaxpr, choices_), s.wrt, s.num_outputs);
    });
}

Inspection Inspection::as_captured() const {
    Choices c = choices_;
    c.clear_policies();
    c.as_step = false;
    Inspection plain(program_, std::move(c), this);
    plain.cancel_ = cancel_;
    return plain;
}

Shares Inspection::shares_of(const Subject& s) const {
    const Inspection plain = as_captured();
    const PerDevice& cut = plain.per_device();
    if (!cut) return {};
    return jaxscope::shares_of(*program_, *cut.program, s.region);
}

const DonationReport& Inspection::donation() const {
    const CancelScope scope(*cancel_);
    return stages_->get<DonationReport>("donation " + donation_key(choices_), [&] {
        std::vector<bool> donated = donated_inputs(*program_, choices_);
        const Inspection plain = as_captured();
        const PerDevice& cut = plain.per_device();
        DonationReport report =
            pair_donations(*program_, std::move(donated), cut ? std::optional(shares(*program_, *cut.program)) : std::nullopt);
        report.kept_back = kept_back_leaves(*program_, choices_);
        return report;
    });
}

const PerDevice& Inspection::per_device() const {
    const CancelScope scope(*cancel_);
    return stages_->get<PerDevice>("per device " + step_key(choices_), [&] {
        const bool own_results = !choices_.changes_program() || chosen_region(*program_, choices_).has_value();
        return jaxscope::per_device(*program_, step().jaxpr,
                                    own_results && step().jaxpr->outvars.size() == program_->jaxpr->outvars.size());
    });
}

const Step& Inspection::step() const {
    const CancelScope scope(*cancel_);
    return stages_->get<Step>("step " + step_key(choices_), [&] { return make_step(*program_, choices_); });
}

const MemoryPlan& Inspection::plan() const {
    const CancelScope scope(*cancel_);
    return stages_->get<MemoryPlan>(fmt::format("plan {} {} {}", step_key(choices_), donation_key(choices_), jit_key(choices_.jit)), [&] {
        JitOptions jit = choices_.jit;
        const PerDevice& cut = per_device();
        if (cut) refuse_over_devices(*step().jaxpr, jit);
        jit.over_devices = static_cast<bool>(cut);
        MemoryPlan plan = plan_only(cut ? cut.program->body : step().jaxpr, donation().alias_of_output, step().kept, jit);
        // Equations of a device's program are in no picture of the whole one.
        plan.derivation = cut ? stages_->get<std::uint64_t>("device derivation " + subject_key(choices_), next_derivation) : derivation();
        return plan;
    });
}

namespace {

/// A limit holds for what was measured, too, however short it was there.
void refuse_excess(const RunResult& r, std::int64_t limit) {
    if (limit > 0 && r.measured_peak.value_or(0) > allowed_memory(limit))
        throw Error(ErrorCode::CannotRun, fmt::format("expected the run within {} of memory, found a peak of {}", bytes_text(limit),
                                                      bytes_text(*r.measured_peak)));
}

}  // namespace

void Inspection::run_on(const sharding::Partitioned& devices, std::vector<ArrayPtr> inputs, const RunRequest& request,
                        RunReport& out) const {
    refuse_over_devices(*step().jaxpr, choices_.jit);
    if (request.profile) throw of_one_device("a profile");
    refuse_too_large(devices, plan().planned_peak, choices_.jit.memory_limit);
    DeviceRun run = run_on_devices(devices, donation(), std::move(inputs), request.repeat, choices_.jit.debug_prints, request.carrier);
    out.result.onlookers = std::move(run.onlookers);
    out.compile_seconds = out.result.compile_seconds = run.compile_seconds;
    out.result.first_seconds = run.first_seconds;
    out.result.best_seconds = run.best_seconds;
    out.result.median_seconds = run.median_seconds;
    for (const DevicePeak& p : run.peaks) {
        out.device_peaks.push_back(p.bytes);
        out.device_uses.push_back({p.bytes, p.own, p.at});
    }
    out.result.measured_peak = *std::max_element(out.device_peaks.begin(), out.device_peaks.end());
    out.outputs = out.result.outputs = std::move(run.outputs);
}

RunReport Inspection::run(const RunRequest& request) const {
    const TransformScope scope(stages_->shared()->transforms);
    RunReport out;
    // A time limit is a cancel that comes by itself, and of this run alone: what is asked for afterwards has its own time.
    CancelToken time_is_up;
    const CancelScope cancelled_by_user(*cancel_), limited(time_is_up);
    std::jthread clock;
    if (request.timeout_seconds > 0)
        clock = std::jthread([&, limit = request.timeout_seconds](const std::stop_token& stop) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit);
            while (!stop.stop_requested() && std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (!stop.stop_requested()) time_is_up.cancel();
        });
    try {
        const auto begin = std::chrono::steady_clock::now();
        Progress progress("run");
        progress.begin("deriving what is to run");
        const JaxprPtr program = step().jaxpr;
        out.transform_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const PerDevice& cut = per_device();
        progress.begin("planning and compiling");
        const auto executable = cut ? nullptr : Executable::compile(program, donation().alias_of_output, step().kept, choices_.jit);
        std::vector<ArrayPtr> inputs = request.inputs.empty() ? program_->values : request.inputs;
        inputs.resize(program->num_invars);
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (!inputs[i] || !inputs[i]->known()) out.synthesised.push_back(static_cast<int>(i));
        out.made_up_constants = made_up_constants(*program);
        if (request.carrier && !cut)
            throw Error(ErrorCode::CannotRun, cut.why_global.empty()
                                                  ? "expected a program over several devices for several processes, found one for one"
                                                  : "expected a program that can be cut for several processes, found: " + cut.why_global);
        if (cut) {
            run_on(*cut.program, std::move(inputs), request, out);
            refuse_excess(out.result, choices_.jit.memory_limit);
            return out;
        }
        RunOptions options;
        options.repeats = std::max(1, request.repeat);
        options.timeline = true;
        options.profile = request.profile;
        out.result = executable->run(inputs, options);
        refuse_excess(out.result, choices_.jit.memory_limit);
        out.outputs = out.result.outputs;
        out.compile_seconds = out.result.compile_seconds;
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled && time_is_up.cancelled())
            throw Error(ErrorCode::CannotRun,
                        fmt::format("expected the run to end within {} s, found it still running", request.timeout_seconds));
        throw;
    }
    return out;
}

}  // namespace jaxscope
