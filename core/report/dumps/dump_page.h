// SPDX-License-Identifier: Apache-2.0
#pragma once
// What XLA's own texts say, as data and in words. Comes in: a DumpReport. Goes out: JSON fields, a page.
#include "analysis/dumps/dump_report.h"
#include "report/json/fields.h"
#include "report/page.h"

namespace jaxscope {

void dump_page(Page& page, const DumpReport& report);
/// The answer in a sentence or two: how much, which line holds most of it.
std::vector<std::string> dump_verdict(const DumpReport& report);

template <>
struct ReportFields<DumpedFile> {
    static constexpr auto fields = std::tuple(report_field("file", &DumpedFile::file), report_field("kind", &DumpedFile::kind),
                                              report_field("module", &DumpedFile::module));
};
template <>
struct ReportFields<DumpedMemory> {
    using M = DumpedMemory;
    static constexpr auto fields =
        std::tuple(report_field("needed", &M::needed, "of an out-of-memory message"), report_field("available", &M::available),
                   report_field("peak", &M::peak, "alive together when most is, by XLA's live ranges"),
                   report_field("arguments", &M::arguments), report_field("outputs", &M::outputs),
                   report_field("aliased", &M::aliased, "outputs in arguments' memory"), report_field("constants", &M::constants),
                   report_field("temporaries", &M::temporaries), report_field("total", &M::total, "of the device's own memory"),
                   report_field("other_spaces", &M::other_spaces, "on the chip, or the host's"),
                   report_field("rounded", &M::rounded, "printed by XLA with three digits"));
};
template <>
struct ReportFields<DumpedBuffer> {
    using B = DumpedBuffer;
    static constexpr auto fields = std::tuple(
        report_field("bytes", &B::bytes),
        report_field("unpadded", &B::unpadded, "without the padding of a device's tiles, where XLA says it"),
        report_field("shape", &B::shape), report_field("name", &B::name, "of the operation in the HLO"), report_field("opcode", &B::opcode),
        report_field("op_name", &B::op_name, "JAX's name stack"), report_field("role", &B::role), report_field("file", &B::file),
        report_field("line", &B::line), report_field("equation", &B::equation, "the first of the capture's that it may come from"),
        report_field("equations", &B::equations, "how many it may come from"), report_field("at_peak", &B::at_peak));
};
template <>
struct ReportFields<DumpedLine> {
    static constexpr auto fields =
        std::tuple(report_field("file", &DumpedLine::file), report_field("line", &DumpedLine::line),
                   report_field("bytes", &DumpedLine::bytes, "the sum, alive together where alive_together says so"),
                   report_field("largest", &DumpedLine::largest), report_field("buffers", &DumpedLine::buffers));
};
template <>
struct ReportFields<DumpedOpcode> {
    static constexpr auto fields = std::tuple(report_field("opcode", &DumpedOpcode::opcode), report_field("count", &DumpedOpcode::count),
                                              report_field("bytes", &DumpedOpcode::bytes, "of results outside of fusions"));
};
template <>
struct ReportFields<DumpedAlias> {
    static constexpr auto fields =
        std::tuple(report_field("output", &DumpedAlias::output), report_field("input", &DumpedAlias::input),
                   report_field("output_path", &DumpedAlias::output_path), report_field("input_path", &DumpedAlias::input_path),
                   report_field("must", &DumpedAlias::must));
};
template <>
struct ReportFields<DumpedRecomputation> {
    using R = DumpedRecomputation;
    static constexpr auto fields =
        std::tuple(report_field("primitive", &R::primitive), report_field("file", &R::file), report_field("line", &R::line),
                   report_field("asked", &R::asked, "by the capture's checkpoints"),
                   report_field("kept", &R::kept, "in XLA's program; the others it merged with the first computation, or dropped"));
};
template <>
struct ReportFields<DumpReport> {
    using D = DumpReport;
    static constexpr auto fields = std::tuple(
        report_field("files", &D::files), report_field("module", &D::module), report_field("memory", &D::memory),
        report_field("listed", &D::listed, "what the buffers are"), report_field("alive_together", &D::alive_together),
        report_field("buffers", &D::buffers, "the largest 200"), report_field("buffers_left_out", &D::buffers_left_out),
        report_field("lines", &D::lines), report_field("operations", &D::operations), report_field("aliases", &D::aliases),
        report_field("unused_donations", &D::unused_donations, "donated by the capture, and given to no output by XLA"),
        report_field("recomputed", &D::recomputed), report_field("joined", &D::joined, "operations with an equation of the capture"),
        report_field("joinable", &D::joinable, "operations with a line of the capture's files"));
};

}  // namespace jaxscope
