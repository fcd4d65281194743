// SPDX-License-Identifier: Apache-2.0
#include "io/dumps/dump.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "io/dumps/dump_text.h"
#include "io/text/surroundings.h"

namespace jaxscope {

namespace {

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool out_of_memory(std::string_view text) {
    for (const std::string_view sign : {"RESOURCE_EXHAUSTED", "Ran out of memory in memory space", "BufferAssignment OOM Debugging",
                                        "Out of memory while trying to allocate", "Out of memory allocating"})
        if (contains(text, sign)) return true;
    return false;
}

}  // namespace

std::optional<DumpKind> dump_kind(std::string_view text) {
    std::string_view first = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    while (first.starts_with("//")) {
        first.remove_prefix(std::min(first.find('\n'), first.size()));
        first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
    }
    const std::string_view head = first.substr(0, 1 << 16);
    if (first.starts_with("HloModule ")) return DumpKind::Hlo;
    if (first.starts_with("HloLiveRange")) return DumpKind::LiveRange;
    if (first.starts_with("BufferAssignment:")) return DumpKind::BufferAssignment;
    if ((first.starts_with("Memory Space:") || first.starts_with("Total bytes")) && contains(head, "cumulative_size"))
        return DumpKind::MemoryUsage;
    const bool mlir = first.starts_with("module") || first.starts_with("#loc") || first.starts_with("func.func") ||
                      first.starts_with("\"builtin.module\"");
    if (mlir && (contains(text, "stablehlo.") || contains(text, "mhlo.") || contains(head, "func.func"))) return DumpKind::StableHlo;
    if (out_of_memory(text)) return DumpKind::OutOfMemory;
    return {};
}

CompilerDump read_dump(std::string_view text, const std::string& file) {
    const std::optional<DumpKind> kind = dump_kind(text);
    if (!kind)
        throw Error(ErrorCode::BadInput,
                    "expected a text that XLA wrote (StableHLO, HLO, a buffer assignment, live ranges, memory usage or an out-of-memory "
                    "message), found " +
                        other_content(text.substr(0, 4096)).found)
            .at({file, 1, 1})
            .advise("XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text\" makes it write them");
    CompilerDump dump;
    switch (*kind) {
        case DumpKind::StableHlo:
            dump = dumps::read_stablehlo(text, file);
            break;
        case DumpKind::Hlo:
            dump = dumps::read_hlo(text, file);
            break;
        case DumpKind::BufferAssignment:
            dump = dumps::read_buffer_assignment(text, file);
            break;
        case DumpKind::MemoryUsage:
            dump = dumps::read_memory_usage(text, file);
            break;
        case DumpKind::LiveRange:
            dump = dumps::read_live_range(text, file);
            break;
        case DumpKind::OutOfMemory:
            dump = dumps::read_out_of_memory(text, file);
            break;
    }
    dump.kind = *kind;
    dump.file = file;
    return dump;
}

}  // namespace jaxscope
