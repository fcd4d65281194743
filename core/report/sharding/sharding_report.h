// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a program over several devices lies on them, as rows of reports. In: the program of one device. Out: rows, and their section. Never
// here: the memory of a device, which is MemoryReport.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sharding/per_device.h"
#include "report/json/fields.h"
#include "report/page.h"

namespace jaxscope {

class Inspection;

/// An input, a result or what an equation makes, and one device's part of it.
struct ShardRow {
    std::string path;  ///< of inputs and results; of others the primitive that makes it
    std::string aval, spec, local;
    std::int64_t bytes = 0;   ///< of each device
    std::int64_t copies = 1;  ///< devices that have the same part
    sharding::Spec placed;    ///< `spec`, for pictures
    Dims shape;               ///< of the whole value
    bool said = false;        ///< somebody said so; else it follows from the rest
    std::string xla_spec;     ///< XLA's own choice, of inputs and results; empty: it wasn't asked
    std::string source, file;
    int line = 0;
};
/// Devices that meet: equal ones of one line are one row.
struct CollectiveRow {
    std::string kind;
    std::vector<std::string> axes;
    std::int64_t members = 1, count = 1;
    std::int64_t bytes = 0;             ///< that a device sends, each time, in one of them
    std::int64_t steps = 0;             ///< in which it sends them: around a ring
    std::optional<std::int64_t> times;  ///< in one run, each of them; null: it stands in a while loop
    std::int64_t total_bytes = 0;       ///< of all, in one run; of a while loop one round
    std::string asked_by, source, file;
    int line = 0;
};
/// What XLA's compiler put in, when the program was captured with --compile: equal ones of one line are one row.
struct XlaCollectiveRow {
    std::string kind;
    std::int64_t members = 1, count = 1;
    std::int64_t bytes = 0;             ///< that a device sends, each time, in one of them, at least
    std::optional<std::int64_t> times;  ///< in one run; null: in a loop whose rounds XLA doesn't know
    std::int64_t total_bytes = 0;       ///< of all, in one run; of such a loop one round
    std::string op_name, file;
    int line = 0;
};
struct XlaChoice {
    std::int64_t sent_bytes = 0;
    std::vector<XlaCollectiveRow> collectives;
};
struct ShardingFindingRow {
    std::string kind;  ///< computed-whole, padded, not-honoured, replicated
    std::string primitive, aval, spec;
    std::int64_t bytes = 0;
    std::string sentence, file;
    int line = 0;
};
struct ShardingReport {
    std::int64_t devices = 1;
    std::string mesh;
    sharding::Mesh over;  ///< `mesh`, for pictures
    std::string problem;  ///< why figures are those of whole arrays; else empty
    std::int64_t sent_bytes = 0;
    std::vector<ShardRow> inputs, outputs, values;
    std::vector<CollectiveRow> collectives;
    std::vector<ShardingFindingRow> findings;
    std::optional<XlaChoice> xla;
};

/// None: the program has one device.
std::optional<ShardingReport> sharding_report(const Inspection& inspection);
/// None: the capture has no word of XLA's on where devices meet.
std::optional<XlaChoice> xla_choice(const XlaFacts& facts);
void sharding_section(Page& page, const ShardingReport& report);

template <>
struct ReportFields<ShardRow> {
    static constexpr auto fields =
        std::tuple(report_field("path", &ShardRow::path, "of inputs and results; of other values the primitive that makes them"),
                   report_field("aval", &ShardRow::aval, "of the whole value"), report_field("spec", &ShardRow::spec),
                   report_field("local", &ShardRow::local), report_field("bytes", &ShardRow::bytes, "of each device"),
                   report_field("copies", &ShardRow::copies, "devices that have the same part"),
                   report_field("said", &ShardRow::said, "by a constraint or a region; else it follows from the rest"),
                   report_field("xla_spec", &ShardRow::xla_spec, "XLA's own choice, of inputs and results; empty: it wasn't asked"),
                   report_field("source", &ShardRow::source), report_field("file", &ShardRow::file), report_field("line", &ShardRow::line));
};
template <>
struct ReportFields<CollectiveRow> {
    static constexpr auto fields =
        std::tuple(report_field("kind", &CollectiveRow::kind), report_field("axes", &CollectiveRow::axes, "along which devices meet"),
                   report_field("members", &CollectiveRow::members, "of one group"),
                   report_field("count", &CollectiveRow::count, "equal ones of this line"),
                   report_field("bytes", &CollectiveRow::bytes, "that a device sends, each time, at least"),
                   report_field("steps", &CollectiveRow::steps, "in which it sends them, each time: parts go around a ring"),
                   report_field("times", &CollectiveRow::times, "in one run, each of them; null: it stands in a while loop"),
                   report_field("total_bytes", &CollectiveRow::total_bytes, "of all; of a while loop one round"),
                   report_field("asked_by", &CollectiveRow::asked_by, "the primitive that needs it; itself where it stands in the program"),
                   report_field("source", &CollectiveRow::source), report_field("file", &CollectiveRow::file),
                   report_field("line", &CollectiveRow::line));
};
template <>
struct ReportFields<XlaCollectiveRow> {
    static constexpr auto fields =
        std::tuple(report_field("kind", &XlaCollectiveRow::kind), report_field("members", &XlaCollectiveRow::members, "of one group"),
                   report_field("count", &XlaCollectiveRow::count, "equal ones of this line"),
                   report_field("bytes", &XlaCollectiveRow::bytes, "that a device sends, each time, at least"),
                   report_field("times", &XlaCollectiveRow::times, "in one run; null: in a loop whose rounds XLA doesn't know"),
                   report_field("total_bytes", &XlaCollectiveRow::total_bytes, "of all; of such a loop one round"),
                   report_field("op_name", &XlaCollectiveRow::op_name, "JAX's name stack"), report_field("file", &XlaCollectiveRow::file),
                   report_field("line", &XlaCollectiveRow::line));
};
template <>
struct ReportFields<XlaChoice> {
    static constexpr auto fields = std::tuple(report_field("sent_bytes", &XlaChoice::sent_bytes, "by each device in one run, at least"),
                                              report_field("collectives", &XlaChoice::collectives));
};
template <>
struct ReportFields<ShardingFindingRow> {
    static constexpr auto fields =
        std::tuple(report_field("kind", &ShardingFindingRow::kind, "computed-whole, padded, not-honoured, replicated"),
                   report_field("primitive", &ShardingFindingRow::primitive), report_field("aval", &ShardingFindingRow::aval),
                   report_field("spec", &ShardingFindingRow::spec), report_field("bytes", &ShardingFindingRow::bytes),
                   report_field("sentence", &ShardingFindingRow::sentence), report_field("file", &ShardingFindingRow::file),
                   report_field("line", &ShardingFindingRow::line));
};
template <>
struct ReportFields<ShardingReport> {
    static constexpr auto fields =
        std::tuple(report_field("devices", &ShardingReport::devices), report_field("mesh", &ShardingReport::mesh),
                   report_field("problem", &ShardingReport::problem, "why figures are those of whole arrays; else empty"),
                   report_field("sent_bytes", &ShardingReport::sent_bytes, "by each device in one run"),
                   report_field("inputs", &ShardingReport::inputs), report_field("outputs", &ShardingReport::outputs),
                   report_field("values", &ShardingReport::values, "what equations make: the largest 200"),
                   report_field("collectives", &ShardingReport::collectives), report_field("findings", &ShardingReport::findings),
                   report_field("xla", &ShardingReport::xla, "where devices meet in what XLA compiled; null: it wasn't asked (--compile)"));
};

}  // namespace jaxscope
