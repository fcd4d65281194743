// SPDX-License-Identifier: Apache-2.0
#include "donation/pairing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>

namespace jaxscope {

namespace {

/// What pairing looks at: JAX strips weak types and shardings away.
AvalRef stripped(AvalRef a) {
    Aval s = *strong(a);
    s.sharding = {};
    return s;
}

/// One output slot of the compiled function. `number` is -1 for the extra int32 that filter_jit puts in front (behaviours B-38).
struct Slot {
    AvalRef aval;
    int number;
    std::optional<int> taken_by = {};
    AvalRef share = aval;  ///< one device's part of it, as XLA has it
    bool said = true;      ///< is it known at lowering how it lies?
};

struct Pairing {
    std::vector<Slot> outputs;
    std::vector<int> candidates;  ///< donated inputs that the compiled function keeps
    std::vector<int> donors;      ///< left to XLA
    std::vector<int> refused;     ///< warned about
    Avals in_avals;
    Avals in_shares;  ///< one device's parts of them

    void at_lowering() {
        std::map<std::uint32_t, std::deque<int>> free_by_aval;
        for (const int i : candidates) free_by_aval[in_avals[static_cast<std::size_t>(i)].id()].push_back(i);
        for (Slot& o : outputs) {
            auto& free_inputs = free_by_aval[o.aval.id()];
            if (free_inputs.empty()) continue;
            if (o.said)
                o.taken_by = free_inputs.front();
            else
                donors.push_back(free_inputs.front());
            free_inputs.pop_front();
        }
    }
    bool left_to_xla(int input) const { return std::find(donors.begin(), donors.end(), input) != donors.end(); }
    /// Per input: the slot that takes it, or -1.
    std::vector<int> slot_of_input() const {
        std::vector<int> slot(in_avals.size(), -1);
        for (std::size_t o = 0; o < outputs.size(); ++o)
            if (outputs[o].taken_by) slot[static_cast<std::size_t>(*outputs[o].taken_by)] = static_cast<int>(o);
        return slot;
    }
    /// Leftovers become donors for XLA while outputs with as many elements are left; the others are warned about.
    void second_round() {
        std::map<std::int64_t, int> free_outputs;
        for (const Slot& o : outputs)
            if (!o.taken_by) ++free_outputs[o.aval->size()];
        const std::vector<int> slot = slot_of_input();
        const bool all = std::any_of(outputs.begin(), outputs.end(), [](const Slot& o) { return !o.said; });
        for (const int i : candidates) {
            if (slot[static_cast<std::size_t>(i)] >= 0 || left_to_xla(i)) continue;
            if (all) {
                donors.push_back(i);
                continue;
            }
            int& left = free_outputs[in_avals[static_cast<std::size_t>(i)]->size()];
            (left > 0 ? donors : refused).push_back(i);
            if (left > 0) --left;
        }
    }
    /// Larger first, equal sizes only.
    void by_xla() {
        const auto bytes = [&](int i) { return in_shares[static_cast<std::size_t>(i)]->bytes(); };
        std::vector<int> sorted = donors;
        std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return bytes(a) > bytes(b); });
        std::vector<Slot*> open;
        for (Slot& o : outputs)
            if (!o.taken_by) open.push_back(&o);
        std::stable_sort(open.begin(), open.end(), [](const Slot* a, const Slot* b) { return a->share->bytes() > b->share->bytes(); });
        for (std::size_t d = 0, o = 0; d < sorted.size() && o < open.size();) {
            if (bytes(sorted[d]) == open[o]->share->bytes())
                open[o++]->taken_by = sorted[d++];
            else if (bytes(sorted[d]) > open[o]->share->bytes())
                ++d;
            else
                ++o;
        }
    }
};

/// As str(aval) writes it.
std::string warning_text(AvalRef a) {
    std::string s = std::string(a->weak_type ? "~" : "") + info(a->dtype).name + "[";
    for (std::size_t i = 0; i < a->shape.size(); ++i) s += (i ? "," : "") + std::to_string(a->shape[i]);
    return s + "]";
}

/// The shape that pairing saw, with the input's own weak type.
AvalRef warned_of(AvalRef input, AvalRef seen) { return with_shape(input, seen->shape); }

