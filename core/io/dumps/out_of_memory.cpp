// SPDX-License-Identifier: Apache-2.0
// What XLA says when a program doesn't fit, alone or inside of a log: how much it needs and how much there is, what holds it. GPUs and CPUs
// list "Buffer 1:" and what follows, TPUs "1. Size: 8.00G".
#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "io/dumps/dump_text.h"

namespace jaxscope::dumps {

namespace {

/// A text that was printed as one line, its line ends as backslash and n, has them again.
std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escape = text[i] == '\\' && i + 1 < text.size();
        if (escape && text[i + 1] == 'n')
            out += '\n';
        else if (escape && text[i + 1] == 't')
            out += '\t';
        else if (escape && (text[i + 1] == '"' || text[i + 1] == '\''))
            out += text[i + 1];
        else {
            out += text[i];
            continue;
        }
        ++i;
    }
    return out;
}

struct Total {
    std::string_view before, needed_before, available_before;
};
/// Sentences with what is needed and what there is, each behind the words that lead to it.
constexpr std::array<Total, 6> kTotals = {{{"Used ", "Used ", " of "},
                                           {"exceeds available HBM", "required for ", "exceeds available HBM ("},
                                           {"Attempting to allocate ", "Attempting to allocate ", "There are "},
                                           {"Failed to allocate request for ", "Failed to allocate request for ", ""},
                                           {"Out of memory while trying to allocate ", "Out of memory while trying to allocate ", ""},
                                           {"Out of memory allocating ", "Out of memory allocating ", ""}}};

/// The first size that stands behind `words`, whatever stands between.
std::optional<std::int64_t> first_size_behind(std::string_view line, std::string_view words) {
    const std::size_t at = words.empty() ? std::string_view::npos : line.find(words);
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at + words.size());
    const std::size_t number = line.find_first_of("0123456789");
    return number == std::string_view::npos ? std::nullopt : size_at(line.substr(number));
}

/// The exact number in "154.06GiB (165425291480B)", else the rounded one.
std::optional<std::int64_t> exact(std::string_view line, std::string_view words) {
    const std::size_t at = line.find(words);
    if (words.empty() || at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + words.size());
    const std::size_t paren = rest.find('(');
    if (paren != std::string_view::npos && paren < 12)
        if (const auto bytes = size_at(rest.substr(paren + 1)); bytes && *bytes >= 1024) return bytes;
    return size_at(rest);
}

