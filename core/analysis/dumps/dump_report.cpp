// SPDX-License-Identifier: Apache-2.0
#include "analysis/dumps/dump_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/dumps/equation_index.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

namespace jaxscope {

namespace {

constexpr std::size_t kMostBuffers = 200;

const CompilerDump* of_kind(const std::vector<CompilerDump>& dumps, DumpKind kind) {
    for (const CompilerDump& d : dumps)
        if (d.kind == kind) return &d;
    return nullptr;
}

/// Two texts with names must be of one module: "jit_f", whatever number XLA put before or behind.
void check_modules(const std::vector<CompilerDump>& dumps, DumpReport& report) {
    const CompilerDump* named = nullptr;
    for (const CompilerDump& d : dumps) {
        report.files.push_back({d.file, dump_kind_text(d.kind), d.module});
        if (d.module.empty()) continue;
        if (named && named->module != d.module)
            throw Error(ErrorCode::BadInput, fmt::format("expected texts of one compilation, found the module {} here and {} in {}",
                                                         printable(d.module, 60), printable(named->module, 60), printable(named->file, 80)))
                .at({d.file, 1, 1});
        named = &d;
        report.module = d.module;
    }
}

void add_memory(const CompilerDump& dump, DumpedMemory& memory) {
    const std::pair<const char*, std::optional<std::int64_t> DumpedMemory::*> names[] = {
        {"needed", &DumpedMemory::needed},       {"available", &DumpedMemory::available},
        {"peak", &DumpedMemory::peak},           {"arguments", &DumpedMemory::arguments},
        {"outputs", &DumpedMemory::outputs},     {"aliased", &DumpedMemory::aliased},
        {"constants", &DumpedMemory::constants}, {"temporaries", &DumpedMemory::temporaries},
        {"total", &DumpedMemory::total},         {"other_spaces", &DumpedMemory::other_spaces}};
    for (const auto& [name, bytes] : dump.figures)
        for (const auto& [known, member] : names)
            if (name == known && !(memory.*member)) {
                memory.*member = bytes;
                memory.rounded = memory.rounded || dump.rounded;
            }
}

/// Which text's buffers are shown: those of which most is known.
struct Listed {
    DumpKind kind;
    const char* what;
    bool alive_together;
};
constexpr Listed kListed[] = {
    {DumpKind::OutOfMemory, "what XLA lists as largest when it ran out of memory", true},
    {DumpKind::LiveRange, "alive when most is", true},
    {DumpKind::BufferAssignment, "values of the buffer assignment; those that are never alive together share memory", false},
    {DumpKind::Hlo, "results of operations; which of them are alive together, XLA's live-range dump says", false},
    {DumpKind::MemoryUsage, "pieces of XLA's allocations, each shared by values that are never alive together", false},
    {DumpKind::StableHlo, "results of operations before XLA fuses them: most will never be in memory", false}};

/// The element {1} (or {1,0}) of a tuple's shape; the shape where there is none.
std::string element_of(std::string_view shape, std::string_view index) {
    index = index.substr(std::min<std::size_t>(1, index.size()));
    while (!index.empty() && index[0] >= '0' && index[0] <= '9' && shape.starts_with('(')) {
        std::size_t wanted = 0, digits = 0;
        for (; digits < index.size() && digits < 6 && index[digits] >= '0' && index[digits] <= '9'; ++digits)
            wanted = wanted * 10 + static_cast<std::size_t>(index[digits] - '0');
        index.remove_prefix(std::min(digits + 1, index.size()));
        int depth = 0;
        std::size_t begin = 1, end = 1;
        for (; end < shape.size(); ++end) {
            const char c = shape[end];
            if (depth == 0 && (c == ',' || c == ')')) {
                if (wanted-- == 0 || c == ')') break;
                begin = end + 1;
            }
            depth += c == '(' || c == '[' || c == '{';
            depth -= c == ')' || c == ']' || c == '}';
        }
        shape = trim(shape.substr(begin, end - begin));
        if (shape.starts_with("/*")) shape = trim(shape.substr(std::min(shape.find("*/"), shape.size() - 2) + 2));
    }
    return std::string(shape);
}

class Joiner {
public:
    Joiner(const std::vector<CompilerDump>& dumps, const Program* program, DumpReport& report)
        : dumps_(dumps), program_(program), report_(report) {
        if (program) index_.emplace(*program);
        if (const CompilerDump* hlo = of_kind(dumps, DumpKind::Hlo))
            for (const DumpOperation& op : hlo->operations) named_.emplace(op.name, std::pair(hlo, &op));
    }
    void buffers() {
        for (const Listed& listed : kListed) {
            const CompilerDump* dump = of_kind(dumps_, listed.kind);
            if (!dump) continue;
            report_.listed = listed.what;
            report_.alive_together = listed.alive_together;
            for (const DumpBuffer& b : dump->buffers) report_.buffers.push_back(joined(*dump, b));
            break;
        }
        std::stable_sort(report_.buffers.begin(), report_.buffers.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
        lines();
        if (report_.buffers.size() > kMostBuffers) {
            report_.buffers_left_out = static_cast<std::int64_t>(report_.buffers.size() - kMostBuffers);
            report_.buffers.resize(kMostBuffers);
        }
    }
    void operations() {
        const CompilerDump* dump = of_kind(dumps_, DumpKind::Hlo);
        if (!dump) dump = of_kind(dumps_, DumpKind::StableHlo);
        if (!dump) return;
        std::map<std::string, DumpedOpcode> counts;
        for (const DumpOperation& op : dump->operations) {
            DumpedOpcode& row = counts.try_emplace(op.opcode, DumpedOpcode{op.opcode}).first->second;
            ++row.count;
            if (op.in_memory) row.bytes = checked_add(row.bytes, op.bytes);
            if (!index_) continue;
            const OwnPlace place = index_->place(*dump, op.frame);
            if (!place) continue;
            ++report_.joinable;
            report_.joined += index_->find(place, op.op_name).count > 0;
        }
        for (auto& [opcode, row] : counts) report_.operations.push_back(std::move(row));
        std::stable_sort(report_.operations.begin(), report_.operations.end(),
                         [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    }
    /// Only of texts behind the optimisations: XLA's schedule tells them, which an allocation stands on.
    void recomputed() {
        const CompilerDump* hlo = of_kind(dumps_, DumpKind::Hlo);
        if (!index_ || !hlo || !hlo->scheduled) return;
        // Whichever of two equal products XLA keeps, the recomputed one's name may be the one that stays: so all are counted, whatever they
        // are called, and those that the line needs without recomputation are taken off.
        std::map<std::pair<std::string, std::pair<std::string, int>>, std::int64_t> there;
        for (const DumpOperation& op : hlo->operations) {
            // Of an operation and the fusion round it, the operation counts.
            if (op.opcode == "fusion" || !computes_product(op.opcode)) continue;
            const OwnPlace place = index_->place(*hlo, op.frame);
            ++there[{std::string(primitive_in(op.op_name)), {place.file, place.line}}];
        }
        for (const EquationIndex::Recomputed& r : index_->recomputed_products()) {
            const std::int64_t more = there[{r.primitive, {r.place.file, r.place.line}}] - r.needed;
            report_.recomputed.push_back({r.primitive, r.place.file, r.place.line, r.count, std::clamp<std::int64_t>(more, 0, r.count)});
        }
    }
    void aliases() {
        const CompilerDump* dump = of_kind(dumps_, DumpKind::Hlo);
        if (!dump) dump = of_kind(dumps_, DumpKind::StableHlo);
        if (!dump) return;
        const std::vector<int> leaves = arguments(*dump);
        std::vector<bool> reused(program_ ? program_->in_paths.size() : 0);
        for (const DumpAlias& a : dump->aliases) {
            DumpedAlias row{a.output, a.input, {}, {}, a.must};
            if (a.input >= 0 && static_cast<std::size_t>(a.input) < leaves.size()) {
                const auto leaf = static_cast<std::size_t>(leaves[static_cast<std::size_t>(a.input)]);
                row.input_path = program_->in_paths[leaf].str();
                reused[leaf] = true;
            }
            if (program_ && !leaves.empty() && a.output >= 0 && static_cast<std::size_t>(a.output) < program_->out_paths.size())
                row.output_path = program_->out_paths[static_cast<std::size_t>(a.output)].str();
            report_.aliases.push_back(std::move(row));
        }
        for (const int leaf : leaves) {
            const auto i = static_cast<std::size_t>(leaf);
            if (i < program_->donated.size() && program_->donated[i] && !reused[i])
                report_.unused_donations.push_back(program_->in_paths[i].str());
        }
    }

private:
    DumpedBuffer joined(const CompilerDump& dump, const DumpBuffer& b) const {
        DumpedBuffer out{b.bytes, b.unpadded, b.shape, b.name, b.opcode, b.op_name, b.role, {}, 0, {}, 0, b.at_peak};
        const CompilerDump* of = &dump;
        int frame = b.frame;
        if (const auto op = named_.find(b.name); !b.name.empty() && op != named_.end() && &dump != op->second.first) {
            const DumpOperation& known = *op->second.second;
            of = op->second.first;
            frame = known.frame;
            if (out.op_name.empty()) out.op_name = known.op_name;
            if (out.opcode.empty()) out.opcode = known.opcode;
            if (out.shape.empty()) out.shape = element_of(known.shape, b.index);
            if (out.role.empty())
                out.role = known.opcode == "parameter" ? "parameter" : known.opcode == "constant" ? "constant" : "temporary";
        }
        set_place(out, *of, frame);
        return out;
    }
    void set_place(DumpedBuffer& out, const CompilerDump& dump, int frame) const {
        OwnPlace place = index_ ? index_->place(dump, frame) : OwnPlace{};
        if (!place && frame >= 0) {
            const DumpFrame& f = dump.frames[static_cast<std::size_t>(frame)];
            place = {f.file, f.line};
        }
        out.file = place.file;
        out.line = place.line;
        if (!index_) return;
        const EquationIndex::Found found = index_->find(place, out.op_name);
        out.equation = found.equation;
        out.equations = found.count;
    }
    /// Leaves of the program by the number of the text's argument; empty where these don't go together.
    std::vector<int> arguments(const CompilerDump& dump) {
        std::vector<int> leaves;
        if (!program_) return leaves;
        for (std::size_t i = 0; i < program_->in_paths.size(); ++i)
            if (program_->kept.empty() || program_->kept[i]) leaves.push_back(static_cast<int>(i));
        const auto parameters =
            std::count_if(dump.buffers.begin(), dump.buffers.end(), [](const DumpBuffer& b) { return b.role == "parameter"; });
        if (static_cast<std::size_t>(parameters) == leaves.size()) return leaves;
        report_.notes.push_back(
            fmt::format("the text has {} arguments and the program {}: donations are shown by number", parameters, leaves.size()));
        return {};
    }
    void lines() {
        std::map<std::pair<std::string, int>, DumpedLine> rows;
        for (const DumpedBuffer& b : report_.buffers) {
            if (b.line == 0) continue;
            DumpedLine& row = rows.try_emplace({b.file, b.line}, DumpedLine{b.file, b.line}).first->second;
            row.bytes = checked_add(row.bytes, b.bytes);
            row.largest = std::max(row.largest, b.bytes);
            ++row.buffers;
        }
        for (auto& [place, row] : rows) report_.lines.push_back(std::move(row));
        const bool sums = report_.alive_together;
        std::stable_sort(report_.lines.begin(), report_.lines.end(),
                         [&](const DumpedLine& a, const DumpedLine& b) { return sums ? a.bytes > b.bytes : a.largest > b.largest; });
    }

    const std::vector<CompilerDump>& dumps_;
    const Program* program_;
    DumpReport& report_;
    std::optional<EquationIndex> index_;
    std::map<std::string, std::pair<const CompilerDump*, const DumpOperation*>> named_;
};

}  // namespace

DumpReport dump_report(const std::vector<CompilerDump>& dumps, const Program* program) {
    DumpReport report;
    check_modules(dumps, report);
    for (const CompilerDump& d : dumps) add_memory(d, report.memory);
    Joiner joiner(dumps, program, report);
    joiner.buffers();
    joiner.operations();
    joiner.recomputed();
    joiner.aliases();
    const auto names = [&](const Sym name) { return report.module == name.str() || report.module.ends_with("_" + name.str()); };
    if (program && !report.module.empty() && !names(program->name) && !names(program->jaxpr->name) && 2 * report.joined < report.joinable)
        report.notes.push_back(fmt::format(
            "the text is of {}, the capture of {}: what is joined are lines and names, whether they belong together isn't known",
            printable(report.module, 60), printable(program->name.str(), 60)));
    for (const CompilerDump& d : dumps)
        if (d.messages > 1)
            report.notes.push_back(
                fmt::format("{} has {} different messages: shown is the last one that lists buffers", printable(d.file, 80), d.messages));
    if (report.memory.rounded) report.notes.push_back("XLA printed these sizes with three digits");
    return report;
}

}  // namespace jaxscope
