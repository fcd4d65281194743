// An array of NumPy out of any bytes: `.npy` members are parsed alone, since a zip's checksums stop a fuzzer.
#include <string_view>

#include "base/error.h"
#include "io/arrays/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace jaxscope;
    try {
        const ArrayPtr a = parse_npy({reinterpret_cast<const char*>(data), size}, "fuzz");
        JAXSCOPE_ASSERT(static_cast<std::int64_t>(a->data.size()) == a->aval->bytes());
        const std::string written = npy_bytes(*a);
        JAXSCOPE_ASSERT(parse_npy(written, "written")->data == a->data);
    } catch (const Error&) {
    }
    return 0;
}
