#include "analysis/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "analysis/equations/cost.h"
#include "analysis/region_splice.h"
#include "analysis/residual_rows.h"
#include "analysis/subject.h"
#include "analysis/summary.h"
#include "calls/remat.h"
#include "transforms/policies.h"
#include "transforms/vjp.h"

namespace jaxscope {

/// Stages by content: the same key, the same result. Shared by the inspections of one program. A stage is computed once even when two
/// threads ask for it: the second waits.
class StageCache {
public:
    template <class T, class Make>
    const T& get(const std::string& key, Make make) {
        std::shared_ptr<Entry> entry;
        {
            std::lock_guard lock(mutex_);
            auto& slot = entries_[key];
            if (!slot) slot = std::make_shared<Entry>();
            entry = slot;
        }
        std::lock_guard lock(entry->mutex);
        if (!entry->value.has_value())
            entry->value = std::make_shared<const T>(make());  // an error leaves it empty: asked again, tried again
        return *std::any_cast<const std::shared_ptr<const T>&>(entry->value);
    }

private:
    struct Entry {
        std::recursive_mutex mutex;
        std::any value;
    };
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Entry>> entries_;
};

namespace {

std::string numbers_key(const std::optional<std::vector<int>>& numbers) {
    if (!numbers) return "-";
    std::string s;
    for (const int n : *numbers) s += std::to_string(n) + ",";
    return s;
}
/// What the region's derivation depends on.
std::string subject_key(const Choices& c) {
    std::string s =
        fmt::format("r{} w{}{} p{}", c.region, c.wrt_all ? "all" : "", numbers_key(c.wrt), c.policy ? policy_text(*c.policy) : "-");
    for (const Choices::Replacement& r : c.replace_policy) s += "|" + r.site + "=" + (r.policy ? policy_text(*r.policy) : "none");
    return s;
}
std::string donation_key(const Choices& c) { return "d" + numbers_key(c.donate); }
std::string jit_key(const JitOptions& o) { return fmt::format("j{} {} {} {}", o.threads, o.fuse, o.recompute_cheap, o.schedule); }

/// `summary` and the regions don't depend on choices; the policy around the function is laid on here.
JaxprPtr with_policy(const Subject& s, const Choices& c) { return c.policy ? checkpoint(s.jaxpr, c.policy) : s.jaxpr; }

std::vector<bool> donated_inputs(const Program& p, const Choices& c) {
    if (!c.donate) return p.donated;
    const int last = p.arg_of_input.empty() ? -1 : *std::max_element(p.arg_of_input.begin(), p.arg_of_input.end());
    for (const int a : *c.donate)
        if (a < 0 || a > last)
            throw Error(ErrorCode::NotFound, fmt::format("expected arguments to donate from 0 to {}, found {}", last, a));
    std::vector<bool> out;
    for (const int a : p.arg_of_input) out.push_back(std::find(c.donate->begin(), c.donate->end(), a) != c.donate->end());
    return out;
}

/// A policy around the function overrules those inside: they aren't asked.
std::vector<UnknownVerdictRow> unknown_rows(const Subject& s, const Choices& c) {
    std::vector<UnknownVerdictRow> out;
    for (const UnknownVerdict& u : c.policy ? std::vector<UnknownVerdict>() : unknown_verdicts(*s.jaxpr))
        out.push_back({u.policy.str(), u.primitive->name.c_str(), u.signatures});
    return out;
}

SplitReport make_split(const Subject& s, const Choices& c, ResidualReport residuals) {
    SplitReport out;
    out.residuals = std::move(residuals);
    const JaxprPtr j = with_policy(s, c);
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

/// A capture says of a program with `differentiate` what its step would be: value and gradients.
JaxprPtr program_as_step(const Program& p, const Subject& s, const Choices& c) {
    if (p.differentiate_given && !s.region) return value_and_grad(with_policy(s, c), s.wrt, p.has_aux);
    return with_policy(s, c);
}

JaxprPtr rederive(const Program& p, const Choices& c) {
    const Subject s = make_subject(p, c);
    if (!s.region) return program_as_step(p, s, c);
    const Region& r = p.regions[static_cast<std::size_t>(*s.region)];
    if (!r.mark || !p.marked)
        throw Error(ErrorCode::NotFound,
                    fmt::format("expected region {} to stand in the step as one forward and one backward call, found none: {}", *s.region,
                                r.why_unmarked.empty() ? std::string("the capture doesn't say where it stands") : r.why_unmarked.str()));
    const Vjp derived = vjp(with_policy(s, c), r.wrt_inputs, s.num_outputs);
    return splice_region(p.marked, *r.mark, *derived.forward, *derived.backward, s.jaxpr->outvars.size());
}

}  // namespace

Inspection::Inspection(ProgramPtr program, Choices choices, const Inspection* share)
    : program_(std::move(program)),
      choices_(std::move(choices)),
      cache_(share && share->program_ == program_ ? share->cache_ : std::make_shared<StageCache>()),
      cancel_(std::make_shared<std::atomic<bool>>(false)) {}
Inspection::~Inspection() = default;

const ProgramSummary& Inspection::summary() const {
    return cache_->get<ProgramSummary>("summary", [&] { return summarize(*program_); });
}

std::optional<int> Inspection::region() const { return chosen_region(*program_, choices_); }

const ResidualReport& Inspection::residuals() const {
    return cache_->get<ResidualReport>(fmt::format("residuals {} {} {}", subject_key(choices_), choices_.expand, choices_.project), [&] {
        const Subject s = make_subject(*program_, choices_);
        ResidualReport r = residual_report(s, choices_);
        r.unknown_verdicts = unknown_rows(s, choices_);
        return r;
    });
}
std::vector<UnknownVerdictRow> Inspection::unknown_verdicts() const { return unknown_rows(make_subject(*program_, choices_), choices_); }

const SplitReport& Inspection::split() const {
    return cache_->get<SplitReport>("split " + subject_key(choices_) + choices_.project,
                                    [&] { return make_split(make_subject(*program_, choices_), choices_, residuals()); });
}

const DonationReport& Inspection::donation() const {
    return cache_->get<DonationReport>("donation " + donation_key(choices_),
                                       [&] { return pair_donations(*program_, donated_inputs(*program_, choices_)); });
}

JaxprPtr Inspection::program_to_run() const {
    if (!choices_.changes_program()) return program_->jaxpr;
    return cache_->get<JaxprPtr>("program " + subject_key(choices_), [&] { return rederive(*program_, choices_); });
}

const MemoryPlan& Inspection::plan() const {
    return cache_->get<MemoryPlan>(fmt::format("plan {} {} {}", subject_key(choices_), donation_key(choices_), jit_key(choices_.jit)),
                                   [&] { return plan_only(program_to_run(), donation().alias_of_output, program_->kept, choices_.jit); });
}

RunReport Inspection::run(const RunRequest& request) const {
    RunReport out;
    const auto begin = std::chrono::steady_clock::now();
    const JaxprPtr program = program_to_run();
    out.transform_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // A time limit is a cancel that comes by itself.
    std::atomic<bool> timed_out{false};
    std::jthread clock;
    if (request.timeout_seconds > 0)
        clock = std::jthread([&, limit = request.timeout_seconds](const std::stop_token& stop) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit);
            while (!stop.stop_requested() && std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (!stop.stop_requested()) {
                timed_out = true;
                cancel_->store(true);
            }
        });
    try {
        const auto executable = Executable::compile(program, donation().alias_of_output, program_->kept, choices_.jit, cancel_.get());
        std::vector<ArrayPtr> inputs = request.inputs.empty() ? program_->values : request.inputs;
        inputs.resize(program->num_invars);
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (!inputs[i] || !inputs[i]->known()) out.synthesised.push_back(static_cast<int>(i));
        RunOptions options;
        options.repeats = std::max(1, request.repeat);
        options.timeline = true;
        options.cancel = cancel_.get();
        out.result = executable->run(inputs, options);
        out.outputs = out.result.outputs;
        out.compile_seconds = out.result.compile_seconds;
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled && timed_out)
            throw Error(ErrorCode::CannotRun,
                        fmt::format("expected the run to end within {} s, found it still running", request.timeout_seconds));
        throw;
    }
    return out;
}

