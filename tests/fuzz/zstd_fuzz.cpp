// A compressed capture out of any bytes behind zstd's magic ones: a program, or one Error; never more memory than the limits allow.
#include <string>

#include "base/error.h"
#include "io/capture/reader.h"
#include "ir/print/printer.h"
#include "ir/registry.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
#ifdef JAXSCOPE_TEST_PRIMITIVES
    jaxscope::register_all_primitives();
#endif
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace jaxscope;
    const std::string bytes = "\x28\xb5\x2f\xfd" + std::string(reinterpret_cast<const char*>(data), size);
    try {
        const ProgramPtr program = read_capture_text(bytes, "fuzz");
        JAXSCOPE_ASSERT(!to_text(*program->jaxpr).empty());
    } catch (const Error& e) {
        JAXSCOPE_ASSERT(full_text(e).size() < 1100);
    }
    return 0;
}
