// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/dumps/equations_in_xla.h"
#include "analysis/naming/placements.h"
#include "ir/program.h"
#include "jit/jit.h"

namespace jaxscope {

class Carrier;

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
inline constexpr const char* kStopsRun = "run";
inline constexpr const char* kStopsRunIfEntered = "run-if-entered";  ///< in branches of conds alone: a run stops that enters one
struct UnsupportedRow {
    std::string primitive;
    std::int64_t count = 0;
    std::string source;
    SourceLoc loc;
    std::vector<std::string> stops;  ///< "grad", "vmap", kStopsRun or kStopsRunIfEntered
    bool stopped_by(std::string_view what) const { return std::find(stops.begin(), stops.end(), what) != stops.end(); }
    bool may_stop_a_run() const { return stopped_by(kStopsRun) || stopped_by(kStopsRunIfEntered); }
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
    std::vector<ContextRow> contexts;                ///< but for the one that says nothing
    std::vector<FlagRow> flags;                      ///< JAX's, in force when it was captured
    std::vector<XlaFacts> compiled;                  ///< what compilers said of it: the captured backend's, then those of targets
    std::vector<EquationsInXla> compiled_equations;  ///< what became of the equations, of those that told it
};

/// Which value a residual is, in whatever row a table shows it. Arguments have the same identity under every policy; what an equation makes
/// has it in one forward part, and Correspondence finds it in another.
struct ResidualId {
    int input = -1;                ///< of the differentiated function, for arguments
    int constant = -1;             ///< how many constants stand before it, for constants
    std::uint64_t derivation = 0;  ///< which forward part `eqn` stands in (Inspection::derivation); 0 for arguments and constants
    int eqn = -1, result = -1;     ///< of the forward part
    friend bool operator==(const ResidualId&, const ResidualId&) = default;
};
/// One value that the backward pass keeps (docstring of saved_residuals).
struct ResidualRow {
    ResidualId id;
    std::string aval;
    std::string source;  ///< JAX's string: "named 'attn_out' from model.py:24:12 (block)"
    std::int64_t bytes = 0;
    std::string file;  ///< innermost frame of the user's own project
    int line = 0;
    std::vector<Frame> frames;
    std::string equation;     ///< path of the equation in the known part (SplitReport): "12", "12/jaxpr/3"; empty for arguments, constants
    std::string name;         ///< of checkpoint_name, else empty
    std::string maker;        ///< which value it is, under every policy the same (maker_of); empty for arguments, constants
    int input = -1;           ///< which input of the region, for arguments
    bool on_host = false;     ///< offloaded: `line` and `name` are those of the value, `source` and `equation` of what copies it
    std::string spec, local;  ///< of a program over several devices: P('x', None), f32[8,4]; empty: not known
    std::optional<std::int64_t> device_bytes;  ///< what each device keeps of it
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
    std::optional<std::int64_t> device_bytes;         ///< of one device; null: one device, or not known of some value
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

/// What is planned and run.
struct StepName {
    enum class Kind : std::uint8_t { None, Program, Step, ValueAndGradient, ValueAndPullback };
    Kind kind = Kind::None;
    std::size_t differentiations = 1;  ///< of Step: how many the policy is on; where several, of which function and where
    Sym function, place;
    friend bool operator==(const StepName&, const StepName&) = default;
};

/// What a compiler that was asked says of a row's step.
struct CompiledFigure {
    std::string target, device, version;
    std::optional<std::int64_t> peak, temporaries;  ///< bytes; null: `problem` says why
    double compile_seconds = 0;
    bool kept = false;  ///< compiled an earlier time, read from the disk
    std::string problem;
};
struct PolicyRow {
    std::string policy;  ///< as on the command line; "as it is" for the program unchanged
    bool as_it_is = false;
    std::optional<Placement> around;  ///< where the checkpoints were put (without its jaxpr); nothing: around the function, or nowhere
    StepName of;                      ///< what the peaks and times are of (`Step::of`): the same kind of step in every row
    std::optional<std::int64_t> residual_bytes, planned_peak, measured_peak;  ///< null: `problem` says why
    std::optional<std::int64_t> device_peak, host_peak, moved_to_host;        ///< of the plan; null where nothing stands on the host
    std::optional<std::int64_t> residual_device_bytes, sent_bytes;            ///< of one of several devices; null for one
    double recomputed_flops = 0, total_flops = 0;
    std::optional<double> run_median;
    std::string problem;                   ///< why a figure is missing
    std::vector<CompiledFigure> compiled;  ///< by the targets that were asked, in order (`policies --xla`)
};

/// The program to plan and run: the captured one, or what it becomes under a policy.
struct Step {
    JaxprPtr jaxpr;
    StepName of;
    std::vector<std::string> in_paths, out_paths;  ///< cotangents and gradients included
    std::vector<bool> kept;                        ///< per input
    bool lacks_gradient = false;                   ///< which was asked for (Choices::as_step), but can't be had
    std::string why_no_gradient;                   ///< the rule's own words
};

struct RunRequest {
    std::vector<ArrayPtr> inputs;  ///< empty: captured values, synthesised where they were left out
    int repeat = 1;
    double timeout_seconds = 0;  ///< 0: none
    bool profile = false;        ///< the time of each kernel
    Carrier* carrier = nullptr;  ///< this process is one of the program's devices, and others are elsewhere
};
/// A constant whose values were left out of the capture, or that a text doesn't hold: zeros stood for it.
struct MadeUpConstant {
    std::string aval;
    std::int64_t bytes = 0;
    std::string source;  ///< what reads it first: "gather from model.py:4:5 (f)"
    SourceLoc loc;
};
/// What one of several devices had in memory, counted as it came.
struct DeviceUse {
    std::int64_t peak = 0;     ///< arrays and arena
    std::int64_t of_step = 0;  ///< of these, what the step at work needed by itself
    SourceRef at;              ///< that step's last equation
};
struct RunReport {
    std::vector<ArrayPtr> outputs;
    std::vector<int> synthesised;  ///< inputs that had no values
    std::vector<MadeUpConstant> made_up_constants;
    RunResult result;
    std::vector<std::int64_t> device_peaks;  ///< of several devices: the most that arrays and arena of each took, counted as they came
    std::vector<DeviceUse> device_uses;      ///< the same with what stood at work; empty: not known
    double transform_seconds = 0, compile_seconds = 0;
};

}  // namespace jaxscope
