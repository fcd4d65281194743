// SPDX-License-Identifier: Apache-2.0
// Texts about memory: buffer assignment, memory usage, live ranges.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "io/dumps/dump_text.h"

namespace jaxscope::dumps {

namespace {

/// "<265 arg_tuple.3{0} (phi) @0>" is called arg_tuple.3, at {0} of it.
std::string operation_of(std::string_view value) { return std::string(trim(value.substr(0, value.find_first_of("{ ")))); }

/// The index of that value within the operation's tuple.
std::string index_of(std::string_view value) {
    const auto inside = between(value, "{", "}");
    return inside && !inside->empty() ? "{" + std::string(*inside) + "}" : "";
}

/// "allocation 14: size 5767400, preallocated-temp:" and the words that it may hold.
DumpAllocation allocation_of(std::string_view line, const Lines& lines) {
    DumpAllocation out;
    const std::optional<std::int64_t> size = number_behind(line, ": size ");
    if (!size || *size < 0) lines.refuse("'allocation N: size BYTES'", line);
    out.bytes = *size;
    if (const auto colour = number_behind(line, "color ")) out.space = static_cast<int>(*colour);
    if (const auto parameter = number_behind(line, "parameter ")) out.parameter = static_cast<int>(*parameter);
    out.live_out = line.find("maybe-live-out") != std::string_view::npos;
    const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
    out.role = out.parameter >= 0    ? "parameter"
               : has("constant")     ? "constant"
               : has("thread-local") ? "thread-local"
               : out.live_out        ? "output"
                                     : "temporary";
    return out;
}

/// " value: <201 copy.6 @0> (size=524288,offset=3145728): f32[512,256]{1,0}".
DumpBuffer value_of(std::string_view line, const DumpAllocation& in, const Lines& lines) {
    DumpBuffer out;
    const auto name = between(line, "<", ">");
    const auto size = number_behind(line, "(size="), offset = number_behind(line, "offset=");
    const std::size_t shape = line.find("): ");
    if (!name || !size || !offset || shape == std::string_view::npos) lines.refuse("'value: <ID NAME> (size=BYTES,offset=N): SHAPE'", line);
    const std::size_t id = std::min(name->find(' '), name->size() - 1);
    out.name = operation_of(name->substr(id + 1));
    out.index = index_of(name->substr(id + 1));
    out.bytes = *size;
    out.offset = *offset;
    out.shape = trim(line.substr(shape + 3));
    out.role = in.role;
    out.parameter = in.parameter;
    return out;
}

/// The sum of the allocations that `counts` picks.
template <class Counts>
std::int64_t sum_of(const CompilerDump& dump, Counts counts) {
    std::int64_t sum = 0;
    for (const DumpAllocation& a : dump.allocations)
        if (counts(a)) sum = checked_add(sum, a.bytes);
    return sum;
}

void add_figures(CompilerDump& dump) {
    using A = DumpAllocation;
    const auto sum_with = [&](std::string_view role) { return sum_of(dump, [&](const A& a) { return a.role == role && a.space == 0; }); };
    const std::int64_t aliased = sum_of(dump, [](const A& a) { return a.parameter >= 0 && a.live_out && a.space == 0; });
    dump.figures = {{"arguments", sum_with("parameter")},
                    {"outputs", checked_add(sum_with("output"), aliased)},
                    {"aliased", aliased},
                    {"constants", sum_with("constant")},
                    {"temporaries", checked_add(sum_with("temporary"), sum_with("thread-local"))},
                    {"total", sum_of(dump, [](const A& a) { return a.space == 0; })}};
    if (const std::int64_t other = sum_of(dump, [](const A& a) { return a.space != 0; })) dump.figures.emplace_back("other_spaces", other);
}

}  // namespace

CompilerDump read_buffer_assignment(std::string_view text, const std::string& file) {
    CompilerDump dump;
    Lines lines(text, file);
    for (std::string_view line; lines.next(line);) {
        const std::string_view words = trim(line);
        if (words.starts_with("allocation ")) {
            dump.allocations.push_back(allocation_of(words, lines));
        } else if (words.starts_with("value: ")) {
            if (dump.allocations.empty()) lines.refuse("'allocation N: size BYTES' before its values", line);
            dump.buffers.push_back(value_of(words, dump.allocations.back(), lines));
        } else if (!dump.allocations.empty() && !words.empty()) {
            break;  // uses and positions of the values, which say nothing of memory
        }
    }
    if (dump.allocations.empty()) lines.refuse("'allocation N: size BYTES'", "");
    add_figures(dump);
    return dump;
}

CompilerDump read_memory_usage(std::string_view text, const std::string& file) {
    CompilerDump dump;
    dump.rounded = true;
    Lines lines(text, file);
    std::int64_t total = 0;
    for (std::string_view line; lines.next(line);) {
        const std::string_view words = trim(line);
        if (words.starts_with("Total bytes")) {  // of each memory space
            const std::size_t colon = words.find(": ");
            const auto size = colon == std::string_view::npos ? std::nullopt : size_at(words.substr(colon + 2));
            if (!size) lines.refuse("'Total bytes: N'", line);
            total = checked_add(total, *size);
        }
        const std::vector<std::string> cells = split(words, ';');
        const auto bytes = cells.size() >= 5 ? size_at(cells[1]) : std::nullopt;
        if (!bytes) continue;
        DumpBuffer buffer;
        buffer.bytes = *bytes;
        buffer.shape = trim(cells[4]);
        if (const auto offset = number_behind(trim(cells[2]), "")) buffer.offset = *offset;
        buffer.role = "shared by " + std::string(trim(cells[3])) + (trim(cells[3]) == "1" ? " value" : " values");
        dump.buffers.push_back(std::move(buffer));
    }
    if (total == 0 && dump.buffers.empty()) lines.refuse("a table of sizes, offsets and shapes", "");
    dump.figures = {{"total", total}};
    return dump;
}

CompilerDump read_live_range(std::string_view text, const std::string& file) {
    CompilerDump dump;
    Lines lines(text, file);
    bool at_peak = false;
    std::int64_t sum = 0;
    for (std::string_view line; lines.next(line);) {
        const std::string_view words = trim(line);
        if (words.starts_with("Live ranges at ")) {
            at_peak = words.find("(peak)") != std::string_view::npos;
            continue;
        }
        const std::size_t colon = words.rfind(": ", words.find(" bytes (cumulative"));
        if (!at_peak || words.find(" bytes (cumulative") == std::string_view::npos || colon == std::string_view::npos) {
            if (at_peak && !words.empty()) break;  // what follows sums the same bytes up by scope
            continue;
        }
        const auto bytes = number_behind(words.substr(colon), ": ");
        if (!bytes || *bytes < 0) lines.refuse("'NAME{}: N bytes (cumulative: ...)'", line);
        DumpBuffer buffer;
        buffer.name = operation_of(words.substr(0, colon));
        buffer.index = index_of(words.substr(0, colon));
        buffer.bytes = *bytes;
        buffer.at_peak = true;
        sum = checked_add(sum, *bytes);
        dump.buffers.push_back(std::move(buffer));
    }
    if (dump.buffers.empty()) lines.refuse("'Live ranges at N (peak):' and what is alive there", "");
    dump.figures = {{"peak", sum}};
    return dump;
}

}  // namespace jaxscope::dumps
