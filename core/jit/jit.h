// SPDX-License-Identifier: Apache-2.0
#pragma once
// All of core/jit that others see. Comes in: a closed jaxpr and the pairs of donated inputs. Goes out: a memory plan, and a program
// that runs and is measured. Never here: types of LLVM, oneDNN or the floors below (kernels, graph, codegen, plan, run).
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "donation/pairing.h"
#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

struct TargetDevice;
enum class RematLowering : std::uint8_t;  // calls/remat/remat_lowering.h

struct JitOptions {
    int threads = 0;                       ///< 0: as many as the process may use
    bool fuse = true;                      ///< false: one kernel per equation, for comparisons
    bool recompute_cheap = false;          ///< let fusion compute cheap values again instead of storing them, as XLA does
    std::int64_t memory_limit = 0;         ///< bytes the plan may take; 0: no limit
    bool schedule = true;                  ///< try a memory-greedy order against program order and keep the better
    bool over_devices = false;             ///< one device's program of several: collectives are steps that only a plan can have
    bool debug = false;                    ///< guard pages round buffers, poison in what isn't written, every computed index checked
    bool debug_prints = false;             ///< what debug_print looks at is in memory then, and a run keeps it
    bool write_prints = false;             ///< debug_print writes its text to standard output while the program runs
    const TargetDevice* target = nullptr;  ///< plan for this device instead (jit/targets.h): an estimate, which can't be run
    RematLowering remat_lowering{};        ///< what keeps recomputation apart from the first computation; 0: a barrier
};

enum class BufferRole : std::uint8_t { Argument, Output, Temporary, Residual, Constant, Scratch };
const char* role_name(BufferRole role);  ///< "argument", ...

/// A piece of memory of a run. Steps count thunks; an argument lives from step -1, an output to the last step.
struct PlannedBuffer {
    AvalRef aval;  ///< scratch: u8[bytes]
    std::int64_t bytes = 0;
    std::int64_t offset = -1;  ///< in the arena; -1: outside of it (constants of the program, literals)
    int first_step = 0, last_step = 0;
    BufferRole role = BufferRole::Temporary;
    int number = -1;                   ///< of the argument, output or constant
    bool donated = false;              ///< an argument whose memory an output takes
    std::optional<int> alias_of;       ///< an output in the memory of this argument: index into `buffers`
    std::string eqn;                   ///< path of the equation that makes it: "12/jaxpr/3"; empty for arguments and constants
    Sym primitive;                     ///< its name; of scratch memory what the step is called
    AvalRef made;                      ///< what that makes: `aval`, or one step's part of what a scan stacks
    const Primitive* maker = nullptr;  ///< null for arguments, constants, and scratch memory of more than one equation
    SourceRef source;
};

struct MemoryPlan;

/// One thunk: a fused kernel, a library call, a copy, or a loop with its own steps inside.
struct PlannedStep {
    std::string eqn;                ///< the equation that names the step (the last one of a fused kernel)
    std::vector<std::string> eqns;  ///< all equations that it computes
    Sym kind;                       ///< "fusion", "dot_general", "scan", "copy", ...
    SourceRef source;
    std::vector<int> reads, writes;  ///< indices into `buffers`: everything the step touches
    std::int64_t live_bytes = 0;     ///< while the step runs
    /// One iteration of a loop or one branch of a cond, of several the one that needs most: its arguments are what it reads from outside,
    /// its arena holds what is its own. Null: nothing runs inside of the step.
    std::shared_ptr<const MemoryPlan> inside;
    std::int64_t iterations = 0;  ///< of a scan, how often `inside` runs; else 0
};

/// A donated input whose output is made while the input is still to be read: the output stands in a temporary and is copied in the end.
struct CopiedPair {
    int output = 0, input = 0;
    std::int64_t bytes = 0;
};

/// The part of a plan that stands in one memory space, and what moves into it. All spaces of a CPU are one memory: what a device would
/// hold.
struct SpaceUse {
    MemorySpace space = MemorySpace::Device;
    std::int64_t peak = 0;      ///< largest sum of what is alive there
    std::int64_t moved_in = 0;  ///< bytes that one run copies into it from the other space; of a while loop's body: in one iteration
};

