// SPDX-License-Identifier: Apache-2.0
// What a jitted function tells of its donations: of all its traces, or of a call before it runs.
#include <fmt/core.h>

#include <algorithm>

#include "trace/device_calls.h"
#include "trace/jit/jit_state.h"

namespace jaxscope::jax::detail {

namespace {

/// One array alone has no path.
std::string result_at(const std::string& path) { return path.empty() ? "the result" : "output " + path; }

std::string report_of(const JitEntry& e) {
    std::string out;
    for (const DonatedLeaf& d : e.donation.donated)
        out += fmt::format("{} {}: {}\n", d.path, d.aval,
                           !d.used    ? "not used: " + d.reason
                           : d.output ? "memory taken by " + result_at(d.output_path) + ", " + d.reason
                                      : "memory " + d.reason);
    for (const std::string& f : e.donation.findings) out += f + "\n";
    if (e.consumed.empty()) return out;
    const MemoryPlan plan = plan_here(e.traced().jaxpr, e.donation.alias_of_output, e.program->kept);
    for (const CopiedPair& c : plan.copied)
        out += fmt::format("{} is still read when {} is made, which goes into its memory: {} bytes are copied in the end\n",
                           e.program->in_paths[static_cast<std::size_t>(c.input)].str(),
                           result_at(e.program->out_paths[static_cast<std::size_t>(c.output)].str()), c.bytes);
    return out;
}

/// What can be told of the options alone.
std::string report_of(const JitOptions& o) {
    std::string out;
    for (const int n : o.donate_argnums)
        if (n < 0) out += fmt::format("donate_argnums={} donates nothing: JAX counts donated arguments from the front alone\n", n);
    return out;
}

/// What can be told of a call before it runs: arrays that are gone, that stand in two places, that the function closes over, too.
std::string report_of(const JitEntry& e, const Call& call) {
    std::string out;
    const auto path = [&](std::size_t i) { return e.program->in_paths[i].str(); };
    for (std::size_t i = 0; i < call.leaves.size(); ++i)
        if (e.program->kept[i] && call.leaves[i].node()->deleted())
            out += path(i) + " was donated or deleted before this call: it will be refused\n";
    for (const std::uint32_t i : e.consumed) {
        const Node* n = call.leaves[i].node();
        for (std::size_t k = 0; k < call.leaves.size(); ++k) {
            const bool donated = std::find(e.consumed.begin(), e.consumed.end(), k) != e.consumed.end();
            if (k == i || call.leaves[k].node() != n || !e.program->kept[k] || (donated && k < i)) continue;
            out += fmt::format("{} and {} are one array, {}: the call will be refused\n", path(i), path(k),
                               donated ? "donated twice" : "and one of them is donated");
        }
        for (const Array& c : e.traced().consts)
            if (n->array && c.node()->array == n->array)
                out += path(i) + " is donated, and the function closes over the same array: its memory is copied first\n";
    }
    return out;
}

}  // namespace

std::string donation_report(JitState& s) {
    const std::shared_lock lock(s.lists);
    std::string out = report_of(s.options);
    // A program each where there are several: types or static values differ between them.
    std::size_t n = 0;
    for (const auto& e : s.entries) {
        const std::string report = report_of(*e);
        ++n;
        if (s.entries.size() > 1 && !report.empty()) out += fmt::format("trace {}:\n", n);
        out += report;
    }
    return out;
}
std::string donation_report(JitState& s, Call& call) {
    initialise();
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    return report_of(s.options) + report_of(*e) + report_of(*e, call);
}

}  // namespace jaxscope::jax::detail
