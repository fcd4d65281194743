// Whatever a program that reads and type-checks holds: each transformation makes another program that type-checks and prints, or says in
// one Error why it can't. A broken invariant of jaxscope's own is neither.
#include <cstring>
#include <string_view>

#include "io/capture/byte_source.h"
#include "io/capture/reader.h"
#include "io/capture/writer.h"
#include "io/text/parser.h"
#include "ir/print/printer.h"
#include "ir/registry.h"
#include "ir/transform_cache.h"
#include "ir/type_check.h"
#include "mutate_json.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/residuals.h"
#include "transforms/vjp.h"

namespace {

using namespace jaxscope;

/// Calls `make`, whose result must hold what every jaxpr holds.
template <class Make>
void attempt(Make make) {
    try {
        const JaxprPtr j = make();
        check_jaxpr(*j);
        JAXSCOPE_ASSERT(!to_text(*j, {}).empty());
    } catch (const Error& e) {
        JAXSCOPE_ASSERT(full_text(e).size() < 1100);
    }
}

void transform(const JaxprPtr& j) {
    const std::vector<bool> all(j->num_invars, true);
    const std::size_t outputs = j->outvars.size();
    attempt([&] { return linearize(j, all, outputs).forward; });
    attempt([&] { return linearize(j, all, outputs).linear; });
    attempt([&] { return vjp(j, all, outputs).backward; });
    attempt([&] { return vmap(j, 3, std::vector<int>(j->num_invars, 0), std::vector<int>(outputs, 0)); });
    std::vector<bool> first(outputs, false);
    if (outputs > 0) first[0] = true;
    attempt([&] { return dce_jaxpr(j, first).jaxpr; });
}

/// A capture as JSON: of a capture, compressed or not, or of the program at the head of a golden file. Throws Error for other bytes.
std::string capture_of(std::string_view bytes) {
    if (bytes.substr(0, 1) == "#" || bytes.substr(0, 1) == "{") {
        const std::size_t begin = bytes.find("{ lambda");
        if (begin != std::string_view::npos)
            return capture_text(*read_jaxpr_text(bytes.substr(begin, bytes.find("\n# RUN") - begin), "fuzz"));
    }
    std::string text;
    const auto source = ByteSource::text(bytes, "fuzz");
    for (std::string_view chunk = source->next(); !chunk.empty(); chunk = source->next()) text += chunk;
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    register_all_primitives();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    constexpr std::size_t kMostEquations = 400;  // many small programs find more than few large ones
    ProgramPtr program;
    try {
        program = read_capture_text(capture_of({reinterpret_cast<const char*>(data), size}), "fuzz");
    } catch (const Error&) {
        return 0;
    }
    if (program->jaxpr->eqns.size() > kMostEquations) return 0;
    TransformCache of_this_program;
    const TransformScope scope(of_this_program);
    transform(program->jaxpr);
    for (const Region& region : program->regions)
        if (region.jaxpr && region.jaxpr->eqns.size() <= kMostEquations) transform(region.jaxpr);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size, std::size_t most, unsigned seed) {
    std::string out;
    try {
        out = fuzz::mutated_json(capture_of({reinterpret_cast<const char*>(data), size}), seed);
    } catch (const Error&) {
        return size;
    }
    if (out.size() > most) return size;
    std::memcpy(data, out.data(), out.size());
    return out.size();
}