/// Where the memory of one run goes. All sizes in bytes.
struct MemoryPlan {
    std::int64_t arguments = 0;  ///< of kept arguments
    std::int64_t outputs = 0;
    std::int64_t aliased = 0;       ///< outputs that take the memory of donated arguments
    std::int64_t temporaries = 0;   ///< planned_peak - arguments - outputs + aliased: XLA's temp_size_in_bytes
    std::int64_t constants = 0;     ///< counted apart, as XLA does
    std::int64_t planned_peak = 0;  ///< size of the arena
    std::int64_t live_peak = 0;     ///< largest sum of live buffers; below planned_peak by what packing loses
    int threads = 0;                ///< that the program runs on, and
    std::string instructions;       ///< oneDNN's name of the processor's instruction set: both decide what scratch memory kernels take
    std::int64_t scratch = 0;       ///< of it at the peak. Of a target none of the three is known
    int peak_step = 0;
    std::vector<PlannedBuffer> buffers;
    std::vector<PlannedStep> steps;
    std::vector<int> at_peak;                         ///< buffers alive at peak_step, largest first
    std::vector<std::optional<int>> alias_of_output;  ///< per output: the argument whose memory it takes
    std::vector<CopiedPair> copied;
    std::vector<SpaceUse> spaces;          ///< device and host, where anything stands on the host; else empty
    std::uint64_t derivation = 0;          ///< whose plan it is, where the caller tells programs apart by number
    std::vector<int> opened;               ///< of what runs inside of a step: the steps that were opened to get there (open_step)
    const TargetDevice* target = nullptr;  ///< whose needs were estimated; null: the plan of this machine's executor
};

struct RunOptions {
    int repeats = 1;
    bool profile = false;    ///< time of each step, those of loops' bodies too: in all repeats but the first, if there are others
    bool timeline = false;   ///< alloc, free and alias events as they happen (of the last repeat)
    bool measure = true;     ///< resident memory in the first repeat
    bool check_nan = false;  ///< stop at the first step that makes a NaN or infinity; Error names its equation
};

struct MemoryEvent {
    enum class Kind : std::uint8_t { Alloc, Free, Alias } kind;
    double seconds = 0;  ///< since the run began
    int step = 0;
    int buffer = 0;               ///< into MemoryPlan::buffers
    std::int64_t live_bytes = 0;  ///< after the event
};

/// What a step had in memory beyond the arena's pages: scratch that its library took for itself, stacks of threads.
struct UnplannedMemory {
    std::int64_t bytes = 0;
    std::string eqn;
    Sym primitive;
    SourceRef source;
};

/// What only looks at values (debug_print, debug_callback), and how often that was in the first run. Python isn't run.
struct Onlooker {
    struct Call {
        std::int64_t order = 0;  ///< among those of all onlookers
        std::vector<ArrayPtr> operands;
    };
    static constexpr std::size_t kMostKept = 10000;       ///< calls of one equation
    static constexpr std::int64_t kMostBytes = 64 << 20;  ///< of all values that are kept
    std::string eqn;
    Sym primitive;
    ParamsRef params;
    SourceRef source;
    std::int64_t calls = 0;
    std::vector<Call> kept;  ///< with JitOptions::debug_prints: of the first ones
};

/// One step of the program or of a loop's body, and what it cost in one run.
struct StepProfile {
    std::vector<std::string> eqns;  ///< all equations that it computes
    std::vector<Sym> primitives;    ///< theirs
    std::string loop;               ///< the loop's equation whose body it belongs to, else empty
    bool is_loop = false;           ///< its time is that of the steps inside
    bool copy = false;
    SourceRef source;
    double calls = 0, seconds = 0;  ///< seconds: of all calls
    double flops = 0, bytes = 0;    ///< of all calls: what the equations compute; what the step reads and writes
};

/// What this machine reaches, measured beside the run: a matrix product's FLOP/s and a copy's bytes/s, on as many threads.
struct Roofline {
    double flops_per_second = 0, bytes_per_second = 0;
};

struct RunResult {
    std::vector<ArrayPtr> outputs;
    /// Resident memory that the first run added to this process at its highest: arena, scratch of libraries, heap. Told by the system,
    /// which doesn't know the plan; other threads of the process count, too. Null: `measurement_problem` says why there is no figure.
    std::optional<std::int64_t> measured_peak;
    std::string measurement_problem;
    std::int64_t arena_resident = 0;         ///< pages of the arena that were touched, of these bytes
    std::vector<UnplannedMemory> unplanned;  ///< largest first; below 64 KiB none is named
    double compile_seconds = 0;
    double first_seconds = 0, median_seconds = 0, best_seconds = 0;
    std::vector<StepProfile> profile;
    bool profiled_by_steps = false;  ///< the profile is of a run more, in which loops that are one function otherwise went step by step
    Roofline roofline;               ///< with `profile`
    std::vector<MemoryEvent> events;
    std::vector<Onlooker> onlookers;
};

