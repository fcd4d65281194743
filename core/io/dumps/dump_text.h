// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the readers of XLA's texts share: lines with their numbers, sizes, shapes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ir/compiler_dump.h"

namespace jaxscope::dumps {

/// The lines of a text, without what a log puts in front of each (time, level, file:line]).
class Lines {
public:
    Lines(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}
    /// The next line, false at the end. The view stays as long as the text.
    bool next(std::string_view& line);
    int number() const { return number_; }
    [[noreturn]] void refuse(const std::string& expected, std::string_view found) const;

private:
    std::string_view rest_;
    std::string file_;
    int number_ = 0;
};

/// What stands in `text` between `begin` and `end`; nothing where one of them isn't there.
std::optional<std::string_view> between(std::string_view text, std::string_view begin, std::string_view end);
/// The string in quotation marks behind `key=`, its escapes undone; empty where there is none.
std::string quoted(std::string_view text, std::string_view key);
/// The whole number behind `key`; nothing where there is none.
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view key);
/// "1.50GiB", "570.00M", "4194304 bytes", "0B": a size as XLA prints them; nothing where none stands at the beginning.
std::optional<std::int64_t> size_at(std::string_view text);
/// Bytes of "f32[4,256]{1,0:T(8,128)}", or of a tuple of such, without padding. Throws Error{BadInput} where it is no shape.
std::int64_t shape_bytes(std::string_view shape);
/// How long the shape at the beginning of `text` is: parentheses, brackets and braces are closed. 0 where none stands there.
std::size_t shape_length(std::string_view text);
/// The index of the frame, which is added where it isn't there.
int frame_of(CompilerDump& dump, const std::string& file, int line);
/// `op_name`, `source_file` and `source_line` out of `metadata={...}` or a text like it.
void read_metadata(CompilerDump& dump, std::string_view text, std::string& op_name, int& frame);

/// The buffer that an operation's result has.
DumpBuffer result_of(const DumpOperation& op);

// Readers, one for each text.
CompilerDump read_hlo(std::string_view text, const std::string& file);
CompilerDump read_stablehlo(std::string_view text, const std::string& file);
CompilerDump read_buffer_assignment(std::string_view text, const std::string& file);
CompilerDump read_memory_usage(std::string_view text, const std::string& file);
CompilerDump read_live_range(std::string_view text, const std::string& file);
CompilerDump read_out_of_memory(std::string_view text, const std::string& file);

}  // namespace jaxscope::dumps