namespace {

PolicyRow policy_row(const Inspection& i, std::string name, bool run) {
    PolicyRow row;
    row.policy = std::move(name);
    try {
        row.residual_bytes = i.residuals().total_bytes;
        const SplitReport& split = i.split();
        row.recomputed_flops = split.recomputed_flops;
        row.total_flops = split.total_flops;
        row.planned_peak = i.plan().planned_peak;
        if (run) {
            RunRequest request;
            request.repeat = 3;
            const RunReport result = i.run(request);
            row.measured_peak = result.result.measured_peak;
            row.run_median = result.result.median_seconds;
        }
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        row.problem = e.what();
    }
    return row;
}

/// save_only_these_names of all names (checkpoint_name) in the function; null where it has none.
PolicyPtr policy_of_names(const Jaxpr& function) {
    Attrs names;
    std::set<Sym> seen;
    for (const Jaxpr* j : all_jaxprs(function))
        for (const Eqn& e : j->eqns) {
            const std::optional<Sym> name = given_name(*e.prim, e.params);
            if (name && seen.insert(*name).second) names.emplace_back(*name);
        }
    return names.empty() ? nullptr : make_policy(Sym("save_only_these_names"), std::move(names));
}

std::string choice_text(const Choices& c) {
    if (c.policy) return policy_text(*c.policy);
    std::string s;
    for (const Choices::Replacement& r : c.replace_policy)
        s += (s.empty() ? "inside: " : ", ") + (r.site.empty() ? "" : r.site + "=") + (r.policy ? policy_text(*r.policy) : "none");
    return s;
}

}  // namespace

std::vector<PolicyRow> Inspection::policies(const std::vector<Choices>& given, bool run) const {
    Choices plain = choices_;
    plain.policy = nullptr;
    plain.replace_policy.clear();
    const auto look = [&](Choices c) {
        Inspection one(program_, std::move(c), this);
        one.cancel_ = cancel_;
        return one;
    };
    std::vector<PolicyRow> rows;
    rows.push_back(policy_row(look(plain), "as it is", run));
    rows.back().as_it_is = true;
    const auto one = [&](const Choices& c) {
        if (cancel_->load()) throw Error(ErrorCode::Cancelled, "cancelled");
        rows.push_back(policy_row(look(c), choice_text(c), run));
    };
    std::vector<PolicyPtr> standard;
    for (const char* name : {"everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable"})
        standard.push_back(make_policy(name));
    if (PolicyPtr names = policy_of_names(*make_subject(*program_, plain).jaxpr)) standard.push_back(std::move(names));
    for (PolicyPtr& policy : standard) {
        Choices c = plain;
        c.policy = std::move(policy);
        one(c);
    }
    for (const Choices& c : given) one(c);
    return rows;
}

}  // namespace jaxscope
