// SPDX-License-Identifier: Apache-2.0
// What XLA made of a program over several devices, beside what jaxscope makes of it.
#include <algorithm>
#include <map>
#include <tuple>

#include "report/sharding/sharding_report.h"

namespace jaxscope {

namespace {

/// Bytes that one device sends, at least, by the size of the result: as collective_bytes has it.
std::int64_t sent(const CompiledCollective& c) {
    const std::int64_t n = std::max<std::int64_t>(c.members, 1);
    if (c.kind == "all-reduce") return 2 * c.bytes * (n - 1) / n;
    if (c.kind == "reduce-scatter") return c.bytes * (n - 1);
    if (c.kind == "collective-permute" || c.kind == "collective-broadcast") return c.bytes;
    return c.bytes * (n - 1) / n;
}

}  // namespace

std::optional<XlaChoice> xla_choice(const XlaFacts& facts) {
    if (!facts.known || facts.out_of_memory || (facts.collectives.empty() && facts.in_specs.empty() && facts.out_specs.empty())) return {};
    XlaChoice out;
    std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::string, std::string, int>, std::size_t> known;
    for (const CompiledCollective& c : facts.collectives) {
        XlaCollectiveRow row{c.kind, c.members, 1, sent(c), c.times, 0, c.op_name, c.file, c.line};
        const auto [at, fresh] = known.emplace(std::tuple(c.kind, c.members, row.bytes, c.times.value_or(-1), c.op_name, c.file, c.line),
                                               out.collectives.size());
        if (fresh)
            out.collectives.push_back(std::move(row));
        else
            ++out.collectives[at->second].count;
    }
    for (XlaCollectiveRow& r : out.collectives) {
        r.total_bytes = r.bytes * r.count * r.times.value_or(1);
        out.sent_bytes += r.total_bytes;
    }
    std::stable_sort(out.collectives.begin(), out.collectives.end(),
                     [](const auto& a, const auto& b) { return a.total_bytes > b.total_bytes; });
    return out;
}

}  // namespace jaxscope
