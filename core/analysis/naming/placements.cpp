// SPDX-License-Identifier: Apache-2.0
#include "analysis/naming/placements.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/equations/cost.h"
#include "base/cancel.h"
#include "calls/control_flow.h"
#include "calls/families.h"
#include "calls/remat/remat.h"
#include "ir/builder.h"
#include "ir/interpret.h"
#include "transforms/cut.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

/// Equations that look alike and come from one line.
std::vector<std::uint64_t> tokens(const Jaxpr& j) {
    std::vector<std::uint64_t> out;
    out.reserve(j.eqns.size());
    for (const Eqn& e : j.eqns) {
        std::uint64_t h = reinterpret_cast<std::uintptr_t>(e.prim) * 0x9e3779b97f4a7c15ULL + e.source->traceback.id();
        for (std::uint32_t k = 0; k < e.n_out; ++k) h = h * 0xff51afd7ed558ccdULL + j.aval(j.output(e, k)).id() + 1;
        out.push_back(h);
    }
    return out;
}

/// Distances at which equations come again, most frequent first.
std::vector<std::uint32_t> likely_periods(const std::vector<std::uint64_t>& tokens) {
    std::unordered_map<std::uint64_t, std::uint32_t> last;
    std::map<std::uint32_t, std::uint32_t> votes;
    for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        const auto [it, is_new] = last.try_emplace(tokens[i], i);
        if (!is_new) ++votes[i - it->second];
        it->second = i;
    }
    std::vector<std::uint32_t> periods;
    for (const auto& [period, n] : votes)
        if (period >= 2) periods.push_back(period);
    std::stable_sort(periods.begin(), periods.end(), [&](std::uint32_t a, std::uint32_t b) { return votes[a] > votes[b]; });
    constexpr std::size_t kTried = 16;
    periods.resize(std::min(periods.size(), kTried));
    return periods;
}

RepeatedBlocks longest_run(const std::vector<std::uint64_t>& t, std::uint32_t period) {
    RepeatedBlocks best{0, period, 0};
    std::uint32_t run = 0;
    for (std::uint32_t i = 0; i + period < t.size(); ++i) {
        run = t[i] == t[i + period] ? run + 1 : 0;
        if (const std::uint32_t count = run / period + 1; run >= period && count > best.count) best = {i + 1 - run, period, count};
    }
    return best;
}

/// Each block as one checkpoint: what it reads from outside comes in, what is read behind it goes out.
JaxprPtr with_checkpoints(const Jaxpr& j, const RepeatedBlocks& blocks) {
    const JaxprCutter cutter(j);
    JaxprBuilder b;
    Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_all(b.add_signature(j));
    std::unordered_map<std::uint32_t, Value> of_block;  // what the block at work hands on, by variable
    const Values out = run.forward([&](const Eqn& e, const Values& in) {
        const auto at = static_cast<std::uint32_t>(run.index());
        if (at < blocks.begin || at >= blocks.begin + blocks.period * blocks.count) return b.copy(j, e, in);
        if ((at - blocks.begin) % blocks.period == 0) {
            const JaxprCut block = cutter.cut(at, at + blocks.period);
            Values given;
            for (const Var v : block.in) given.push_back(run.read(v));
            RematParams p;
            p.jaxpr = {block.jaxpr, false};
            p.prevent_cse = Attr(true);
            const Values made = b.emit(kRemat, given, make_params(p), block.jaxpr->out_avals(), block.jaxpr->effects);
            of_block.clear();
            for (std::size_t k = 0; k < made.size(); ++k) of_block[block.out[k].index] = made[k];
        }
        Values results;  // what stays inside is read by nobody here
        for (std::uint32_t k = 0; k < e.n_out; ++k) results.push_back(of_block[e.first_out + k]);
        return results;
    });
    return b.finish(out, j.name);
}

/// `root` with one of the jaxprs below it replaced, wherever it stands.
JaxprPtr with_replaced(const JaxprPtr& root, const Jaxpr* which, const JaxprPtr& with) {
    std::unordered_map<const Jaxpr*, JaxprPtr> done{{which, with}};
    return map_params(
        root, [](const Eqn&, ParamsRef inside) { return inside; }, done);
}

