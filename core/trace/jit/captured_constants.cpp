// SPDX-License-Identifier: Apache-2.0
// JAX's warning of large arrays that a jitted function closes over: they become part of the program.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/source.h"
#include "trace/functions.h"
#include "trace/jit/jit_checks.h"

namespace jaxscope::jax::detail {

namespace {

std::int64_t number_of_environment(const char* name, std::int64_t otherwise) {
    const char* text = std::getenv(name);
    if (!text || !*text) return otherwise;
    char* end = nullptr;
    const long long n = std::strtoll(text, &end, 10);
    if (*end) throw Error(ErrorCode::BadUsage, fmt::format("expected a whole number in the variable {}, found '{}'", name, text));
    return n;
}
/// As JAX writes them: 12.00MB.
std::string bytes_text(std::int64_t n) {
    double v = static_cast<double>(n);
    const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (v >= 1000 && unit + 1 < std::size(units)) v /= 1000, ++unit;
    return fmt::format("{:.2f}{}", v, units[unit]);
}
/// The lines of the equations that read a constant.
std::string lines_that_read(const ::jaxscope::Jaxpr& j, Var constant) {
    std::string out;
    for (const Eqn& e : j.eqns)
        for (const Atom a : j.inputs(e))
            if (a.is_var() && a.var() == constant) {
                out += "    " + std::string(e.source->summary().str()) + "\n\n";
                break;
            }
    return out;
}
std::string report(const Traced& t) {
    std::vector<std::uint32_t> order(t.consts.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return t.consts[a].nbytes() > t.consts[b].nbytes(); });
    if (order.size() > 5) order.resize(5);
    std::string out;
    for (const std::uint32_t i : order)
        out += fmt::format("  Constant {}, {} captured at:\n{}", long_aval(t.consts[i].node()->aval), bytes_text(t.consts[i].nbytes()),
                           lines_that_read(*t.jaxpr, Var{i}));
    return out;
}

}  // namespace

std::optional<std::string> captured_constants_warning(const Traced& t) {
    if (t.consts.empty() || t.captures_tracers()) return std::nullopt;
    std::int64_t bytes = 0;
    for (const Array& c : t.consts) bytes += c.nbytes();
    const std::int64_t least = number_of_environment("JAX_CAPTURED_CONSTANTS_WARN_BYTES", 2'000'000'000);
    if (least == -1 || bytes < least) return std::nullopt;
    const std::string text = fmt::format(
        "A large amount of constants were captured during lowering ({} total). If this is intentional, disable this warning by "
        "setting JAX_CAPTURED_CONSTANTS_WARN_BYTES=-1. ",
        bytes_text(bytes));
    const std::int64_t frames = number_of_environment("JAX_CAPTURED_CONSTANTS_REPORT_FRAMES", 0);
    if (frames == 0)
        return text + "To obtain a report of where these constants were encountered, set JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=-1.";
    return text +
           fmt::format(
               "The subsequent report may be disabled by setting JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=0.\n\nLargest {} "
               "allocation(s):\n",
               std::min<std::size_t>(t.consts.size(), 5)) +
           report(t);
}

}  // namespace jaxscope::jax::detail
