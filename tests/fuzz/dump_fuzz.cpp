// XLA's texts, taken apart: what they say, or one Error; sizes never wrap, no frame leads in a circle.
#include <string_view>

#include "base/error.h"
#include "io/dumps/dump.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace jaxscope;
    try {
        const CompilerDump dump = read_dump({reinterpret_cast<const char*>(data), size}, "fuzz");
        const auto frames = static_cast<int>(dump.frames.size());
        for (const DumpBuffer& b : dump.buffers) JAXSCOPE_ASSERT(b.bytes >= 0 && b.frame < frames);
        for (const DumpOperation& op : dump.operations) {
            JAXSCOPE_ASSERT(op.bytes >= 0 && op.frame < frames);
            int steps = 0;
            for (int f = op.frame; f >= 0; f = dump.frames[static_cast<std::size_t>(f)].caller) JAXSCOPE_ASSERT(++steps <= frames);
        }
    } catch (const Error& e) {
        JAXSCOPE_ASSERT(full_text(e).size() < 1100);
    }
    return 0;
}
