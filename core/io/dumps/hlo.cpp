// SPDX-License-Identifier: Apache-2.0
// HLO text, as `compiled.as_text()` gives it and XLA dumps it: operations with their shapes, and tables of the lines of Python behind them.
#include <charconv>
#include <map>
#include <set>

#include "base/text.h"
#include "io/dumps/dump_text.h"
#include "io/text/surroundings.h"

namespace jaxscope::dumps {

namespace {

/// The tables in front of the computations: names of files and functions, lines, and who called whom; all counted from 1.
class FrameTables {
public:
    explicit FrameTables(Lines& lines) : lines_(lines) {}
    /// Reads a table where `heading` begins one.
    bool read(std::string_view heading) {
        static constexpr std::string_view kTables[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
        for (const std::string_view table : kTables) {
            if (heading != table) continue;
            for (std::string_view line; lines_.next(line) && !trim(line).empty();) entry(table, trim(line));
            return true;
        }
        return false;
    }
    /// All frames, the frame N at index N - 1.
    std::vector<DumpFrame> frames() const {
        // Some versions count callers from 2, so that a frame without one names itself.
        bool from_two = false;
        for (const auto& [id, frame] : frames_) from_two = from_two || frame.second == id;
        std::vector<DumpFrame> out(frames_.empty() ? 0 : static_cast<std::size_t>(frames_.rbegin()->first));
        for (const auto& [id, frame] : frames_) {
            DumpFrame& f = out[static_cast<std::size_t>(id) - 1];
            if (const auto at = places_.find(frame.first); at != places_.end()) f = at->second;
            const std::int64_t caller = frame.second - (from_two ? 1 : 0);
            f.caller = caller >= 1 && caller < id ? static_cast<int>(caller) - 1 : -1;  // a frame stands behind its caller: no circles
        }
        return out;
    }

private:
    void entry(std::string_view table, std::string_view line) {
        std::int64_t id = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
        // They are numbered one after the other: a table is no longer than its text.
        const std::size_t before = table == "FileNames"       ? files_.size()
                                   : table == "FunctionNames" ? functions_.size()
                                   : table == "FileLocations" ? places_.size()
                                                              : frames_.size();
        if (error != std::errc() || id < 1 || id > static_cast<std::int64_t>(before) + 1)
            lines_.refuse("an entry of " + std::string(table) + " with its number", line);
        const std::string_view rest(end, static_cast<std::size_t>(line.data() + line.size() - end));
        const auto number = [&](std::string_view key) { return number_behind(rest, key).value_or(0); };
        if (table == "FileNames") files_[id] = quoted(rest, " ");
        if (table == "FunctionNames") functions_[id] = quoted(rest, " ");
        if (table == "FileLocations")
            places_[id] = {files_[number("file_name_id=")], functions_[number("function_name_id=")], static_cast<int>(number(" line=")),
                           -1};
        if (table == "StackFrames") frames_[id] = {number("file_location_id="), number("parent_frame_id=")};
    }

    Lines& lines_;
    std::map<std::int64_t, std::string> files_, functions_;
    std::map<std::int64_t, DumpFrame> places_;
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> frames_;  ///< place, caller
};

/// "{0}: (0, {}, may-alias), {1}: (3, {}, must-alias)": an output of the flat result, the argument whose memory it takes.
void read_header(CompilerDump& dump, std::string_view line) {
    line.remove_prefix(std::string_view("HloModule ").size());
    dump.module = line.substr(0, line.find_first_of(", "));
    dump.scheduled = line.find("is_scheduled=true") != std::string_view::npos;
    // Braces hold blanks: each entry is found by its arrow of an output and a colon.
    const std::size_t aliases = line.find("input_output_alias={");
    std::string_view rest = aliases == std::string_view::npos ? std::string_view() : line.substr(aliases + 20);
    for (std::size_t colon; (colon = rest.find("}: (")) != std::string_view::npos;) {
        const std::size_t open = rest.rfind('{', colon);
        const std::size_t layout = rest.find("entry_computation_layout");
        if (open == std::string_view::npos || layout < colon) break;
        DumpAlias alias;
        alias.output = static_cast<int>(number_behind(rest.substr(open), "{").value_or(0));
        alias.input = static_cast<int>(number_behind(rest.substr(colon), "}: (").value_or(0));
        alias.must = rest.substr(colon, rest.find(')', colon) - colon).find("must-alias") != std::string_view::npos;
        dump.aliases.push_back(alias);
        rest.remove_prefix(colon + 4);
    }
}

std::string_view without_percent(std::string_view name) { return name.starts_with('%') ? name.substr(1) : name; }

/// The name of the computation behind `key`, as in "calls=%fused_computation.3".
std::string called(std::string_view line, std::string_view key) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view name = without_percent(line.substr(at + key.size()));
    return std::string(name.substr(0, name.find_first_of(", )}")));
}

/// Results that are another value's memory, or none of the program's.
bool is_view(std::string_view opcode, bool entry) {
    static const std::set<std::string_view> kViews = {"get-tuple-element",    "tuple",          "bitcast",      "while",
                                                      "conditional",          "call",           "after-all",    "opt-barrier",
                                                      "optimization-barrier", "add-dependency", "partition-id", "replica-id"};
    return kViews.count(opcode) > 0 || opcode.ends_with("-done") || opcode.ends_with("-update") || (opcode == "parameter" && !entry);
}

class HloReader {
public:
    HloReader(std::string_view text, const std::string& file) : lines_(text, file), tables_(lines_) {}
    CompilerDump read() {
        for (std::string_view line; lines_.next(line);) {
            const std::string_view words = trim(line);
            if (words.empty() || words.starts_with("//")) continue;
            if (words.starts_with("HloModule ") && dump_.module.empty())
                read_header(dump_, words);
            else if (!tables_.read(words))
                computation(words);
        }
        if (!open_.empty()) lines_.refuse("'}' behind the operations of " + open_, "");
        if (dump_.operations.empty()) lines_.refuse("operations of a computation", "");
        finish();
        return std::move(dump_);
    }

private:
    void computation(std::string_view words) {
        if (open_.empty()) {
            if (!words.ends_with('{')) lines_.refuse("a computation, 'NAME (PARAMETERS) -> RESULT {'", words);
            entry_ = words.starts_with("ENTRY ");
            if (entry_) words.remove_prefix(6);
            open_ = without_percent(words.substr(0, words.find_first_of(" (")));
        } else if (words.starts_with('}')) {
            open_.clear();
        } else {
            operation(words);
        }
    }
    /// "ROOT %add.36 = f32[512,256]{1,0} add(%a, %b), metadata={op_name="jit(f)/add" stack_frame_id=36}".
    void operation(std::string_view words) {
        if (words.starts_with("ROOT ")) words.remove_prefix(5);
        const std::size_t is = words.find(" = ");
        const std::string_view right = is == std::string_view::npos ? std::string_view() : words.substr(is + 3);
        const std::size_t length = shape_length(right), paren = right.find('(', length);
        if (length == 0 || paren == std::string_view::npos) lines_.refuse("an operation, 'NAME = SHAPE OPCODE(...)'", words);
        DumpOperation op;
        op.name = without_percent(words.substr(0, is));
        op.shape = right.substr(0, length);
        op.opcode = trim(right.substr(length, paren - length));
        op.computation = open_;
        try {
            op.bytes = shape_bytes(op.shape);
        } catch (const Error& e) {
            lines_.refuse("an operation with its shape", words);
        }
        const std::string_view attributes = right.substr(paren);
        if (const std::size_t metadata = attributes.find("metadata={"); metadata != std::string_view::npos) {
            read_metadata(dump_, attributes.substr(metadata), op.op_name, op.frame);
            if (const auto id = number_behind(attributes.substr(metadata), "stack_frame_id="))
                stack_ids_.emplace_back(dump_.operations.size(), *id);
        }
        // What a fusion calls stays in registers; what reduces, sorts or scatters calls scalars.
        const std::string inside = op.opcode == "fusion" ? called(attributes, "calls=")
                                   : op.opcode != "call" ? called(attributes, "to_apply=")
                                                         : "";
        if (!inside.empty()) without_memory_.insert(inside);
        op.in_memory = !is_view(op.opcode, entry_);
        dump_.operations.push_back(std::move(op));
    }
    void finish() {
        const int before = static_cast<int>(dump_.frames.size());  // those that operations name by file and line
        const std::vector<DumpFrame> stacks = tables_.frames();
        for (DumpFrame frame : stacks) {
            if (frame.caller >= 0) frame.caller += before;
            dump_.frames.push_back(std::move(frame));
        }
        for (const auto& [index, id] : stack_ids_)
            if (id >= 1 && id <= static_cast<std::int64_t>(stacks.size()))
                dump_.operations[index].frame = before + static_cast<int>(id) - 1;
        for (DumpOperation& op : dump_.operations) {
            if (without_memory_.count(op.computation)) op.in_memory = false;
            if (!op.in_memory) continue;
            dump_.buffers.push_back(result_of(op));
        }
    }

    Lines lines_;
    FrameTables tables_;
    CompilerDump dump_;
    std::string open_;
    bool entry_ = false;
    std::set<std::string> without_memory_;
    std::vector<std::pair<std::size_t, std::int64_t>> stack_ids_;  ///< operation, frame from 1
};

}  // namespace

CompilerDump read_hlo(std::string_view text, const std::string& file) { return HloReader(text, file).read(); }

}  // namespace jaxscope::dumps
