#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "donation/pairing.h"
#include "ir/program.h"
#include "jit/jit.h"

namespace jaxscope {

// ---- What the stages give. CLI, reports and views show these structs and compute nothing of their own. ----------------------

struct ProgramInput {
    std::string path, aval;
    std::int64_t bytes = 0;
    bool donated = false;
    bool is_static = false;
};
struct ProgramOutput {
    std::string path, aval;
    std::int64_t bytes = 0;
};
struct RegionRow {
    std::string name, kind;
    std::vector<int> wrt;
    std::string policy;  ///< policies of the checkpoints inside, e.g. "save_only_these_names(attn_out, mlp_in)"; empty: none
    std::int64_t equations = 0;
    std::string source;  ///< JAX's summary of the place of the call
    SourceLoc loc;
    std::optional<int> parent;
};
struct UnsupportedRow {
    std::string primitive;
    std::int64_t count = 0;
    std::string source;
    SourceLoc loc;
    std::vector<std::string> stops;  ///< "grad", "vmap", "run"
};
/// Equations that carry more than parameters: JAX's `compute_on`, `set_mesh`, `set_xla_metadata`, `threefry_partitionable`.
struct ContextRow {
    std::string compute_type, mesh, metadata;  ///< empty: none
    bool threefry_partitionable = true;
    std::int64_t equations = 0;  ///< of distinct jaxprs
};
struct FlagRow {
    std::string name, value;
};
struct ProgramSummary {
    std::string name, jax_version;
    std::int64_t equations = 0;                      ///< recursive
    std::map<std::string, std::int64_t> primitives;  ///< recursive; a sub-jaxpr counts once for each equation that names it
    std::vector<ProgramInput> inputs;
    std::vector<ProgramOutput> outputs;
    std::int64_t jaxprs = 0;  ///< distinct sub-jaxprs
    std::vector<RegionRow> regions;
    std::vector<UnsupportedRow> unsupported;
    std::vector<ContextRow> contexts;  ///< but for the one that says nothing
    std::vector<FlagRow> flags;        ///< JAX's, in force when it was captured
};

/// One value that the backward pass keeps (docstring of saved_residuals).
struct ResidualRow {
    std::string aval;
    std::string source;  ///< JAX's string: "named 'attn_out' from model.py:24:12 (block)"
    std::int64_t bytes = 0;
    std::string file;  ///< innermost frame of the user's own project
    int line = 0;
    std::vector<Frame> frames;
    std::string equation;  ///< path of the equation in the known part (SplitReport): "12", "12/jaxpr/3"; empty for arguments, constants
    std::string name;      ///< of checkpoint_name, else empty
    int input = -1;        ///< which input of the region, for arguments
};
struct UnknownVerdictRow {
    std::string policy, primitive;
    std::int64_t signatures = 0;  ///< applications that differ in avals or parameters
};
struct ResidualReport {
    std::vector<int> wrt;
    std::optional<int> region;  ///< null: the program itself
    std::string region_name;
    std::vector<ResidualRow> rows;
    std::int64_t total_bytes = 0;
    std::vector<UnknownVerdictRow> unknown_verdicts;  ///< what policies of the user's had no answer to: counted as not saved
};

struct RecomputedRow {
    std::string primitive;
    std::int64_t count = 0;
    double flops = 0;
};
struct SplitReport {
    JaxprPtr known;                       ///< forward part: outputs (and aux), then residuals
    JaxprPtr unknown;                     ///< backward part before transposition: residuals, then tangents
    std::vector<bool> residual_of_known;  ///< per result of `known`: is it a residual?
    std::size_t num_residuals = 0;
    std::vector<bool> wrt;  ///< per input of the function (`known->arg_names`): do tangents come in for it?
    ResidualReport residuals;
    std::vector<RecomputedRow> recomputed;
    double recomputed_flops = 0, total_flops = 0;
};

struct PolicyRow {
    std::string policy;  ///< as on the command line; "as it is" for the program unchanged
    bool as_it_is = false;
    std::string of;  ///< what the peaks and times are of (`Step::of`): the same kind of step in every row
    std::optional<std::int64_t> residual_bytes, planned_peak, measured_peak;  ///< null: `problem` says why
    double recomputed_flops = 0, total_flops = 0;
    std::optional<double> run_median;
    std::string problem;  ///< why a figure is missing
};

/// What one looks at: immutable. Two inspections of one program share the stages on which their choices don't differ.
struct Choices {
    static constexpr int kAuto = -2;  ///< the program where it says `differentiate` or differentiates nothing inside, else region 0
    static constexpr int kProgram = -1;
    int region = kAuto;
    std::optional<std::vector<int>> wrt;  ///< argument numbers; nothing: the region's own, or the capture's `differentiate`, else all
    bool wrt_all = false;
    PolicyPtr policy;  ///< wraps the function in checkpoint
    struct Replacement {
        std::string site;  ///< function name or FILE:LINE; empty: all checkpoints inside
        PolicyPtr policy;
    };
    std::vector<Replacement> replace_policy;
    std::optional<std::vector<int>> donate;  ///< argument numbers instead of the program's own
    /// Plan and run what a what-if plans and runs, without a policy too: value and gradient of a program that differentiates nothing
    /// (itself, where that can't be had).
    bool as_step = false;
    bool expand = false;
    std::string project;  ///< directory of the user's own files; empty: all outside site-packages
    JitOptions jit;
    /// Does this ask for another program than the captured one?
    bool changes_program() const { return policy || !replace_policy.empty(); }
};

/// The program to plan and run: the captured one, or what it becomes under a policy.
struct Step {
    JaxprPtr jaxpr;
    std::string of;                                ///< "the program", "the step", "value and gradient", "value and pullback"
    std::vector<std::string> in_paths, out_paths;  ///< cotangents and gradients included
    std::vector<bool> kept;                        ///< per input
};

struct RunRequest {
    std::vector<ArrayPtr> inputs;  ///< empty: captured values, synthesised where they were left out
    int repeat = 1;
    double timeout_seconds = 0;  ///< 0: none
};
struct RunReport {
    std::vector<ArrayPtr> outputs;
    std::vector<int> synthesised;  ///< inputs that had no values
    RunResult result;
    double transform_seconds = 0, compile_seconds = 0;
};

class StageCache;

/// The result of looking at one program with one set of choices (DESIGN 2). Stages are computed on demand, once, on the calling
/// thread, and may be asked for from several threads. Throws Error where a stage can't be had.
class Inspection {
public:
    /// `share`: an inspection of the same program whose stages may be reused.
    Inspection(ProgramPtr program, Choices choices, const Inspection* share = nullptr);
    ~Inspection();

    const Program& program() const { return *program_; }
    ProgramPtr program_ptr() const { return program_; }
    const Choices& choices() const { return choices_; }
    /// Cancels whatever stage is being computed: it throws Error{Cancelled}.
    void cancel() const { cancel_->store(true); }
    bool cancelled() const { return cancel_->load(); }

    const ProgramSummary& summary() const;
    /// The region that `residuals`, `split` speak of; nothing: the program itself.
    std::optional<int> region() const;
    const ResidualReport& residuals() const;
    /// What the policies in the function had no answer to (ResidualReport), without differentiating it.
    std::vector<UnknownVerdictRow> unknown_verdicts() const;
    const SplitReport& split() const;
    const DonationReport& donation() const;
    /// What `plan` and `run` speak of.
    const Step& step() const;
    const MemoryPlan& plan() const;
    RunReport run(const RunRequest& request) const;
    /// The what-if table: as it is, the standard policies, the names that the function has (save_only_these_names), then `given`.
    std::vector<PolicyRow> policies(const std::vector<Choices>& given, bool run) const;

private:
    ProgramPtr program_;
    Choices choices_;
    std::shared_ptr<StageCache> cache_;
    std::shared_ptr<std::atomic<bool>> cancel_;
};

}  // namespace jaxscope