/// Where JAX knows how a value lies it pairs by one device's part of it.
void use_shares(Pairing& p, const ShareTypes& shares) {
    for (std::size_t i = 0; i < p.in_avals.size(); ++i) {
        p.in_shares[i] = stripped(shares.in[i]);
        if (shares.in_said[i]) p.in_avals[i] = p.in_shares[i];
    }
    for (Slot& o : p.outputs) {
        if (o.number < 0) continue;
        const auto k = static_cast<std::size_t>(o.number);
        o.share = stripped(shares.out[k]);
        o.said = shares.out_said[k];
        if (o.said) o.aval = o.share;
    }
}

/// An output of the same shape that took no donated argument, by the part of the result that it stands in: what the user may have meant.
std::string nearest_output(const Program& program, const Pairing& p, int input) {
    const AvalRef a = p.in_avals[static_cast<std::size_t>(input)];
    for (const Slot& o : p.outputs) {
        if (o.taken_by || o.number < 0 || o.aval->shape != a->shape || o.aval->dtype == a->dtype) continue;
        const auto n = static_cast<std::size_t>(o.number);
        const std::string path = n < program.out_paths.size() ? program.out_paths[n].str() : std::to_string(n);
        const std::string part = path.substr(0, std::min(path.size(), path.find(']')) + (path.find(']') == std::string::npos ? 0 : 1));
        return fmt::format("; one of its shape is returned as {}{}", info(o.aval->dtype).short_name, part.empty() ? "" : " at " + part);
    }
    return {};
}

/// How an output came to an input's buffer that the lowering didn't give it. `alike`: whole arrays have one type.
const char* why_by_xla(const Slot& o, AvalRef share, bool alike) {
    if (o.share != share)
        return alike ? "reused by XLA for an output of the same type, which is cut otherwise and whose parts are as large"
                     : "reused by XLA for an output of the same size but another type";
    return o.said ? "reused by XLA for an output of the same type"
                  : "reused by XLA for an output of the same type, which lies as XLA decides: nothing pairs them before";
}

std::string why_unused(const Program& program, const Pairing& p, int input, bool pruned) {
    const AvalRef a = p.in_avals[static_cast<std::size_t>(input)];
    if (pruned) return "the program never reads it, so jit drops it from the compiled function: nothing is donated and it stays valid";
    if (std::find(p.refused.begin(), p.refused.end(), input) != p.refused.end()) {
        const bool any = std::any_of(p.outputs.begin(), p.outputs.end(), [&](const Slot& o) { return o.aval == a; });
        return any ? "every output of its type already takes an earlier donated argument"
                   : "no output has its type" + nearest_output(program, p, input);
    }
    return "silently lost: no output of its type is left, and the one with as many elements has another size in bytes" +
           nearest_output(program, p, input);
}

std::string path_of(const Program& program, std::size_t input) {
    return input < program.in_paths.size() ? program.in_paths[input].str() : fmt::format("arg{}", input);
}

/// One array under several arguments, one of them donated: what JAX says when it runs.
void add_shared_buffers(const Program& program, const std::vector<bool>& donated, DonationReport& report) {
    for (const std::vector<int>& group : program.same_arrays) {
        std::vector<std::string> paths;
        const auto n = std::count_if(group.begin(), group.end(), [&](int i) { return donated[static_cast<std::size_t>(i)]; });
        if (n == 0) continue;
        for (const int i : group) paths.push_back(path_of(program, static_cast<std::size_t>(i)));
        report.findings.push_back(fmt::format(
            "{} are one array in memory, {}: JAX refuses to run this ({})", fmt::join(paths, " and "),
            n > 1 ? "donated more than once" : "and one of them is donated",
            n > 1 ? "Attempt to donate the same buffer twice" : "Attempt to use a buffer that was previously donated in the same call"));
    }
}