/// The function whose calls these equations are: the innermost one that all of them have, and the line that calls it.
void name_of_block(const Jaxpr& j, const RepeatedBlocks& blocks, Placement& out) {
    std::vector<Frame> common;  // outermost first
    bool first = true;
    for (std::uint32_t i = blocks.begin; i < blocks.begin + blocks.period; ++i) {
        std::vector<Frame> frames(j.eqns[i].source->frames());
        std::reverse(frames.begin(), frames.end());
        if (frames.empty()) continue;
        if (first) {
            common = frames;
            first = false;
            continue;
        }
        std::size_t same = 0;
        while (same < common.size() && same < frames.size() && common[same] == frames[same]) ++same;
        // Behind the common calls stands the function that all of them are in, at lines of its own.
        const bool in_one = same < common.size() && same < frames.size() && common[same].function == frames[same].function &&
                            common[same].file == frames[same].file;
        common.resize(in_one ? same + 1 : same);
    }
    if (common.size() < 2) return;
    const Frame& call = common[common.size() - 2];
    out.function = common.back().function.str();
    out.loc = {call.file.str(), call.line, 0};
}

void add_blocks(const JaxprPtr& function, std::vector<Placement>& out) {
    const Jaxpr* in = nullptr;
    RepeatedBlocks most;
    for (const Jaxpr* j : all_jaxprs(*function))
        if (const auto found = repeated_blocks(*j); found && (!in || found->period * found->count > most.period * most.count)) {
            most = *found;
            in = j;
        }
    if (!in) return;
    Placement p;
    p.kind = Placement::Kind::Blocks;
    p.count = most.count;
    name_of_block(*in, most, p);
    p.jaxpr = with_replaced(function, in, with_checkpoints(*in, most));
    out.push_back(std::move(p));
}

/// Of the scan that does most work.
void add_scan_body(const JaxprPtr& function, std::vector<Placement>& out) {
    const Eqn* scan = nullptr;
    double most = 0;
    for (const Jaxpr* j : all_jaxprs(*function))
        for (const Eqn& e : j->eqns)
            if (e.prim == &kScan && repetitions(e) > 1)
                if (const double flops = cost_of(*j, e).flops; !scan || flops > most) {
                    scan = &e;
                    most = flops;
                }
    if (!scan) return;
    const JaxprPtr body = scan->params->find(Sym(scan->prim->body))->get<Attr::JaxprRef>()->jaxpr;
    Placement p;
    p.kind = Placement::Kind::ScanBody;
    p.count = repetitions(*scan);
    p.function = body->name.str();
    p.loc = scan->source.loc();
    p.jaxpr = with_replaced(function, body.get(), checkpoint(body, nullptr, scan->source));
    out.push_back(std::move(p));
}

}  // namespace

bool holds_checkpoint(const Jaxpr& j) {
    for (const Jaxpr* inner : all_jaxprs(j))
        for (const Eqn& e : inner->eqns)
            if (e.prim == &kRemat) return true;
    return false;
}

std::optional<RepeatedBlocks> repeated_blocks(const Jaxpr& j) {
    const std::vector<std::uint64_t> t = tokens(j);
    RepeatedBlocks best;
    const auto covered = [](const RepeatedBlocks& r) { return std::uint64_t{r.period} * r.count; };
    for (const std::uint32_t period : likely_periods(t)) {
        const RepeatedBlocks found = longest_run(t, period);
        if (found.count < 2) continue;
        // A multiple of a period covers as much: of those that cover about the same the shortest is the block.
        if (covered(found) > covered(best) + covered(best) / 20 ||
            (covered(found) + covered(found) / 20 >= covered(best) && found.period < best.period))
            best = found;
    }
    if (best.count < 2 || covered(best) * 4 < t.size()) return {};
    return best;
}

std::vector<Placement> placements(const JaxprPtr& function) {
    std::vector<Placement> out;
    if (holds_checkpoint(*function)) {
        Placement p;
        p.kind = Placement::Kind::Existing;
        p.jaxpr = function;
        out.push_back(std::move(p));
        return out;
    }
    add_blocks(function, out);
    add_scan_body(function, out);
    Placement p;
    p.function = function->name.str();
    p.jaxpr = checkpoint(function, nullptr);
    out.push_back(std::move(p));
    return out;
}

std::optional<Placement> block_placement(const JaxprPtr& function) {
    Placement found = placements(function).front();
    if (found.kind == Placement::Kind::Blocks || found.kind == Placement::Kind::ScanBody) return found;
    return {};
}

JaxprPtr with_policy_on_blocks(const JaxprPtr& function, const PolicyPtr& policy) {
    const std::optional<Placement> blocks = block_placement(function);
    if (!blocks)
        throw Error(ErrorCode::NotFound,
                    holds_checkpoint(*function)
                        ? "expected a function without checkpoints, to put one around each block, found a jax.checkpoint inside"
                        : "expected repeated blocks, or a scan, in the function, to put a checkpoint around each, found none");
    return replace_policy(
        blocks->jaxpr, [](const Eqn&) { return true; }, policy);
}

}  // namespace jaxscope
