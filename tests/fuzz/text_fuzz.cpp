// A jaxpr out of any text: a program that checks and prints, or one Error.
#include <string_view>

#include "io/text_parser.h"
#include "ir/printer.h"
#include "ir/registry.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    jaxscope::register_all_primitives();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace jaxscope;
    try {
        const ProgramPtr program = read_jaxpr_text({reinterpret_cast<const char*>(data), size}, "fuzz");
        to_text(*program->jaxpr, {.source = true});
    } catch (const Error& e) {
        JAXSCOPE_ASSERT(full_text(e).size() < 1100);
    }
    return 0;
}
