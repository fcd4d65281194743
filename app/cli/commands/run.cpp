// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "analysis/sharding/per_device.h"
#include "app/cli/interrupt.h"
#include "app/cli/one_of_many.h"
#include "app/cli/program_arguments.h"
#include "app/cli/run_output.h"
#include "app/cli/steps.h"
#include "asking/prove_fit.h"
#include "asking/recapture.h"
#include "base/text.h"
#include "base/units.h"
#include "io/arrays/npz.h"
#include "jit/jit.h"
#include "jit/targets.h"
#include "report/caveats.h"
#include "report/export.h"
#include "report/fit/fit_report.h"
#include "report/fit/size_report.h"
#include "report/json/report_fields.h"
#include "report/measure.h"
#include "report/run_size.h"
#include "report/sections.h"
#include "report/sharding/layouts.h"
#include "report/sharding/sharding_report.h"
#include "sharding/what_if.h"

namespace jaxscope::cli {

namespace {

class Run final : public Command {
public:
    explicit Run(Arguments& a) {
        args_.add_file(a);
        args_.add_region(a);
        args_.add_execution(a);
        a.option("--apply", steps_, step_help());
        a.option("--donate", args_.donate, "donate these arguments (numbers, or `none`) instead of the program's own");
        a.option("--inputs", inputs_, "an .npz with arg0, arg1, ... by flat leaf");
        a.option("--outputs", outputs_, "write the results to this .npz as out0, out1, ...");
        a.option("--repeat", repeat_, 1, "how often to run");
        a.option("--timeout", timeout_, 0, "give up after this many seconds (0: never)");
        a.flag("--debug", debug_, "guard pages round every buffer, poison in what isn't written yet, every computed index checked");
        a.flag("--debug-prints", args_.debug_prints, "the texts of debug_print, in the order of the run");
        a.flag("--profile", profile_, "time of each kernel, and when memory is taken and given back");
        a.flag("--mpi", mpi_, "each device of the program is a process: mpirun -n DEVICES jaxscope run --mpi FILE (Open MPI)");
    }
    ChildLimits limits() const override {
        ChildLimits limits = args_.limits();
        limits.isolated = debug_;
        return limits;
    }
    int run() override {
        if (!mpi_) return run(nullptr);
        OneOfMany processes;
        return processes.run([&](Carrier& carrier) { return run(&carrier); });
    }

private:
    int run(Carrier* carrier) {
        refuse_own_arrays();
        const Preparation meanwhile;
        ProgramPtr program = args_.load();
        if (!steps_.empty()) program = apply_steps(*program, steps_);
        Choices choices = args_.choices();
        choices.jit.debug = debug_;
        const Inspection inspection(program, choices);
        args_.look_at(inspection);
        RunRequest request;
        request.repeat = repeat_;
        request.timeout_seconds = timeout_;
        request.profile = profile_;
        request.carrier = carrier;
        if (!inputs_.empty()) request.inputs = read_inputs(inspection);
        const RunReport report = inspection.run(request);
        if (!outputs_.empty() && (!carrier || carrier->rank() == 0)) save(report);
        tell_synthesised(inspection, report);
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "run", args_.notes);
            write_run(w, args_, inspection, report);
            finish_json(w);
        } else {
            show_run(args_, inspection, report);
        }
        return 0;
    }

    /// The larger arrays of NAME.jaxscope lie in NAME.npz.
    void refuse_own_arrays() const {
        std::error_code none;
        if (outputs_.empty() || !std::filesystem::equivalent(std::filesystem::path(args_.file).replace_extension(".npz"), outputs_, none))
            return;
        throw Error(ErrorCode::BadUsage,
                    "expected another file after --outputs, found '" + printable(outputs_, 60) + "', which holds the capture's own arrays");
    }
    std::vector<ArrayPtr> read_inputs(const Inspection& inspection) const {
        const Jaxpr& jaxpr = *inspection.step().jaxpr;
        std::vector<ArrayPtr> found = inspection.program().values;
        found.resize(jaxpr.num_invars);
        const NpzReader archive(inputs_);
        if (found.empty() && !archive.names().empty())
            throw Error(ErrorCode::BadInput,
                        "expected no inputs, as the program has none, found '" + printable(archive.names().front()) + "'")
                .at({inputs_, 0, 0});
        for (const std::string& name : archive.names()) {
            std::size_t n = 0;
            if (std::sscanf(name.c_str(), "arg%zu", &n) != 1 || name != fmt::format("arg{}", n) || n >= found.size())
                throw Error(ErrorCode::BadInput,
                            fmt::format("expected members arg0 to arg{}, found '{}'", found.size() - 1, printable(name)))
                    .at({inputs_, 0, 0});
            found[n] = archive.read(name, jaxpr.aval(jaxpr.invar(static_cast<std::uint32_t>(n))));
        }
        return found;
    }
    void save(const RunReport& report) const {
        std::vector<NpzArray> members;
        for (std::size_t i = 0; i < report.outputs.size(); ++i) members.push_back({fmt::format("out{}", i), report.outputs[i]});
        write_npz(outputs_, members);
    }