void add_findings(const Program& program, const Pairing& p, const std::vector<bool>& donated, DonationReport& report) {
    std::vector<std::string> lost;
    for (const DonatedLeaf& d : report.donated)
        if (!d.used && std::find(p.donors.begin(), p.donors.end(), d.input) != p.donors.end())
            lost.push_back(fmt::format("{} ({})", d.path, d.aval));
    if (lost.size() == 1) report.findings.push_back(fmt::format("the donation of {} is lost without a warning", lost[0]));
    if (lost.size() > 1)
        report.findings.push_back(
            fmt::format("the donations of {} leaves, from {} to {}, are lost without a warning", lost.size(), lost.front(), lost.back()));
    for (const Slot& o : p.outputs) {
        if (o.taken_by || o.number < 0 || o.aval->bytes() == 0) continue;
        for (std::size_t i = 0; i < p.in_avals.size(); ++i) {
            if (donated[i] || p.in_avals[i] != o.aval || (i < program.kept.size() && !program.kept[i]) || o.aval->bytes() < 1024) continue;
            report.findings.push_back(fmt::format("{} ({}) could be donated: an output of its type has no buffer to reuse",
                                                  path_of(program, i), to_text(o.aval)));
            return;  // one example says it; the window lists more
        }
    }
}

}  // namespace

DonationReport pair_donations(const Program& program, std::vector<bool> donated, const std::optional<ShareTypes>& shares) {
    const Jaxpr& j = *program.jaxpr;
    if (donated.empty()) donated = program.donated;
    donated.resize(j.num_invars, false);
    Pairing p;
    for (const AvalRef a : j.in_avals()) p.in_avals.push_back(stripped(a));
    p.in_shares = p.in_avals;
    if (program.jit == Sym("eqx")) p.outputs.push_back({AvalRef(DType::S32, {}), -1, {}});
    for (std::size_t o = 0; o < j.outvars.size(); ++o) p.outputs.push_back({stripped(j.aval(j.outvars[o])), static_cast<int>(o), {}});
    if (shares) use_shares(p, *shares);
    const auto kept = [&](std::size_t i) { return i >= program.kept.size() || program.kept[i]; };
    for (std::size_t i = 0; i < donated.size(); ++i)
        if (donated[i] && kept(i)) p.candidates.push_back(static_cast<int>(i));
    p.at_lowering();
    const std::vector<Slot> lowered = p.outputs;
    p.second_round();
    p.by_xla();

    const std::vector<int> slot_of_input = p.slot_of_input();
    DonationReport report;
    report.alias_of_output.resize(j.outvars.size());
    for (std::size_t i = 0; i < donated.size(); ++i) {
        if (!donated[i]) continue;
        DonatedLeaf leaf;
        leaf.input = static_cast<int>(i);
        leaf.path = path_of(program, i);
        leaf.aval = to_text(p.in_shares[i]);
        leaf.bytes = p.in_shares[i]->bytes();
        if (slot_of_input[i] >= 0) {
            const auto s = static_cast<std::size_t>(slot_of_input[i]);
            const Slot& o = p.outputs[s];
            leaf.used = true;
            leaf.at_lowering = lowered[s].taken_by == leaf.input;
            if (o.number >= 0) {
                leaf.output = o.number;
                report.alias_of_output[static_cast<std::size_t>(o.number)] = leaf.input;
                if (static_cast<std::size_t>(o.number) < program.out_paths.size())
                    leaf.output_path = program.out_paths[static_cast<std::size_t>(o.number)].str();
            }
            leaf.reason = o.number < 0       ? "taken by the extra int32 output that filter_jit adds"
                          : leaf.at_lowering ? "reused by the first free output of the same type"
                                             : why_by_xla(o, p.in_shares[i],
                                                          stripped(j.aval(j.outvars[static_cast<std::size_t>(o.number)])) ==
                                                              stripped(j.aval(j.invar(static_cast<std::uint32_t>(i)))));
        }
        if (leaf.used)
            report.saved_bytes += leaf.bytes;
        else
            leaf.reason = why_unused(program, p, leaf.input, !kept(i));
        report.donated.push_back(std::move(leaf));
    }
    if (!p.refused.empty()) {
        std::string avals;
        for (const int i : p.refused)
            avals += (avals.empty() ? "" : ", ") +
                     warning_text(warned_of(j.aval(j.invar(static_cast<std::uint32_t>(i))), p.in_avals[static_cast<std::size_t>(i)]));
        report.warning = fmt::format(
            "Some donated buffers were not usable: {}.\nSee an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.",
            avals);
    }
    add_shared_buffers(program, donated, report);
    add_findings(program, p, donated, report);
    return report;
}

}  // namespace jaxscope