/// A program compiled for this machine's CPU. To stop planning, compiling or running it, call them in a CancelScope (base/cancel.h).
class Executable {
public:
    /// `program`   a closed jaxpr; constants without values are made up (zeros).
    /// `aliases`   per output: the donated input whose memory it takes (donation/pairing.h makes the pairs). May be empty: none.
    /// `kept`      per input; an argument that isn't kept takes no memory. May be empty: all.
    /// Throws      Error{UnknownPrimitive, NoRule} with the equation and its source line when something can't run;
    ///             Error{CannotRun} when the plan exceeds the memory limit; Error{Cancelled}.
    static std::shared_ptr<Executable> compile(const JaxprPtr& program, const Aliases& aliases = {}, const std::vector<bool>& kept = {},
                                               const JitOptions& options = {});
    /// The same for run_in_place: inputs and outputs stand in arrays of the caller's.
    static std::shared_ptr<Executable> compile_in_place(const JaxprPtr& program, const Aliases& aliases = {},
                                                        const std::vector<bool>& kept = {}, const JitOptions& options = {});
    virtual ~Executable() = default;
    virtual const MemoryPlan& plan() const = 0;
    /// `inputs`: one per input of the program; null or unknown values are made up (see synthesise). They are copied in, never changed.
    /// Signals   The matrix library keeps its stack register in the heap while it works: the frame of a signal handler would be written
    ///           over the heap. So `run` blocks signals in the calling thread until it returns, and for good in the threads that OpenMP
    ///           starts for it. A process that calls `run` and wants Ctrl-C meanwhile has another thread that takes signals (sigwait, or
    ///           one where they aren't blocked) and cancels the token there; a process of one thread gets them when `run` is over.
    ///           Its handlers for crashes (SIGSEGV, SIGFPE, ...) aren't blocked: they need SA_ONSTACK, every thread has a stack for them.
    virtual RunResult run(std::span<const ArrayPtr> inputs, const RunOptions& options = {}) = 0;
    /// One run in the arrays' own memory, for what compile_in_place makes: nothing is copied in or out, the arena holds
    /// temporaries alone (and `plan` only their size).
    /// `inputs`   one per input of the program; one that isn't kept may be null.
    /// `given`    empty, or per input the same array where `aliases` pairs it with an output: what the caller has given away. The output is
    ///            written over it if nobody else holds it, else over a copy.
    /// `outputs`  gets one array per output. Signals: as `run`, where the program computes on several threads or in the matrix library.
    virtual void run_in_place(std::span<const ArrayConst* const> inputs, std::span<ArrayPtr> given, std::vector<ArrayPtr>& outputs) = 0;
    /// From now on runs in place note what only looks at values (the operands too, with JitOptions::debug_prints). Is there any?
    virtual bool note_onlookers() = 0;
    /// What the last run in place noted, in the order of the program; those that it never met too.
    virtual std::vector<Onlooker> take_onlookers() = 0;
    /// Gives the memory for temporaries back to the system, until the next run.
    virtual void release_memory() = 0;
};

/// The plan alone: no code is generated, nothing is allocated, so shapes may exceed this machine.
MemoryPlan plan_only(const JaxprPtr& program, const Aliases& aliases = {}, const std::vector<bool>& kept = {},
                     const JitOptions& options = {});

/// Why an application of a primitive can't be planned and run: what the rule that refuses it says. Nothing: it can.
std::optional<std::string> why_it_cannot_run(const Op& op, const JitOptions& options = {});

/// Does on a thread of its own what the first compilation of a process waits for: LLVM's start and the pages of its library. For a
/// program that has something to read meanwhile; whoever has compiled waits for the end of it. Only the first of a process does anything.
class Preparation {
public:
    Preparation();
    ~Preparation();
    Preparation(const Preparation&) = delete;
    Preparation& operator=(const Preparation&) = delete;
};

/// A made-up array, the same for the same aval and seed: floats from about -1 to 1, integers and keys small and nonnegative.
ArrayPtr synthesise(AvalRef aval, std::uint64_t seed);
/// An array for each input: `given` where its values are known, else one that is made up as `run` makes it. `program`: one device's of
/// several, whose whole inputs are of the types `whole`.
std::vector<ArrayPtr> with_made_up(const JaxprPtr& program, const Avals& whole, std::vector<ArrayPtr> given);

}  // namespace jaxscope