    ProgramArguments args_;
    std::vector<std::string> steps_;
    std::string inputs_, outputs_;
    int repeat_ = 1;
    double timeout_ = 0;
    bool profile_ = false, debug_ = false, mpi_ = false;
};

class Plan final : public Command {
public:
    explicit Plan(Arguments& a) {
        args_.add_file(a);
        args_.add_region(a);
        args_.add_execution(a);
        args_.add_target(a);
        a.option("--apply", steps_, step_help());
        a.option("--donate", args_.donate, "donate these arguments (numbers, or `none`) instead of the program's own");
        a.option("--device-memory", device_memory_,
                 "does the plan fit a device of this size, e.g. 16G; and is it proven that nothing would");
        a.option("--budget", budget_, "what to save so that the planned peak is at most this size, recomputing least");
        a.option("--fit", fit_,
                 "ARG:AXIS: the largest size of this axis that fits --budget, under each policy; FILE is FILE.py:NAME, or a capture "
                 "that was made from it (may be repeated: axes of one size)");
        a.option("--multiple-of", multiple_of_, 1, "with --fit: try multiples of this");
        a.option("--python", python_, "with --fit and --prove: the Python to run (default: JAXSCOPE_PYTHON, else python3)");
        a.option("--args", call_args_, "with --fit and --prove: a Python expression; NAME is then the function itself");
        a.option("--kwargs", call_kwargs_, "with --args: a mapping of its keyword arguments");
        a.option("--budget-seconds", budget_seconds_, 0.1, "how long to search for that");
        a.flag("--prove", prove_,
               "with --budget: write the change into a copy of the sources, capture, plan and run that; FILE is a capture that was made "
               "from FILE.py:NAME");
        a.option("--spec", specs_,
                 "PATH=P('x', None): as if this input, or result of jit, lay so over the program's mesh (may be repeated)");
        a.option("--layout", layouts_, "PATH=SPEC; PATH=SPEC; ...: a row of a table that compares layouts (may be repeated)", true);
    }
    ChildLimits limits() const override { return args_.limits(); }
    int run() override {
        if (!fit_.empty()) return fit_size();
        ProgramPtr program = args_.load();
        if (!steps_.empty()) program = apply_steps(*program, steps_);
        if (!specs_.empty()) program = with_layout(program, specs_);
        const Inspection inspection(program, args_.choices());
        args_.look_at(inspection);
        args_.note(merged_by_xla(inspection));
        if (!budget_.empty()) return fit(inspection);
        if (prove_) throw Error(ErrorCode::BadUsage, "expected --budget SIZE beside --prove, found none");
        const MemoryReport memory = memory_report(inspection, nullptr);
        const std::vector<LayoutRow> layouts = compared(inspection);
        std::optional<DeviceFit> fit;
        if (!device_memory_.empty())
            fit = device_fit(inspection, parse_size(device_memory_));
        else if (inspection.plan().target)
            fit = device_fit(inspection, inspection.plan().target->memory);
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "plan", args_.notes);
            w.key("memory");
            write_json(w, memory);
            write_sharding(w, inspection);
            if (!layouts.empty()) {
                w.key("layouts");
                write_json(w, layouts);
            }
            if (fit) {
                w.key("device");
                write_json(w, *fit);
            }
            write_by_hand(w, inspection);
            finish_json(w);
        } else {
            Page page = args_.page();
            memory_section(page, memory);
            if (const auto by_hand = by_hand_report(inspection)) by_hand_section(page, *by_hand);
            if (const auto sharding = sharding_report(inspection); sharding && layouts.empty()) sharding_section(page, *sharding);
            if (!layouts.empty()) layouts_section(page, layouts);
            if (fit) {
                page.heading("Device memory");
                page.line(fit->sentence);
            }
        }
        return args_.within_limit(memory.planned_peak) ? 0 : 1;
    }

