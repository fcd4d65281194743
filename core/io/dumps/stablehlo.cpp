// SPDX-License-Identifier: Apache-2.0
// StableHLO text, as `lowered.as_text()` and `exported.mlir_module()` give it; `debug_info=True` brings names and lines along.
#include <algorithm>
#include <charconv>
#include <map>

#include "base/checked.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/dumps/dump_text.h"
#include "io/text/surroundings.h"

namespace jaxscope::dumps {

namespace {

/// A location of MLIR: the name that JAX gave the operation, and the innermost of its frames.
struct Location {
    std::string op_name;
    int frame = -1;
};

/// The aliases at the end of the text, "#loc12 = loc("mul"(#loc5))", and what they mean.
class Locations {
public:
    explicit Locations(CompilerDump& dump) : dump_(dump) {}
    void define(std::string_view line) {
        const std::size_t is = line.find(" = loc(");
        if (is != std::string_view::npos)
            aliases_[std::string(line.substr(0, is))] = std::string(line.substr(is + 7, line.rfind(')') - is - 7));
    }
    /// Of what stands inside of "loc(...)".
    Location of(std::string_view text) { return resolve(trim(text), 0); }

private:
    static constexpr int kDeepest = 200;
    Location resolve(std::string_view text, int depth) {
        if (depth > kDeepest || text.empty() || text == "unknown") return {};
        if (text.starts_with('#')) return alias(std::string(text), depth);
        if (text.starts_with("callsite(")) return called(inside(text, 8), depth);
        if (text.starts_with("fused")) {  // of several operations, the first one's
            const std::size_t list = text.find('[');
            const std::string_view first = list == std::string_view::npos ? std::string_view() : text.substr(list + 1);
            return resolve(trim(first.substr(0, first.find_first_of(",]"))), depth + 1);
        }
        if (!text.starts_with('"')) return {};
        const std::string name = quoted(text, "");
        const std::size_t end = closing_quote(text);
        const std::string_view rest = text.substr(std::min(end + 1, text.size()));
        if (rest.starts_with(':')) return {"", add_frame(name, rest)};
        Location out = rest.starts_with('(') ? resolve(trim(inside(rest, 0)), depth + 1) : Location{};
        out.op_name = name;
        return out;
    }
    Location alias(const std::string& name, int depth) {
        if (const auto known = resolved_.find(name); known != resolved_.end()) return known->second;
        resolved_[name] = {};  // whoever leads back to itself is nowhere
        const auto text = aliases_.find(name);
        return resolved_[name] = text == aliases_.end() ? Location{} : resolve(trim(text->second), depth + 1);
    }
    /// "CALLEE at CALLER": the callee's frame, called from the caller's.
    Location called(std::string_view text, int depth) {
        const std::size_t at = outer_at(text);
        if (at == std::string_view::npos) return resolve(text, depth + 1);
        const Location callee = resolve(trim(text.substr(0, at)), depth + 1), caller = resolve(trim(text.substr(at + 4)), depth + 1);
        if (callee.frame < 0) return {"", caller.frame};
        DumpFrame frame = dump_.frames[static_cast<std::size_t>(callee.frame)];
        if (frame.caller < 0 && caller.frame >= 0 && dump_.frames.size() < kMostFrames) {
            frame.caller = caller.frame;
            if (frame.function.empty()) frame.function = callee.op_name;
            dump_.frames.push_back(std::move(frame));
            return {"", static_cast<int>(dump_.frames.size()) - 1};
        }
        return {"", callee.frame};
    }
    /// The " at " that stands in no parentheses and no string.
    static std::size_t outer_at(std::string_view text) {
        int level = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '"')
                i += closing_quote(text.substr(i));
            else if (text[i] == '(' || text[i] == '[')
                ++level;
            else if (text[i] == ')' || text[i] == ']')
                --level;
            else if (level == 0 && text.substr(i).starts_with(" at "))
                return i;
        }
        return std::string_view::npos;
    }
    int add_frame(const std::string& file, std::string_view behind) {
        const auto line = number_behind(behind, ":");
        return line && *line > 0 && *line < INT32_MAX ? frame_of(dump_, file, static_cast<int>(*line)) : -1;
    }
    static std::size_t closing_quote(std::string_view text) {
        std::size_t i = 1;
        while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
        return i;
    }
    /// What the parentheses that open at `at` hold.
    static std::string_view inside(std::string_view text, std::size_t at) {
        const std::size_t end = text.rfind(')');
        return end == std::string_view::npos || end <= at ? std::string_view() : text.substr(at + 1, end - at - 1);
    }