class OutOfMemoryReader {
public:
    OutOfMemoryReader(std::string_view text, const std::string& file) : lines_(text, file) {}
    CompilerDump read() {
        for (std::string_view line; lines_.next(line);) one(trim(line));
        if (!needed_ && dump_.buffers.empty() && earlier_.empty()) lines_.refuse("how much memory is needed, or which buffers take it", "");
        CompilerDump told = last_of_all();
        told.rounded = true;
        std::stable_sort(told.buffers.begin(), told.buffers.end(),
                         [](const DumpBuffer& a, const DumpBuffer& b) { return a.bytes > b.bytes; });
        return told;
    }

private:
    void one(std::string_view words) {
        if (words.empty()) return;
        if (!open_quote_.empty()) return close_quote(words);
        totals(words);
        if (!begins_buffer(words) && in_buffer_)
            detail(words);
        else if (!in_buffer_)
            figure(words);
    }
    /// A log tells a message when it happens, and again when Python ends; a program that tries again, for each time. The last one counts,
    /// of those that list buffers where any does.
    CompilerDump last_of_all() {
        std::vector<CompilerDump> all = std::move(earlier_);
        all.push_back(std::move(dump_));
        std::set<std::string> sentences;
        constexpr std::string_view kCode = "RESOURCE_EXHAUSTED: ";
        for (const CompilerDump& d : all)
            if (!d.sentence.empty()) sentences.insert(d.sentence.substr(d.sentence.starts_with(kCode) ? kCode.size() : 0));
        const auto lists = std::find_if(all.rbegin(), all.rend(), [](const CompilerDump& d) { return !d.buffers.empty(); });
        CompilerDump told = lists != all.rend() ? std::move(*lists) : std::move(all.back());
        told.messages = std::max<int>(1, static_cast<int>(sentences.size()));
        return told;
    }
    void totals(std::string_view words) {
        for (const Total& total : kTotals) {
            if (words.find(total.before) == std::string_view::npos) continue;
            const bool in_parentheses = total.needed_before == "required for ";
            const std::size_t in_front = words.find(total.needed_before);
            if (in_front == std::string_view::npos) continue;
            const std::optional<std::int64_t> needed =
                in_parentheses ? first_size_behind(words.substr(in_front), "(") : exact(words, total.needed_before);
            if (!needed) continue;
            if (needed_ || !dump_.buffers.empty()) earlier_.push_back(std::exchange(dump_, {}));
            in_buffer_ = false;
            needed_ = needed;
            dump_.sentence = printable(words.substr(std::min(words.find("RESOURCE_EXHAUSTED"), words.find(total.before))), 200);
            dump_.figures.emplace_back("needed", *needed_);
            const std::size_t behind = words.find(total.before) + total.before.size();
            if (const auto available = first_size_behind(words.substr(in_parentheses ? 0 : behind), total.available_before))
                dump_.figures.emplace_back("available", *available);
            return;
        }
    }
    /// "Buffer 3:" or "3. Size: 512.00M".
    bool begins_buffer(std::string_view words) {
        const std::size_t digits = words.starts_with("Buffer ") ? 7 : 0;
        const std::size_t end = words.find_first_not_of("0123456789", digits);
        const bool gpu = digits > 0 && end != std::string_view::npos && end > digits && words.substr(end) == ":";
        const bool tpu = digits == 0 && end != std::string_view::npos && end > 0 && words.substr(end).starts_with(". Size:");
        if (!gpu && !tpu) return false;
        dump_.buffers.emplace_back();
        dump_.buffers.back().at_peak = true;
        in_buffer_ = true;
        if (tpu) dump_.buffers.back().bytes = size_at(words.substr(end + 7)).value_or(0);
        return true;
    }
    void detail(std::string_view words) {
        DumpBuffer& buffer = dump_.buffers.back();
        const auto behind = [&](std::string_view key) {
            return words.starts_with(key) ? trim(words.substr(key.size())) : std::string_view();
        };
        if (const auto size = behind("Size:"); !size.empty()) buffer.bytes = size_at(size).value_or(0);
        if (const auto op = behind("Operator:"); !op.empty()) close_quote(op);
        if (const auto shape = behind("Shape:"); !shape.empty()) buffer.shape = shape;
        if (const auto unpadded = behind("Unpadded size:"); !unpadded.empty()) buffer.unpadded = size_at(unpadded);
        if (const auto kind = behind("Allocation type:"); !kind.empty()) buffer.role = kind;
        if (const auto argument = behind("Entry Parameter Subshape:"); !argument.empty()) {
            buffer.shape = argument;
            buffer.role = "parameter";
        }
        if (const auto label = behind("XLA Label:"); !label.empty()) buffer.opcode = label;
        if (const auto label = behind("XLA label:"); !label.empty()) read_label(buffer, label);
        if (words.starts_with("=====")) in_buffer_ = false;
    }
    /// What an operator is made of, in a log that breaks long lines: up to the line that closes the last string.
    void close_quote(std::string_view words) {
        constexpr std::size_t kLongest = 1 << 20;
        open_quote_ += words;
        if (std::count(open_quote_.begin(), open_quote_.end(), '"') % 2 == 1 && open_quote_.size() < kLongest) return;
        const std::string op = std::exchange(open_quote_, {});
        DumpBuffer& buffer = dump_.buffers.back();
        read_metadata(dump_, op, buffer.op_name, buffer.frame);
        if (buffer.name.empty()) buffer.name = quoted(op, "deduplicated_name=");
    }
    /// "%fusion.11 = f32[29184,2]{1,0} fusion(...)": a name and an opcode, the shape left out in newer versions.
    void read_label(DumpBuffer& buffer, std::string_view label) {
        const std::size_t is = label.find(" = ");
        if (is == std::string_view::npos) return;
        buffer.name = label.substr(label.starts_with('%') ? 1 : 0, is - (label.starts_with('%') ? 1 : 0));
        std::string_view right = label.substr(is + 3);
        if (const std::size_t shape = shape_length(right);
            shape > 0 && right.substr(0, shape).find('(') != 0 && right.find('[') < shape && right.find('[') < right.find('('))
            right = trim(right.substr(shape));
        buffer.opcode = right.substr(0, right.find('('));
        if (buffer.op_name.empty()) read_metadata(dump_, label, buffer.op_name, buffer.frame);
    }
    /// Sums by kind, in the words of GPUs ("parameter allocation:   1.02GiB") and of TPUs ("HLO temp   41.19G (...)").
    void figure(std::string_view words) {
        static constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"parameter allocation:", "arguments"},
                                                                                   {"constant allocation:", "constants"},
                                                                                   {"maybe_live_out allocation:", "outputs"},
                                                                                   {"preallocated temp allocation:", "temporaries"},
                                                                                   {"total allocation:", "total"},
                                                                                   {"arguments ", "arguments"},
                                                                                   {"HLO temp ", "temporaries"},
                                                                                   {"Output size ", "outputs"},
                                                                                   {"Total hbm usage >= ", "total"}};
        for (const auto& [key, name] : kNames) {
            if (!words.starts_with(key)) continue;
            const auto size = size_at(words.substr(key.size()));
            const bool told =
                std::any_of(dump_.figures.begin(), dump_.figures.end(), [called = name](const auto& f) { return f.first == called; });
            if (size && !told) dump_.figures.emplace_back(name, *size);
            if (name == "outputs")
                if (const auto shared = first_size_behind(words, "shares ")) dump_.figures.emplace_back("aliased", *shared);
        }
    }

    Lines lines_;
    CompilerDump dump_;
    std::vector<CompilerDump> earlier_;
    std::string open_quote_;
    std::optional<std::int64_t> needed_;
    bool in_buffer_ = false;
};

}  // namespace

CompilerDump read_out_of_memory(std::string_view text, const std::string& file) {
    const bool one_line = text.find("\\n") != std::string_view::npos &&
                          (text.find("\\tBuffer 1:") != std::string_view::npos || text.find("\\n  1. Size:") != std::string_view::npos ||
                           text.find('\n') == std::string_view::npos);
    if (!one_line) return OutOfMemoryReader(text, file).read();
    const std::string with_lines = unescaped(text);
    return OutOfMemoryReader(with_lines, file).read();
}

}  // namespace jaxscope::dumps
