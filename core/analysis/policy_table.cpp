// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "analysis/inspection.h"
#include "analysis/sharding/per_device.h"
#include "analysis/stages/stage_cache.h"
#include "analysis/stages/subject.h"
#include "base/progress.h"
#include "transforms/policies.h"

namespace jaxscope {

namespace {

/// One figure of a row. What can't be had, for whatever reason, is missing in this row and in no other.
template <class Stage>
bool attempt(PolicyRow& row, Stage stage) {
    const auto missing = [&](const std::string& why) {
        if (row.problem.empty()) row.problem = why;
        return false;
    };
    try {
        stage();
        return true;
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        return missing(e.fact());
    } catch (const std::bad_alloc&) {
        return missing("expected enough memory, found none left");
    } catch (const std::exception& e) {
        return missing(std::string("a bug in jaxscope: ") + e.what());
    }
}

void fill(PolicyRow& row, const Inspection& i, bool run) {
    attempt(row, [&] {
        row.residual_bytes = i.residuals().total_bytes;
        row.residual_device_bytes = i.residuals().device_bytes;
    });
    attempt(row, [&] {
        const SplitReport& split = i.split();
        row.recomputed_flops = split.recomputed_flops;
        row.total_flops = split.total_flops;
    });
    const bool planned = attempt(row, [&] {
        row.of = i.step().of;
        row.planned_peak = i.plan().planned_peak;
        if (const PerDevice& cut = i.per_device()) row.sent_bytes = sent_bytes(*cut.program);
        for (const SpaceUse& use : i.plan().spaces) {
            (use.space == MemorySpace::Host ? row.host_peak : row.device_peak) = use.peak;
            if (use.space == MemorySpace::Host) row.moved_to_host = use.moved_in;
        }
    });
    if (run && planned)
        attempt(row, [&] {
            RunRequest request;
            request.repeat = 3;
            const RunReport result = i.run(request);
            row.measured_peak = result.result.measured_peak;
            if (!row.measured_peak) row.problem = "not measured: " + result.result.measurement_problem;
            row.run_median = result.result.median_seconds;
        });
}

constexpr std::int64_t kNoticed = std::int64_t{64} << 20;  ///< of a plan beside which libraries' own memory isn't noticed

/// A run of which nothing is kept: what libraries and threads take when they are first asked would be the first row's memory and time.
void warm_up(const Inspection& i) {
    PolicyRow unused;
    attempt(unused, [&] {
        if (i.plan().planned_peak < kNoticed) i.run({});
    });
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

/// What is worth trying around each block: where a policy saves all, a block's checkpoint does nothing.
std::vector<PolicyPtr> policies_for_blocks(PolicyPtr names) {
    std::vector<PolicyPtr> out = {make_policy("dots_with_no_batch_dims_saveable"), make_policy("nothing_saveable")};
    if (names) out.push_back(std::move(names));
    return out;
}

/// Where a policy of each block stands; nothing where there are no blocks.
std::optional<Placement> blocks_of(const Program& program, Choices choices) {
    choices.clear_policies();
    std::optional<Placement> found = block_placement(make_subject(program, choices).jaxpr);
    if (found) found->jaxpr = nullptr;
    return found;
}

std::string choice_text(const Choices& c) {
    if (c.policy) return policy_words(c);
    if (c.by_hand) return "by hand";
    std::string s;
    for (const Choices::Replacement& r : c.replace_policy)
        s += (s.empty() ? "inside: " : ", ") + (r.site.empty() ? "" : r.site + "=") + (r.policy ? policy_text(*r.policy) : "none");
    return s.empty() ? "none" : s;
}

}  // namespace

PolicyPlaces Inspection::policy_places() const {
    Choices plain = choices_;
    plain.clear_policies();
    const JaxprPtr function = make_subject(*program_, plain).jaxpr;
    return {.blocks = block_placement(function).has_value(), .inside = holds_checkpoint(*function)};
}

std::vector<Choices> Inspection::policy_choices(const std::vector<Choices>& given) const {
    Choices plain = choices_;
    plain.clear_policies();
    plain.as_step = true;  // all rows plan the same kind of step: like is compared with like
    std::vector<Choices> out = {plain};
    const JaxprPtr function = make_subject(*program_, plain).jaxpr;
    PolicyPtr names = policy_of_names(*function);
    std::vector<PolicyPtr> standard;
    for (const char* name : {"everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable"})
        standard.push_back(make_policy(name));
    if (names) standard.push_back(names);
    for (PolicyPtr& policy : standard) {
        out.push_back(plain);
        out.back().policy = std::move(policy);
    }
    if (block_placement(function))
        for (PolicyPtr& policy : policies_for_blocks(std::move(names))) {
            out.push_back(plain);
            out.back().policy = std::move(policy);
            out.back().each_block = true;
        }
    for (const Choices& c : given) {
        out.push_back(c);
        out.back().as_step = true;  // `none` asks for no other program
    }
    return out;
}

std::vector<PolicyRow> Inspection::policy_rows(const std::vector<Choices>& choices) const {
    std::vector<PolicyRow> rows;
    for (const Choices& c : choices) {
        PolicyRow row;
        row.as_it_is = rows.empty();
        row.policy = row.as_it_is ? "as it is" : choice_text(c);
        if (c.each_block) row.around = blocks_of(*program_, c);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<PolicyRow> Inspection::policies(const std::vector<Choices>& given, bool run) const {
    const TransformScope transforms_here(stages_->shared()->transforms);
    const CancelScope cancelled(*cancel_);
    const std::vector<Choices> choices = policy_choices(given);
    std::vector<PolicyRow> rows = policy_rows(choices);
    Progress progress("policies", static_cast<std::int64_t>(rows.size()));
    for (std::size_t k = 0; k < rows.size(); ++k) {
        check_cancelled();
        progress.begin(rows[k].policy);
        Inspection one(program_, choices[k], this);
        one.cancel_ = cancel_;
        if (rows[k].as_it_is && run) warm_up(one);
        fill(rows[k], one, run);
    }
    return rows;
}

}  // namespace jaxscope
