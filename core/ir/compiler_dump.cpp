// SPDX-License-Identifier: Apache-2.0
#include "ir/compiler_dump.h"

namespace jaxscope {

const char* dump_kind_text(DumpKind kind) {
    switch (kind) {
        case DumpKind::StableHlo:
            return "StableHLO text";
        case DumpKind::Hlo:
            return "HLO text";
        case DumpKind::BufferAssignment:
            return "buffer assignment";
        case DumpKind::MemoryUsage:
            return "memory-usage report";
        case DumpKind::LiveRange:
            return "live ranges";
        case DumpKind::OutOfMemory:
            return "out-of-memory message";
    }
    return "";
}

}  // namespace jaxscope
