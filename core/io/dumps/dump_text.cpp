// SPDX-License-Identifier: Apache-2.0
#include "io/dumps/dump_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/checked.h"
#include "base/text.h"
#include "io/text/surroundings.h"

namespace jaxscope::dumps {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Where a logger's prefix ends: "2020-05-04 09:05:40.7: E 1578 xla_util.cc:76] ", "E0528 07:02:44.35 27487 client.cc:2826] ".
std::size_t log_prefix(std::string_view line) {
    const bool dated = line.size() > 10 && is_digit(line[0]) && is_digit(line[3]) && line[4] == '-' && is_digit(line[5]) && line[7] == '-';
    const bool glog = line.size() > 6 && std::string_view("IWEF").find(line[0]) != std::string_view::npos &&
                      std::all_of(line.begin() + 1, line.begin() + 5, is_digit) && line[5] == ' ';
    if (!dated && !glog) return 0;
    const std::size_t end = line.substr(0, 300).find("] ");
    return end != std::string_view::npos && end > 0 && is_digit(line[end - 1]) ? end + 2 : 0;
}

/// Bits of one element, by XLA's name of its type; -1 for a name that is none.
int element_bits(std::string_view type) {
    if (type == "pred") return 8;
    if (type == "token" || type == "opaque" || type == "tuple") return 0;
    if (type == "bf16") return 16;
    if (type.empty() || std::string_view("sufc").find(type[0]) == std::string_view::npos) return -1;
    int bits = 0;
    const auto [end, error] = std::from_chars(type.data() + 1, type.data() + type.size(), bits);
    const bool only_number = end == type.data() + type.size();
    if (error != std::errc() || bits < 1 || bits > 128) return -1;
    return only_number || type.starts_with("f8") || type.starts_with("f4") || type.starts_with("f6") ? bits : -1;  // f8e4m3fn
}

[[noreturn]] void no_shape(std::string_view shape) {
    throw Error(ErrorCode::BadInput, "expected the shape of an array, as f32[4,256], found '" + printable(shape, 60) + "'");
}

std::int64_t array_bytes(std::string_view shape) {
    const std::size_t open = shape.find('['), close = shape.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) no_shape(shape);
    const int bits = element_bits(shape.substr(0, open));
    if (bits < 0) no_shape(shape);
    std::int64_t elements = 1;
    std::string_view dims = shape.substr(open + 1, close - open - 1);
    while (!dims.empty()) {
        if (dims.starts_with("<=")) dims.remove_prefix(2);  // a bound of a size that isn't known
        std::int64_t n = 0;
        const auto [end, error] = std::from_chars(dims.data(), dims.data() + dims.size(), n);
        if (error != std::errc() || n < 0) no_shape(shape);
        elements = checked_mul(elements, n);
        dims.remove_prefix(static_cast<std::size_t>(end - dims.data()));
        if (!dims.empty() && dims[0] != ',') no_shape(shape);
        if (!dims.empty()) dims.remove_prefix(1);
    }
    const std::int64_t all = checked_mul(elements, bits);
    return all / 8 + (all % 8 != 0);
}

}  // namespace

bool Lines::next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(log_prefix(line));
    return true;
}
void Lines::refuse(const std::string& expected, std::string_view found) const {
    throw Error(ErrorCode::BadInput,
                "expected " + expected + ", found " + (found.empty() ? "the end" : "'" + printable(trim(found), 60) + "'"))
        .at({file_, number_, 1});
}

std::optional<std::string_view> between(std::string_view text, std::string_view begin, std::string_view end) {
    const std::size_t at = text.find(begin);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + begin.size());
    const std::size_t stop = text.find(end);
    if (stop == std::string_view::npos) return {};
    return text.substr(0, stop);
}

std::string quoted(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + key.size());
    if (!text.starts_with('"')) return {};
    std::string out;
    for (std::size_t i = 1; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        out += text[i];
    }
    return out;
}

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + key.size());
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc()) return {};
    return n;
}

std::optional<std::int64_t> size_at(std::string_view text) {
    text = trim(text);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number >= 0) || number > 1e18) return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    text = text.substr(text.starts_with(' ') ? 1 : 0);
    static constexpr std::string_view kUnits = "KMGTP";
    double factor = 1;
    if (const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text[0]); unit != std::string_view::npos)
        factor = std::ldexp(1.0, 10 * (static_cast<int>(unit) + 1));
    if (number * factor > 9e18) return {};
    return std::llround(number * factor);
}

std::size_t shape_length(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
        if (depth < 0 || (depth == 0 && is_space(c))) return i;
    }
    return depth == 0 ? text.size() : 0;
}

namespace {

/// Tuples hold tuples; nobody's are deeper than `kDeepest`.
std::int64_t bytes_at_level(std::string_view shape, int level) {
    constexpr int kDeepest = 64;
    shape = trim(shape);
    if (!shape.starts_with('(')) return array_bytes(shape);
    if (level > kDeepest) no_shape(shape);
    std::int64_t sum = 0;
    int depth = 0;
    std::size_t begin = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) {
        const char c = shape[i];
        const bool last = depth == 0 && c == ')';
        if (last || (depth == 0 && c == ',')) {
            std::string_view part = trim(shape.substr(begin, i - begin));
            if (part.starts_with("/*")) part = trim(part.substr(std::min(part.find("*/"), part.size() - 2) + 2));
            if (!part.empty()) sum = checked_add(sum, bytes_at_level(part, level + 1));
            begin = i + 1;
        }
        if (last) return sum;
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
    }
    no_shape(shape);
}

}  // namespace

std::int64_t shape_bytes(std::string_view shape) { return bytes_at_level(shape, 0); }

int frame_of(CompilerDump& dump, const std::string& file, int line) {
    constexpr std::size_t kLookedThrough = 1000;  // operations of one line stand together
    const std::size_t first = dump.frames.size() - std::min(dump.frames.size(), kLookedThrough);
    for (std::size_t i = dump.frames.size(); i-- > first;)
        if (dump.frames[i].line == line && dump.frames[i].file == file && dump.frames[i].caller < 0) return static_cast<int>(i);
    dump.frames.push_back({file, {}, line, -1});
    return static_cast<int>(dump.frames.size()) - 1;
}

DumpBuffer result_of(const DumpOperation& op) {
    DumpBuffer out;
    out.bytes = op.bytes;
    out.name = op.name;
    out.shape = op.shape;
    out.opcode = op.opcode;
    out.op_name = op.op_name;
    out.role = op.opcode == "parameter" ? "parameter" : op.opcode == "constant" ? "constant" : "result";
    out.frame = op.frame;
    return out;
}

void read_metadata(CompilerDump& dump, std::string_view text, std::string& op_name, int& frame) {
    op_name = quoted(text, "op_name=");
    const std::string file = quoted(text, "source_file=");
    const std::optional<std::int64_t> line = number_behind(text, "source_line=");
    if (!file.empty() && line && *line > 0 && *line < INT32_MAX) frame = frame_of(dump, file, static_cast<int>(*line));
}

}  // namespace jaxscope::dumps
