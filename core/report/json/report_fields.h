// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "analysis/donate_modes.h"
#include "analysis/inspection.h"
#include "report/debug/debug_prints.h"
#include "report/json/fields.h"
#include "report/measure.h"
#include "report/memory_report.h"
#include "report/profile.h"

namespace jaxscope {

// Every object of the reports, declared once: the command line's `--json`, report.json, the HTML report's data and the published
// schema (resources/report.schema.json, written by `jaxscope samples --schema`) all derive from this list.

template <>
struct ReportFields<Frame> {
    static constexpr auto fields =
        std::tuple(report_field("file", &Frame::file), report_field("function", &Frame::function),
                   report_field("line", &Frame::line, "from 1"), report_field("column", &Frame::column, "from 0, as JAX has it"),
                   report_field("project", &Frame::project, "in the user's own project"));
};
template <>
struct ReportFields<SourceLoc> {
    static constexpr auto fields = std::tuple(report_field("file", &SourceLoc::file), report_field("line", &SourceLoc::line),
                                              report_field("column", &SourceLoc::column, "from 1"));
};
template <>
struct ReportFields<ProgramInput> {
    static constexpr auto fields = std::tuple(report_field("path", &ProgramInput::path), report_field("aval", &ProgramInput::aval),
                                              report_field("bytes", &ProgramInput::bytes), report_field("donated", &ProgramInput::donated),
                                              report_field("static", &ProgramInput::is_static));
};
template <>
struct ReportFields<ProgramOutput> {
    static constexpr auto fields = std::tuple(report_field("path", &ProgramOutput::path), report_field("aval", &ProgramOutput::aval),
                                              report_field("bytes", &ProgramOutput::bytes));
};
template <>
struct ReportFields<RegionRow> {
    static constexpr auto fields = std::tuple(
        report_field("name", &RegionRow::name), report_field("kind", &RegionRow::kind), report_field("wrt", &RegionRow::wrt),
        report_field("policy", &RegionRow::policy, "policies of the checkpoints inside"), report_field("equations", &RegionRow::equations),
        report_field("source", &RegionRow::source), report_field("place", &RegionRow::loc), report_field("parent", &RegionRow::parent));
};
template <>
struct ReportFields<UnsupportedRow> {
    static constexpr auto fields =
        std::tuple(report_field("primitive", &UnsupportedRow::primitive), report_field("count", &UnsupportedRow::count),
                   report_field("source", &UnsupportedRow::source), report_field("place", &UnsupportedRow::loc),
                   report_field("stops", &UnsupportedRow::stops, "grad, vmap, run, run-if-entered"));
};
template <>
struct ReportFields<ContextRow> {
    static constexpr auto fields = std::tuple(report_field("compute_type", &ContextRow::compute_type),
                                              report_field("mesh", &ContextRow::mesh), report_field("metadata", &ContextRow::metadata),
                                              report_field("threefry_partitionable", &ContextRow::threefry_partitionable),
                                              report_field("equations", &ContextRow::equations, "of distinct jaxprs"));
};
template <>
struct ReportFields<FlagRow> {
    static constexpr auto fields = std::tuple(report_field("name", &FlagRow::name), report_field("value", &FlagRow::value));
};
template <>
struct ReportFields<OutOfMemory::Buffer> {
    using Buffer = OutOfMemory::Buffer;
    static constexpr auto fields =
        std::tuple(report_field("bytes", &Buffer::bytes), report_field("shape", &Buffer::shape, "with XLA's layout"),
                   report_field("op_name", &Buffer::op_name, "JAX's name stack"), report_field("kind", &Buffer::kind),
                   report_field("file", &Buffer::file), report_field("line", &Buffer::line));
};
template <>
struct ReportFields<OutOfMemory> {
    static constexpr auto fields = std::tuple(
        report_field("needed", &OutOfMemory::needed), report_field("available", &OutOfMemory::available),
        report_field("buffers", &OutOfMemory::buffers, "the largest ones"), report_field("text", &OutOfMemory::text, "XLA's own"));
};
template <>
struct ReportFields<XlaFacts> {
    static constexpr auto fields = std::tuple(
        report_field("target", &XlaFacts::target, "tpu:v5p:2x2x1; empty: the backend that captured"),
        report_field("device", &XlaFacts::device), report_field("version", &XlaFacts::version, "of the compiler"),
        report_field("options", &XlaFacts::options, "of the environment, given to the compiler"),
        report_field("arguments", &XlaFacts::arguments), report_field("outputs", &XlaFacts::outputs),
        report_field("aliased", &XlaFacts::aliased), report_field("temporaries", &XlaFacts::temporaries),
        report_field("peak", &XlaFacts::peak, "XLA's peak_memory_in_bytes; null: it said none"), report_field("flops", &XlaFacts::flops),
        report_field("bytes_accessed", &XlaFacts::bytes_accessed), report_field("compile_seconds", &XlaFacts::compile_seconds),
        report_field("out_of_memory", &XlaFacts::out_of_memory, "why XLA refused the program; then there are no figures"));
};
template <>
struct ReportFields<RecomputationInXla> {
    using R = RecomputationInXla;
    static constexpr auto fields =
        std::tuple(report_field("asked", &R::asked, "equations that checkpoints have computed a second time"),
                   report_field("kept", &R::kept, "of these, computed a second time"),
                   report_field("merged", &R::merged, "with the first computation, whose result stays in memory instead"),
                   report_field("removed", &R::removed, "neither computation is there by its name"),
                   report_field("flops", &R::flops, "of all asked"), report_field("flops_kept", &R::flops_kept));
};
template <>
struct ReportFields<CheckpointInXla> {
    using C = CheckpointInXla;
    static constexpr auto fields =
        std::tuple(report_field("equations", &C::equations, "paths of the backward passes' checkpoints"),
                   report_field("scopes", &C::scopes, "named scopes that they stand in"), report_field("file", &C::file),
                   report_field("line", &C::line), report_field("recomputed", &C::recomputed, "in each of them"));
};
template <>
struct ReportFields<LineInXla> {
    using L = LineInXla;
    static constexpr auto fields = std::tuple(
        report_field("primitive", &L::primitive), report_field("equation", &L::equation, "the first of them"),
        report_field("file", &L::file), report_field("line", &L::line), report_field("recomputed", &L::recomputed, "in all checkpoints"));
};
template <>
struct ReportFields<RepeatedInXla> {
    using R = RepeatedInXla;
    static constexpr auto fields =
        std::tuple(report_field("equation", &R::equation), report_field("primitive", &R::primitive), report_field("file", &R::file),
                   report_field("line", &R::line), report_field("times", &R::times, "instructions that compute it"));
};
template <>
struct ReportFields<StoredInXla> {
    using S = StoredInXla;
    static constexpr auto fields =
        std::tuple(report_field("equation", &S::equation), report_field("primitive", &S::primitive), report_field("file", &S::file),
                   report_field("line", &S::line),
                   report_field("pass", &S::pass, "forward, backward or recomputed; empty outside of a differentiation"),
                   report_field("results", &S::results), report_field("bytes", &S::bytes));
};
template <>
struct ReportFields<EquationsInXla> {
    using E = EquationsInXla;
    static constexpr auto fields =
        std::tuple(report_field("target", &E::target, "as in compiled"), report_field("unknown", &E::unknown, "why nothing is said"),
                   report_field("checkpoints", &E::checkpoints, "what became of their recomputation"),
                   report_field("lines", &E::lines, "the same by line"),
                   report_field("repeated", &E::repeated, "equations that are computed in several places"),
                   report_field("stored", &E::stored, "results with memory, not all alive together: the largest 50"),
                   report_field("stored_left_out", &E::stored_left_out));
};
template <>
struct ReportFields<ProgramSummary> {
    static constexpr auto fields = std::tuple(
        report_field("name", &ProgramSummary::name), report_field("jax_version", &ProgramSummary::jax_version),
        report_field("equations", &ProgramSummary::equations, "recursive"), report_field("primitives", &ProgramSummary::primitives),
        report_field("inputs", &ProgramSummary::inputs), report_field("outputs", &ProgramSummary::outputs),
        report_field("jaxprs", &ProgramSummary::jaxprs, "distinct sub-jaxprs"), report_field("regions", &ProgramSummary::regions),
        report_field("unsupported", &ProgramSummary::unsupported),
        report_field("contexts", &ProgramSummary::contexts, "what equations carry besides parameters: compute_on, meshes, metadata"),
        report_field("flags", &ProgramSummary::flags, "JAX's, in force when it was captured"),
        report_field("compiled", &ProgramSummary::compiled, "what XLA said when it was captured with --compile"),
        report_field("compiled_equations", &ProgramSummary::compiled_equations, "what XLA's optimized program has of the equations"));
};
template <>
struct ReportFields<ResidualRow> {
    static constexpr auto fields = std::tuple(
        report_field("aval", &ResidualRow::aval), report_field("source", &ResidualRow::source, "JAX's string"),
        report_field("bytes", &ResidualRow::bytes), report_field("file", &ResidualRow::file, "innermost frame of the user's own project"),
        report_field("line", &ResidualRow::line), report_field("frames", &ResidualRow::frames),
        report_field("equation", &ResidualRow::equation, "its path in split's known part"), report_field("name", &ResidualRow::name),
        report_field("spec", &ResidualRow::spec, "how it lies over several devices"),
        report_field("local", &ResidualRow::local, "what each has of it"),
        report_field("device_bytes", &ResidualRow::device_bytes, "null: one device"));
};
template <>
struct ReportFields<UnknownVerdictRow> {
    static constexpr auto fields =
        std::tuple(report_field("policy", &UnknownVerdictRow::policy), report_field("primitive", &UnknownVerdictRow::primitive),
                   report_field("signatures", &UnknownVerdictRow::signatures, "applications that differ in avals or parameters"));
};
template <>
struct ReportFields<ResidualReport> {
    static constexpr auto fields =
        std::tuple(report_field("wrt", &ResidualReport::wrt), report_field("region", &ResidualReport::region),
                   report_field("region_name", &ResidualReport::region_name), report_field("residuals", &ResidualReport::rows),
                   report_field("total_bytes", &ResidualReport::total_bytes),
                   report_field("device_bytes", &ResidualReport::device_bytes, "of one of several devices; null: one device"),
                   report_field("unknown_verdicts", &ResidualReport::unknown_verdicts,
                                "what policies of the user's had no answer to: counted as not saved, refused under --strict"));
};
template <>
struct ReportFields<RecomputedRow> {
    static constexpr auto fields = std::tuple(report_field("primitive", &RecomputedRow::primitive),
                                              report_field("count", &RecomputedRow::count), report_field("flops", &RecomputedRow::flops));
};
template <>
struct ReportFields<DonatedLeaf> {
    static constexpr auto fields = std::tuple(
        report_field("path", &DonatedLeaf::path), report_field("aval", &DonatedLeaf::aval), report_field("bytes", &DonatedLeaf::bytes),
        report_field("used", &DonatedLeaf::used), report_field("output", &DonatedLeaf::output),
        report_field("output_path", &DonatedLeaf::output_path), report_field("reason", &DonatedLeaf::reason));
};
template <>
struct ReportFields<DonationReport> {
    static constexpr auto fields = std::tuple(report_field("donated", &DonationReport::donated),
                                              report_field("warning", &DonationReport::warning, "JAX's text at lowering"),
                                              report_field("saved_bytes", &DonationReport::saved_bytes),
                                              report_field("findings", &DonationReport::findings, "what JAX keeps quiet about"));
};
template <>
struct ReportFields<DonateModeRow> {
    static constexpr auto fields =
        std::tuple(report_field("mode", &DonateModeRow::mode, "filter_jit's `donate`"),
                   report_field("chosen", &DonateModeRow::chosen, "is it what the program was captured with?"),
                   report_field("donated", &DonateModeRow::donated, "leaves"), report_field("reused", &DonateModeRow::reused, "leaves"),
                   report_field("saved_bytes", &DonateModeRow::saved_bytes), report_field("lost_bytes", &DonateModeRow::lost_bytes),
                   report_field("planned_peak", &DonateModeRow::planned_peak),
                   report_field("consumed_arguments", &DonateModeRow::consumed_arguments, "whose arrays are gone after the call"),
                   report_field("warning", &DonateModeRow::warning, "what is printed at the first call"));
};
template <>
struct ReportFields<PeakRow> {
    static constexpr auto fields = std::tuple(report_field("aval", &PeakRow::aval), report_field("bytes", &PeakRow::bytes),
                                              report_field("equation", &PeakRow::equation), report_field("source", &PeakRow::source),
                                              report_field("file", &PeakRow::file, "of the user's own line"),
                                              report_field("line", &PeakRow::line), report_field("role", &PeakRow::role));
};
template <>
struct ReportFields<UnplannedRow> {
    static constexpr auto fields =
        std::tuple(report_field("bytes", &UnplannedRow::bytes), report_field("equation", &UnplannedRow::equation),
                   report_field("source", &UnplannedRow::source), report_field("file", &UnplannedRow::file, "of the user's own line"),
                   report_field("line", &UnplannedRow::line));
};
template <>
struct ReportFields<SpaceRow> {
    static constexpr auto fields =
        std::tuple(report_field("space", &SpaceRow::space, "device, pinned_host"), report_field("peak", &SpaceRow::peak),
                   report_field("moved_in", &SpaceRow::moved_in, "bytes that one run copies into it"));
};
template <>
struct ReportFields<DeviceRow> {
    static constexpr auto fields = std::tuple(
        report_field("device", &DeviceRow::device), report_field("planned_peak", &DeviceRow::planned_peak),
        report_field("measured_peak", &DeviceRow::measured_peak, "arrays and arena, counted as they came"),
        report_field("of_step", &DeviceRow::of_step, "of that, what the step at work needed by itself: its results, and its arena"),
        report_field("source", &DeviceRow::source, "the last equation of that step"),
        report_field("file", &DeviceRow::file, "of the user's own line"), report_field("line", &DeviceRow::line));
};
template <>
struct ReportFields<MemoryReport> {
    static constexpr auto fields = std::tuple(
        report_field("of", &MemoryReport::of, "what is planned: the program, the step, value and gradient, value and pullback"),
        report_field("target", &MemoryReport::target, "figures are estimated for this device; empty: of jaxscope's CPU JIT"),
        report_field("arguments", &MemoryReport::arguments), report_field("outputs", &MemoryReport::outputs),
        report_field("aliased", &MemoryReport::aliased), report_field("temporaries", &MemoryReport::temporaries),
        report_field("planned_peak", &MemoryReport::planned_peak),
        report_field("threads", &MemoryReport::threads, "that the plan is for; 0: estimated, whatever they are"),
        report_field("instructions", &MemoryReport::instructions, "the processor's that the plan is for"),
        report_field("scratch", &MemoryReport::scratch, "of the planned peak: what kernels work in, which threads and instructions decide"),
        report_field("measured_peak", &MemoryReport::measured_peak, "resident memory that the run added to the process"),
        report_field("measurement_problem", &MemoryReport::measurement_problem, "why there is no measured peak"),
        report_field("arena_resident", &MemoryReport::arena_resident, "of the measured peak: pages of the planned arena"),
        report_field("unplanned", &MemoryReport::unplanned, "of the measured peak: what equations took beyond the plan"),
        report_field("spaces", &MemoryReport::spaces, "where the program uses the host's memory"),
        report_field("devices", &MemoryReport::devices, "of several, all figures are those of one"),
        report_field("device_peaks", &MemoryReport::device_peaks, "measured of each of several devices"),
        report_field("per_device", &MemoryReport::per_device, "planned and measured, device by device"),
        report_field("at_peak", &MemoryReport::at_peak), report_field("difference", &MemoryReport::difference),
        report_field("notes", &MemoryReport::notes));
};
template <>
struct ReportFields<ProfileRow> {
    static constexpr auto fields =
        std::tuple(report_field("what", &ProfileRow::what), report_field("equations", &ProfileRow::equations),
                   report_field("loop", &ProfileRow::loop, "the equation of the loop whose body it belongs to"),
                   report_field("source", &ProfileRow::source), report_field("file", &ProfileRow::file, "of the user's own line"),
                   report_field("line", &ProfileRow::line), report_field("calls", &ProfileRow::calls, "in one run"),
                   report_field("seconds", &ProfileRow::seconds, "of all calls in one run; of a loop: its body's too"),
                   report_field("share", &ProfileRow::share), report_field("flops", &ProfileRow::flops),
                   report_field("bytes", &ProfileRow::bytes, "read and written"),
                   report_field("share_of_roofline", &ProfileRow::share_of_roofline,
                                "the least time for so much, by the time it took; null of loops"));
};
template <>
struct ReportFields<EventRow> {
    static constexpr auto fields = std::tuple(
        report_field("kind", &EventRow::kind, "alloc, free, alias"), report_field("seconds", &EventRow::seconds, "since the run began"),
        report_field("step", &EventRow::step, "-1: before the first"), report_field("equation", &EventRow::equation),
        report_field("role", &EventRow::role), report_field("bytes", &EventRow::bytes),
        report_field("live_bytes", &EventRow::live_bytes, "after the event"));
};
template <>
struct ReportFields<ProfileReport> {
    static constexpr auto fields =
        std::tuple(report_field("seconds", &ProfileReport::seconds, "of all steps, in one run"),
                   report_field("by_steps", &ProfileReport::by_steps,
                                "of a run more, in which small loops, which are one function otherwise, went step by step"),
                   report_field("run_seconds", &ProfileReport::run_seconds, "of a run as it is"),
                   report_field("flops_per_second", &ProfileReport::flops_per_second, "this machine's, in a matrix product beside the run"),
                   report_field("bytes_per_second", &ProfileReport::bytes_per_second, "this machine's, in a copy beside the run"),
                   report_field("kernels", &ProfileReport::kernels, "most time first"), report_field("events", &ProfileReport::events));
};
template <>
struct ReportFields<MadeUpConstant> {
    static constexpr auto fields =
        std::tuple(report_field("aval", &MadeUpConstant::aval), report_field("bytes", &MadeUpConstant::bytes),
                   report_field("source", &MadeUpConstant::source, "what reads it first"), report_field("place", &MadeUpConstant::loc));
};
template <>
struct ReportFields<DebugPrintRow> {
    static constexpr auto fields =
        std::tuple(report_field("primitive", &DebugPrintRow::primitive), report_field("equation", &DebugPrintRow::equation),
                   report_field("source", &DebugPrintRow::source), report_field("place", &DebugPrintRow::loc),
                   report_field("format", &DebugPrintRow::format, "of debug_print"),
                   report_field("calls", &DebugPrintRow::calls, "in one run"), report_field("texts", &DebugPrintRow::texts, "of the calls"),
                   report_field("order", &DebugPrintRow::order, "of each text among all calls of the run"),
                   report_field("problem", &DebugPrintRow::problem, "why there is no text, or not that of each call"));
};
template <>
struct ReportFields<TimeReport> {
    static constexpr auto fields =
        std::tuple(report_field("load", &TimeReport::load), report_field("transform", &TimeReport::transform),
                   report_field("compile", &TimeReport::compile), report_field("first_run", &TimeReport::first_run),
                   report_field("run_median", &TimeReport::run_median), report_field("run_min", &TimeReport::run_min),
                   report_field("objects_compiled", &TimeReport::objects_compiled, "pieces of machine code that were made"),
                   report_field("objects_from_disk", &TimeReport::objects_from_disk, "that were found in the cache"));
};
template <>
struct ReportFields<CompiledFigure> {
    static constexpr auto fields = std::tuple(
        report_field("target", &CompiledFigure::target), report_field("device", &CompiledFigure::device, "as JAX names it"),
        report_field("version", &CompiledFigure::version, "of the compiler"),
        report_field("peak", &CompiledFigure::peak, "bytes, by XLA's memory analysis"),
        report_field("temporaries", &CompiledFigure::temporaries), report_field("compile_seconds", &CompiledFigure::compile_seconds),
        report_field("kept", &CompiledFigure::kept, "compiled an earlier time: read from the disk"),
        report_field("problem", &CompiledFigure::problem, "why there is no figure, or why it doesn't fit"));
};
template <>
struct ReportFields<PolicyRow> {
    static constexpr auto fields = std::tuple(
        report_field("policy", &PolicyRow::policy), report_field("as_it_is", &PolicyRow::as_it_is),
        report_field("around", &PolicyRow::around, "where the checkpoints were put; null: around the function, or nowhere"),
        report_field("of", &PolicyRow::of, "what the peaks and times are of: the step, value and gradient, value and pullback"),
        report_field("residual_bytes", &PolicyRow::residual_bytes, "of whole arrays"),
        report_field("residual_device_bytes", &PolicyRow::residual_device_bytes, "of one of several devices; null of one"),
        report_field("sent_bytes", &PolicyRow::sent_bytes, "that each of several devices sends in one run; null of one"),
        report_field("planned_peak", &PolicyRow::planned_peak), report_field("measured_peak", &PolicyRow::measured_peak),
        report_field("device_peak", &PolicyRow::device_peak, "of the planned peak; null where nothing is on the host"),
        report_field("host_peak", &PolicyRow::host_peak), report_field("moved_to_host", &PolicyRow::moved_to_host),
        report_field("recomputed_flops", &PolicyRow::recomputed_flops), report_field("total_flops", &PolicyRow::total_flops),
        report_field("run_median", &PolicyRow::run_median), report_field("problem", &PolicyRow::problem, "why a figure is missing"),
        report_field("compiled", &PolicyRow::compiled, "by XLA itself, of the targets that were asked"));
};

template <>
struct ReportFields<DeviceFit> {
    static constexpr auto fields =
        std::tuple(report_field("device_memory", &DeviceFit::device_memory),
                   report_field("planned_peak", &DeviceFit::planned_peak, "of jaxscope's CPU JIT"),
                   report_field("lower_bound", &DeviceFit::lower_bound, "what any compiler needs: arguments, and what stands when it ends"),
                   report_field("fits", &DeviceFit::fits, "the plan does"),
                   report_field("impossible", &DeviceFit::impossible, "the lower bound exceeds the device"),
                   report_field("sentence", &DeviceFit::sentence));
};

}  // namespace jaxscope
