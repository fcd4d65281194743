// Whatever the bytes are: a program that checks, prints and can be written and read again, or one Error.
#include <string_view>

#include "io/capture/reader.h"
#include "io/capture/writer.h"
#include "ir/print/printer.h"
#include "ir/registry.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    jaxscope::register_all_primitives();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace jaxscope;
    try {
        const ProgramPtr program = read_capture_text({reinterpret_cast<const char*>(data), size}, "fuzz");
        const std::string text = to_text(*program->jaxpr, {.source = true});
        const ProgramPtr again = read_capture_text(capture_text(*program), "written");
        JAXSCOPE_ASSERT(to_text(*again->jaxpr, {.source = true}) == text);
    } catch (const Error& e) {
        JAXSCOPE_ASSERT(full_text(e).size() < 1100);
    }
    return 0;
}