    static constexpr std::size_t kMostFrames = 1'000'000;
    CompilerDump& dump_;
    std::map<std::string, std::string> aliases_;
    std::map<std::string, Location> resolved_;
};

/// "tensor<4x256x256xf32>" as XLA's other texts write it, "f32[4,256,256]"; empty for types that are no arrays.
std::string shape_of(std::string_view tensor) {
    const auto held = between(tensor, "tensor<", ">");
    if (!held) return {};
    std::string_view rest = held->substr(0, held->find(','));  // an encoding stands behind a comma
    std::string dims;
    while (!rest.empty() && (std::isdigit(static_cast<unsigned char>(rest[0])) || rest[0] == '?')) {
        const std::size_t x = rest.find('x');
        if (x == std::string_view::npos) return {};
        dims += (dims.empty() ? "" : ",") + std::string(rest.substr(0, x) == "?" ? "0" : rest.substr(0, x));
        rest.remove_prefix(x + 1);
    }
    std::string type(rest);
    if (type == "i1")
        type = "pred";
    else if (type.starts_with("ui"))
        type = "u" + type.substr(2);
    else if (type.starts_with('i'))
        type = "s" + type.substr(1);
    else if (type == "complex<f32")
        type = "c64";
    else if (type == "complex<f64")
        type = "c128";
    else if (type.starts_with("f8"))
        std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
    return type + "[" + dims + "]";
}

/// The array types of "tensor<4xf32>, tensor<f32>", as shapes.
std::vector<std::string> shapes_of(std::string_view types) {
    std::vector<std::string> out;
    for (std::size_t at; (at = types.find("tensor<")) != std::string_view::npos; types.remove_prefix(at + 7))
        if (std::string shape = shape_of(types.substr(at)); !shape.empty()) out.push_back(std::move(shape));
    return out;
}

/// Braces that a line opens and closes, those in strings left out.
int balance(std::string_view line) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && in_string)
            ++i;
        else if (line[i] == '"')
            in_string = !in_string;
        else if (!in_string && line[i] == '{')
            ++depth;
        else if (!in_string && line[i] == '}')
            --depth;
    }
    return depth;
}

/// Results that are those of the operations inside, or the operands.
bool is_view(std::string_view opcode) {
    for (const std::string_view view : {"while", "if", "case", "func.call", "call", "optimization_barrier", "tuple", "get_tuple_element"})
        if (opcode == view) return true;
    return false;
}

