// SPDX-License-Identifier: Apache-2.0
#include "analysis/donate_modes.h"

#include <algorithm>

#include "donation/pairing.h"

namespace jaxscope {

namespace {

constexpr int kFirst = 0;

std::vector<bool> donated_by(const Program& p, bool first, bool rest) {
    std::vector<bool> out;
    for (std::size_t i = 0; i < p.jaxpr->num_invars; ++i)
        out.push_back(i < p.arg_of_input.size() && p.arg_of_input[i] == kFirst ? first : rest);
    return out;
}

DonateModeRow row(const Program& p, const JitOptions& options, bool first, bool rest) {
    const std::vector<bool> donated = donated_by(p, first, rest);
    const DonationReport report = pair_donations(p, donated);
    DonateModeRow r;
    for (const DonatedLeaf& d : report.donated) {
        ++r.donated;
        r.reused += d.used;
        if (!d.used) r.lost_bytes += d.bytes;
        if (!d.used) continue;
        const auto i = static_cast<std::size_t>(d.input);
        const int arg = i < p.arg_of_input.size() ? p.arg_of_input[i] : -1;
        const std::string name = arg < 0                                              ? "the function's own arrays"
                                 : static_cast<std::size_t>(arg) < p.arg_names.size() ? p.arg_names[static_cast<std::size_t>(arg)].str()
                                                                                      : "args[" + std::to_string(arg) + "]";
        if (std::find(r.consumed_arguments.begin(), r.consumed_arguments.end(), name) == r.consumed_arguments.end())
            r.consumed_arguments.push_back(name);
    }
    r.saved_bytes = report.saved_bytes;
    r.warning = report.warning.value_or("");
    r.planned_peak = plan_only(p.jaxpr, report.alias_of_output, p.kept, options).planned_peak;
    r.chosen = p.donated.empty() ? !first && !rest : p.donated == donated;
    return r;
}

}  // namespace

std::vector<DonateModeRow> donate_modes(const Program& p, const JitOptions& options) {
    std::vector<DonateModeRow> out;
    const auto add = [&](const char* mode, DonateModeRow r, bool warns) {
        r.mode = mode;
        if (!warns) r.warning.clear();
        out.push_back(std::move(r));
    };
    const DonateModeRow all = row(p, options, true, true), rest = row(p, options, false, true);
    add("all", all, false);
    add("all-except-first", rest, false);
    add("warn", all, true);
    add("warn-except-first", rest, true);
    add("none", row(p, options, false, false), false);
    return out;
}

}  // namespace jaxscope