private:
    static ProgramPtr with_layout(const ProgramPtr& program, const std::vector<std::string>& specs) {
        std::vector<sharding::SpecChoice> choices;
        for (const std::string& s : specs)
            if (!trim(s).empty()) choices.push_back(sharding::parse_spec_choice(s));
        return std::make_shared<const Program>(sharding::with_specs(*program, choices));
    }
    std::vector<LayoutRow> compared(const Inspection& inspection) const {
        std::vector<LayoutRow> rows;
        if (layouts_.empty()) return rows;
        rows.push_back(layout_row(specs_.empty() ? "as captured" : "with --spec", inspection));
        if (auto xla = xla_row(inspection)) rows.push_back(std::move(*xla));
        for (const std::string& text : layouts_)
            rows.push_back(layout_row(text, Inspection(with_layout(inspection.program_ptr(), split(text, ';')), inspection.choices())));
        return rows;
    }
    int fit_size() {
        if (budget_.empty() && args_.target.empty()) throw Error(ErrorCode::BadUsage, "expected --budget SIZE beside --fit, found none");
        if (!steps_.empty() || !specs_.empty() || !layouts_.empty())
            throw Error(ErrorCode::BadUsage, "expected --fit without --apply, --spec and --layout, found one of them");
        args_.note_target();
        Choices base = args_.choices();
        const std::int64_t budget = budget_.empty() ? base.jit.target->memory : parse_size(budget_);
        const WaitForChildren wait;
        Recapture recapture({args_.file, call_args_, call_kwargs_, fit_, python_});
        SizedProgram program;
        program.captured = recapture.captured_size();
        program.multiple = multiple_of_;
        program.prepare = [&](const std::vector<std::int64_t>& sizes) { recapture.prepare(sizes); };
        program.program = [&](std::int64_t size) { return recapture.program(size); };
        std::vector<Choices> given;
        if (base.changes_program()) given.push_back(base);
        base.clear_policies();
        SizeFit found = fit_sizes(program, base, given, budget);  // first: how many captures that took is asked behind it
        const SizeFitReport report = size_fit_report(std::move(found), fit_, recapture.captures());
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "plan", args_.notes);
            w.key("memory");
            write_json(w, memory_report(Inspection(recapture.program(recapture.captured_size()), base), nullptr));
            w.key("sizes");
            write_json(w, report);
            finish_json(w);
        } else {
            Page page = args_.page();
            size_fit_section(page, report);
        }
        return report.fits() ? 0 : 1;
    }
    int fit(const Inspection& inspection) const {
        if (inspection.choices().changes_program())
            throw Error(ErrorCode::BadUsage, "expected no policy beside --budget, which looks for one, found one");
        const BudgetFit fit = fit_budget_anywhere(inspection, parse_size(budget_), {.seconds = budget_seconds_});
        FitReport found = fit_report(fit, inspection.program());
        if (prove_ && fit.placement) found.proof = proof(fit, inspection);
        if (const PerDevice& cut = inspection.per_device()) found.devices = cut.program->mesh.devices();
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "plan", args_.notes);
            w.key("memory");
            write_json(w, memory_report(inspection, nullptr));
            w.key("fit");
            write_json(w, found);
            finish_json(w);
        } else {
            Page page = args_.page();
            fit_section(page, found);
        }
        return found.fits && (!found.proof || found.proof->holds) ? 0 : 1;
    }
    FitProof proof(const BudgetFit& fit, const Inspection& inspection) const {
        if (!steps_.empty() || !specs_.empty())
            throw Error(ErrorCode::BadUsage, "expected --prove without --apply and --spec, found one of them");
        Choices searched = inspection.choices();
        searched.as_step = true;
        if (fit.region) searched.region = *fit.region;
        const Inspection step(inspection.program_ptr(), searched, &inspection);
        const WaitForChildren wait;
        return prove_fit(fit, step, {args_.file, call_args_, call_kwargs_, {}, python_}, why_not_run(step, 1));
    }

    ProgramArguments args_;
    std::vector<std::string> steps_, specs_, layouts_, fit_;
    std::string device_memory_, budget_, python_, call_args_, call_kwargs_;
    double budget_seconds_ = 8;
    int multiple_of_ = 1;
    bool prove_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run(Arguments& a) { return std::make_unique<Run>(a); }
std::unique_ptr<Command> make_plan(Arguments& a) { return std::make_unique<Plan>(a); }

}  // namespace jaxscope::cli
