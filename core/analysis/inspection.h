// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of looking at a program, for command line, reports and window alike. Comes in: a Program and Choices. Goes out: facts as
// plain structs (analysis/stages/stages.h), computed once. Never here: sentences, colours, widths, formats: who shows a fact words it
// (core/report).
#include <memory>
#include <optional>
#include <vector>

#include "analysis/choices.h"
#include "analysis/stages/stages.h"
#include "analysis/stages/transformed.h"
#include "base/cancel.h"
#include "donation/pairing.h"

namespace jaxscope {

class HeldStages;
struct PerDevice;
namespace sharding {
struct Partitioned;
}
struct Shares;
struct Subject;

struct PolicyPlaces {
    bool blocks = false;  ///< around each of its repeated blocks, or the body of a scan
    bool inside = false;  ///< in checkpoints that are there
};

/// The result of looking at one program with one set of choices (DESIGN 2). Stages are computed on demand, once, on the calling
/// thread, and may be asked for from several threads. Throws Error where a stage can't be had.
class Inspection {
public:
    /// `share`: an inspection of the same program whose stages may be reused.
    Inspection(ProgramPtr program, Choices choices, const Inspection* share = nullptr);
    ~Inspection();
    Inspection(const Inspection&) = delete;
    Inspection& operator=(const Inspection&) = delete;
    Inspection(Inspection&&) = default;
    Inspection& operator=(Inspection&&) = default;

    const Program& program() const { return *program_; }
    ProgramPtr program_ptr() const { return program_; }
    const Choices& choices() const { return choices_; }
    /// Cancels whatever stage is being computed: it throws Error{Cancelled}.
    void cancel() const { cancel_->cancel(); }
    /// What `cancel` cancels: for what is made of the stages outside of this class, in a CancelScope of its own.
    const CancelToken& token() const { return *cancel_; }

    const ProgramSummary& summary() const;
    /// A number that inspections of this program share which look at it in one way: under other choices the forward part and the program to
    /// run are others, and their equations have other numbers.
    std::uint64_t derivation() const;
    /// The region that `residuals`, `split` speak of; nothing: the program itself.
    std::optional<int> region() const;
    const ResidualReport& residuals() const;
    /// What the policies in the function had no answer to (ResidualReport), without differentiating it.
    std::vector<UnknownVerdictRow> unknown_verdicts() const;
    const SplitReport& split() const;
    /// What each transformation makes of the function that `split` speaks of, under its policy.
    const std::vector<TransformStage>& transformed() const;
    const DonationReport& donation() const;
    /// What `plan` and `run` speak of.
    const Step& step() const;
    /// One device's share of `step`, where the program is spread over several: what `plan` and `run` speak of then.
    const PerDevice& per_device() const;
    const MemoryPlan& plan() const;
    RunReport run(const RunRequest& request) const;
    /// The what-if table: as it is, the standard policies, the names that the function has (save_only_these_names), then `given`.
    std::vector<PolicyRow> policies(const std::vector<Choices>& given, bool run) const;
    /// The same rows without figures: which policies `policy_choices` are, and where they stand.
    std::vector<PolicyRow> policy_rows(const std::vector<Choices>& choices) const;
    /// Where policies can be put into the function, but around all of it.
    PolicyPlaces policy_places() const;
    /// What its rows are made under, in order; the first is the program as it is.
    std::vector<Choices> policy_choices(const std::vector<Choices>& given) const;

private:
    /// The same program without a policy: how its values lie doesn't depend on one.
    Inspection as_captured() const;
    Shares shares_of(const Subject& subject) const;
    void run_on(const sharding::Partitioned& devices, std::vector<ArrayPtr> inputs, const RunRequest& request, RunReport& out) const;

    ProgramPtr program_;
    Choices choices_;
    std::shared_ptr<HeldStages> stages_;
    std::shared_ptr<CancelToken> cancel_;
};

}  // namespace jaxscope