class StableHloReader {
public:
    StableHloReader(std::string_view text, const std::string& file) : text_(text), file_(file), lines_(text, file), locations_(dump_) {}
    CompilerDump read() {
        Lines ahead(text_, file_);
        for (std::string_view line; ahead.next(line);)
            if (line.starts_with("#loc")) locations_.define(line);
        for (std::string_view line; lines_.next(line);) one(trim(line));
        if (!open_.empty() || depth_ > 0) lines_.refuse("'}' at the end of the module", "");
        if (dump_.operations.empty()) lines_.refuse("operations of a function", "");
        for (const DumpOperation& op : dump_.operations)
            if (op.in_memory && op.opcode != "constant" && op.bytes > 0) dump_.buffers.push_back(result_of(op));
        return std::move(dump_);
    }

private:
    struct Open {
        std::size_t operation;  ///< in dump_.operations; of a function npos
        int depth;              ///< of braces outside of it
    };
    void one(std::string_view line) {
        if (line.empty() || line.starts_with("#") || line.starts_with("//")) return;
        const int outside = depth_;
        if (line.starts_with("module")) {
            if (const std::size_t at = line.find('@'); at != std::string_view::npos)
                dump_.module = line.substr(at + 1, line.find_first_of(" {", at) - at - 1);
        } else if (line.find("func.func") < 10) {
            function(line);
        } else if (line.starts_with('%') || (line.find("stablehlo.") < 3 && line.find("return") == std::string_view::npos)) {
            operation(line);
        }
        depth_ += balance(line);
        if (depth_ > outside && !dump_.operations.empty() && line.starts_with('%')) open_.push_back({dump_.operations.size() - 1, outside});
        // The line that closes an operation's regions has its types and its place.
        if (!open_.empty() && depth_ <= open_.back().depth && line.starts_with('}')) {
            complete(dump_.operations[open_.back().operation], line);
            open_.pop_back();
        }
    }
    void function(std::string_view line) {
        const std::size_t at = line.find('@'), paren = line.find('(', at);
        if (at == std::string_view::npos || paren == std::string_view::npos) lines_.refuse("'func.func @NAME(...)'", line);
        function_ = line.substr(at + 1, paren - at - 1);
        if (function_ != "main") return;
        std::string_view rest = line.substr(paren);
        for (int number = 0;; ++number) {
            const std::size_t begin = rest.find("%arg" + std::to_string(number) + ": ");
            if (begin == std::string_view::npos) break;
            rest.remove_prefix(begin);
            std::size_t end = rest.find("%arg" + std::to_string(number + 1) + ": ");
            if (end == std::string_view::npos) end = rest.find(") -> ");
            const std::string_view argument = rest.substr(0, end);
            main_argument(argument, number);
            rest.remove_prefix(4);
        }
    }
    void main_argument(std::string_view text, int number) {
        if (const auto output = number_behind(text, "tf.aliasing_output = "))
            dump_.aliases.push_back({static_cast<int>(*output), number, true});
        DumpBuffer buffer;
        buffer.shape = shape_of(text.substr(0, text.find('>', text.find("tensor<")) + 1));
        buffer.role = "parameter";
        buffer.name = "%arg" + std::to_string(number);
        buffer.parameter = number;
        buffer.op_name = quoted(text, "loc(");
        buffer.bytes = buffer.shape.empty() ? 0 : bytes_of({buffer.shape}, text);
        dump_.buffers.push_back(std::move(buffer));
    }
    void operation(std::string_view line) {
        DumpOperation op;
        const std::size_t is = line.starts_with('%') ? line.find(" = ") : std::string_view::npos;
        if (line.starts_with('%') && is == std::string_view::npos) lines_.refuse("an operation, '%NAME = stablehlo.OP ...'", line);
        op.name = is == std::string_view::npos ? std::string_view() : line.substr(0, line.find_first_of(": "));
        std::string_view right = is == std::string_view::npos ? line : line.substr(is + 3);
        if (right.starts_with('"')) right.remove_prefix(1);
        op.opcode = right.substr(0, right.find_first_of("\"( "));
        if (op.opcode.starts_with("stablehlo.")) op.opcode.erase(0, 10);
        op.computation = function_;
        op.in_memory = !is_view(op.opcode);
        dump_.operations.push_back(std::move(op));
        complete(dump_.operations.back(), right);
    }
    /// Types and place, where this line has them.
    void complete(DumpOperation& op, std::string_view line) {
        if (const std::size_t loc = line.rfind(" loc("); loc != std::string_view::npos) {
            const Location place = locations_.of(line.substr(loc + 5, line.rfind(')') - loc - 5));
            op.op_name = place.op_name;
            op.frame = place.frame;
            line = line.substr(0, loc);
        }
        const std::size_t types = line.rfind(" : ");
        if (types == std::string_view::npos || !op.shape.empty()) return;
        const std::string_view signature = line.substr(types + 3);
        const std::size_t arrow = signature.rfind("-> ");
        const std::vector<std::string> shapes = shapes_of(arrow == std::string_view::npos ? signature : signature.substr(arrow + 3));
        op.bytes = bytes_of(shapes, line);
        for (const std::string& shape : shapes) op.shape += (op.shape.empty() ? "" : ", ") + shape;
        if (shapes.size() > 1) op.shape = "(" + op.shape + ")";
    }
    std::int64_t bytes_of(const std::vector<std::string>& shapes, std::string_view line) {
        std::int64_t sum = 0;
        try {
            for (const std::string& shape : shapes) sum = checked_add(sum, shape_bytes(shape));
        } catch (const Error&) {
            return lines_.refuse("the types of an operation", line), 0;
        }
        return sum;
    }

    std::string_view text_;
    std::string file_;
    Lines lines_;
    CompilerDump dump_;
    Locations locations_;
    std::string function_;
    int depth_ = 0;
    std::vector<Open> open_;
};

}  // namespace

CompilerDump read_stablehlo(std::string_view text, const std::string& file) { return StableHloReader(text, file).read(); }

}  // namespace jaxscope::dumps
