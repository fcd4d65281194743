// A jaxpr out of any text: a program that checks and prints, or one Error.
#include <string_view>

#include "io/text/parser.h"
#include "ir/print/printer.h"
#include "ir/registry.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    jaxscope::register_all_primitives();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace jaxscope;
    try {
        const ProgramPtr program = read_jaxpr_text({reinterpret_cast<const char*>(data), size}, "fuzz");
        // What was printed reads back as the same text.
        const std::string text = to_text(*program->jaxpr);
        if (text.find("\\x") == std::string::npos) JAXSCOPE_ASSERT(to_text(*read_jaxpr_text(text, "printed")->jaxpr) == text);
        to_text(*program->jaxpr, {.source = true});
    } catch (const Error& e) {
        JAXSCOPE_ASSERT(full_text(e).size() < 1100);
    }
    return 0;
}
