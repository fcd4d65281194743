// SPDX-License-Identifier: Apache-2.0
#include "analysis/correspondence.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/intern.h"
#include "ir/primitive.h"
#include "lax/primitives.h"

namespace jaxscope {
namespace {

/// What stays the same of an equation from jaxpr to jaxpr.
struct Mark {
    Sym place;
    const Primitive* primitive = nullptr;
    AvalRef result;
    friend bool operator==(const Mark&, const Mark&) = default;
};
struct MarkHash {
    std::size_t operator()(const Mark& m) const {
        return hash_mix(hash_mix(std::hash<Sym>{}(m.place), std::hash<const void*>{}(m.primitive)), m.result.id());
    }
};
/// Layers of one model share lines, primitives and types: the third attention of one jaxpr is the third of the others.
struct Occurrence {
    Mark mark;
    std::size_t number = 0;
};

Mark mark_of(const Jaxpr& jaxpr, const Eqn& eqn) {
    return {eqn.source->summary(), eqn.prim, eqn.n_out > 0 ? jaxpr.aval(jaxpr.output(eqn, 0)) : AvalRef{}};
}

/// Equations of a root jaxpr by mark, in program order. A jaxpr that several calls share is walked for each, until that would cost more
/// than a few times the program.
class MarkIndex {
public:
    explicit MarkIndex(const Jaxpr* root) : root_(root) {}

    std::optional<EqnPath> find(const Occurrence& wanted) {
        build();
        const auto found = places_.find(wanted.mark);
        if (found == places_.end()) return {};
        return found->second[std::min(wanted.number, found->second.size() - 1)];
    }
    std::optional<Occurrence> occurrence_at(const EqnPath& path) {
        const std::optional<Mark> mark = mark_at(path);
        if (!mark) return {};
        build();
        const auto found = places_.find(*mark);
        if (found == places_.end()) return Occurrence{*mark, 0};
        const auto& all = found->second;
        const auto at = std::find(all.begin(), all.end(), path);
        return Occurrence{*mark, at == all.end() ? 0 : static_cast<std::size_t>(at - all.begin())};
    }
    std::optional<Mark> mark_at(const EqnPath& path) const {
        if (root_ == nullptr) return {};
        try {
            const Jaxpr& jaxpr = resolve(*root_, path.jaxpr);
            if (path.eqn < jaxpr.eqns.size()) return mark_of(jaxpr, jaxpr.eqns[path.eqn]);
        } catch (const Error&) {  // a path of another program: nothing corresponds
        }
        return {};
    }
    /// The equation that makes the operand of which `path`'s result is another name.
    std::optional<EqnPath> renamed_by(const EqnPath& path) const {
        const std::optional<std::uint32_t> eqn = jaxscope::renamed_by(resolve(*root_, path.jaxpr), path.eqn);
        return eqn ? std::optional(EqnPath{path.jaxpr, *eqn}) : std::nullopt;
    }
    /// The equation that makes what `path` copies to another memory.
    std::optional<EqnPath> moved_by(const EqnPath& path) const {
        if (!mark_at(path)) return {};
        const std::optional<std::uint32_t> eqn = jaxscope::moved_by(resolve(*root_, path.jaxpr), path.eqn);
        return eqn ? std::optional(EqnPath{path.jaxpr, *eqn}) : std::nullopt;
    }
    /// The equation that makes the first operand of the result's type, in whose memory a saved value may be computed in place.
    std::optional<EqnPath> in_place_of(const EqnPath& path) const {
        const std::optional<std::uint32_t> eqn = jaxscope::in_place_of(resolve(*root_, path.jaxpr), path.eqn);
        return eqn ? std::optional(EqnPath{path.jaxpr, *eqn}) : std::nullopt;
    }
    /// The equation that makes the operand of which `path` gives another name or order.
    std::optional<EqnPath> same_value_as(const EqnPath& path) const {
        const Jaxpr& jaxpr = resolve(*root_, path.jaxpr);
        if (const auto eqn = jaxscope::in_place_of(jaxpr, path.eqn)) return EqnPath{path.jaxpr, *eqn};
        const Eqn& e = jaxpr.eqns[path.eqn];
        if (e.prim != &kTranspose && e.prim != &kReshape && e.prim != &kSqueeze) return {};
        const auto eqn = jaxscope::made_by(jaxpr, path.eqn, 0);
        return eqn ? std::optional(EqnPath{path.jaxpr, *eqn}) : std::nullopt;
    }
    /// The equation that computes result `output` of `path` inside of the checkpoints around it: these are no equations of the user's.
    std::optional<EqnPath> computed_by(EqnPath path, std::uint32_t output) const {
        if (!mark_at(path)) return {};
        for (const Jaxpr* in = &resolve(*root_, path.jaxpr); in->eqns[path.eqn].prim->flow == Flow::Remat;) {
            const std::vector<SubJaxpr> subs = sub_jaxprs(in->eqns[path.eqn]);
            if (subs.size() != 1 || output >= subs[0].jaxpr->outvars.size()) break;
            const Jaxpr& body = *subs[0].jaxpr;
            const Atom made = body.outvars[output];
            if (made.is_literal() || made.var().index < body.num_constvars + body.num_invars) break;
            const auto after = std::upper_bound(body.eqns.begin(), body.eqns.end(), made.var().index,
                                                [](std::uint32_t var, const Eqn& e) { return var < e.first_out; });
            path.jaxpr.steps.push_back({path.eqn, subs[0].param, subs[0].index});
            path.eqn = static_cast<std::uint32_t>(after - body.eqns.begin()) - 1;
            output = made.var().index - body.eqns[path.eqn].first_out;
            in = &body;
        }
        return path;
    }
    /// The first equation of the root that reads an input.
    std::optional<EqnPath> reader_of(int input) const {
        if (root_ == nullptr || input < 0 || static_cast<std::uint32_t>(input) >= root_->num_invars) return {};
        const Var wanted = root_->invar(static_cast<std::uint32_t>(input));
        for (std::uint32_t e = 0; e < root_->eqns.size(); ++e)
            for (const Atom a : root_->inputs(root_->eqns[e]))
                if (!a.is_literal() && a.var().index == wanted.index) return EqnPath{{}, e};
        return {};
    }

private:
    struct Open {
        const Jaxpr* jaxpr;
        JaxprPath path;
        std::uint32_t next = 0;
    };
    void build() {
        if (built_ || root_ == nullptr) return;
        built_ = true;
        constexpr std::size_t kRepeats = 4, kFree = 100'000;
        std::size_t visited = 0, distinct = root_->eqns.size();
        std::unordered_set<const Jaxpr*> seen{root_};
        std::vector<Open> open;
        open.push_back({root_, {}});
        while (!open.empty()) {
            const Jaxpr& jaxpr = *open.back().jaxpr;
            const std::uint32_t i = open.back().next++;
            if (i >= jaxpr.eqns.size()) {
                open.pop_back();
                continue;
            }
            ++visited;
            const Eqn& eqn = jaxpr.eqns[i];
            const JaxprPath path = open.back().path;
            places_[mark_of(jaxpr, eqn)].push_back(EqnPath{path, i});
            if (!eqn.params->holds_jaxpr()) continue;
            const std::vector<SubJaxpr> subs = sub_jaxprs(eqn);
            for (std::size_t s = subs.size(); s-- > 0;) {  // the first one ends on top
                const Jaxpr* inner = subs[s].jaxpr.get();
                if (seen.insert(inner).second)
                    distinct += inner->eqns.size();
                else if (visited > kFree + kRepeats * distinct)
                    continue;
                JaxprPath below = path;
                below.steps.push_back({i, subs[s].param, subs[s].index});
                open.push_back({inner, std::move(below)});
            }
        }
    }
    const Jaxpr* root_;
    bool built_ = false;
    std::unordered_map<Mark, std::vector<EqnPath>, MarkHash> places_;
};

constexpr int kHops = 4;  // names and casts one after the other that are followed to the memory where their value lies

std::optional<EqnPath> parsed(const std::string& text) {
    try {
        if (!text.empty()) return parse_eqn_path(text);
    } catch (const Error&) {
    }
    return {};
}

/// Looks for the call that the region's forward pass is, inside of jitted functions too. `given`: the program's input that each constant
/// and input of `jaxpr` is, or -1. True: `out` has it for the inputs of the region.
bool follow_inputs(const Jaxpr& jaxpr, const std::vector<int>& given, Sym call, std::uint32_t closed_over, std::vector<int>& out) {
    static const Sym name_field("name");
    const auto number = [&](const Atom& a) { return a.is_literal() || a.var().index >= given.size() ? -1 : given[a.var().index]; };
    for (const Eqn& e : jaxpr.eqns) {
        if (!e.params->holds_jaxpr()) continue;
        const auto in = jaxpr.inputs(e);
        const Attr* name = e.params->find(name_field);
        const Sym* text = name != nullptr ? name->get<Sym>() : nullptr;
        if (text != nullptr && *text == call) {
            for (std::size_t i = 0; i < out.size() && closed_over + i < in.size(); ++i) out[i] = number(in[closed_over + i]);
            return true;
        }
        if (e.prim->flow != Flow::Call) continue;
        const std::vector<SubJaxpr> subs = sub_jaxprs(e);
        if (subs.size() != 1 || subs[0].jaxpr->num_invars != in.size()) continue;
        std::vector<int> inner(subs[0].jaxpr->num_constvars, -1);
        for (const Atom& a : in) inner.push_back(number(a));
        if (follow_inputs(*subs[0].jaxpr, inner, call, closed_over, out)) return true;
    }
    return false;
}

/// Which input of the program each input of the region is, where the region is called with inputs of the step.
std::vector<int> inputs_of_region(const Program& program, const Region& region) {
    std::vector<int> out(region.jaxpr->num_invars, -1);
    if (!program.marked || !region.mark) return out;
    const Jaxpr& marked = *program.marked;
    std::vector<int> given(marked.num_constvars, -1);
    for (std::uint32_t i = 0; i < marked.num_invars; ++i) given.push_back(static_cast<int>(i));
    follow_inputs(marked, given, Sym("jaxscope_forward_" + std::to_string(*region.mark)), region.jaxpr->num_constvars, out);
    return out;
}

}  // namespace

struct Correspondence::Index {
    MarkIndex program, region, known, unknown;
    KnownStages stages;
    std::vector<int> program_input;  ///< of each input of the region; empty where the region is the program itself

    /// What computes a residual, in the known part.
    std::optional<EqnPath> computed(const ResidualRow& row) const {
        const std::optional<EqnPath> at = parsed(row.equation);
        return at && row.id.eqn >= 0 && at->jaxpr.steps.empty() ? known.computed_by(*at, static_cast<std::uint32_t>(row.id.result)) : at;
    }
    int to_program(int region_input) const {
        if (program_input.empty() || region_input < 0) return region_input;
        return static_cast<std::size_t>(region_input) < program_input.size() ? program_input[static_cast<std::size_t>(region_input)] : -1;
    }
    int to_region(int input) const {
        if (program_input.empty()) return input;
        const auto found = std::find(program_input.begin(), program_input.end(), input);
        return input < 0 || found == program_input.end() ? -1 : static_cast<int>(found - program_input.begin());
    }
    /// The first residual, buffer for which `fits` holds.
    template <class Fits>
    std::optional<ResidualId> residual_where(const Fits& fits) const {
        if (stages.residuals == nullptr) return {};
        const auto& rows = stages.residuals->rows;
        const auto found = std::find_if(rows.begin(), rows.end(), fits);
        return found == rows.end() ? std::nullopt : std::optional(found->id);
    }
    template <class Fits>
    std::optional<BufferId> buffer_where(const Fits& fits) const {
        if (stages.plan == nullptr) return {};
        const auto& buffers = stages.plan->buffers;
        const auto found = std::find_if(buffers.begin(), buffers.end(), fits);
        return found == buffers.end() ? std::nullopt : std::optional(id_of(*stages.plan, static_cast<int>(found - buffers.begin())));
    }
};

Picked Picked::without_derived() const {
    Picked kept;
    kept.program = program;
    kept.region = region;
    kept.input = input;
    kept.donated = donated;
    if (residual && residual->derivation == 0) kept.residual = residual;
    if (buffer && buffer->derivation == 0) kept.buffer = buffer;
    if (group_in == Where::Program) kept.group = group;
    return kept;
}

Correspondence::Correspondence(const Program& program, const Region* region, const KnownStages& stages)
    : index_(new Index{MarkIndex(program.jaxpr.get()), MarkIndex(region != nullptr ? region->jaxpr.get() : program.jaxpr.get()),
                       MarkIndex(stages.split != nullptr ? stages.split->known.get() : nullptr),
                       MarkIndex(stages.split != nullptr ? stages.split->unknown.get() : nullptr), stages,
                       region != nullptr ? inputs_of_region(program, *region) : std::vector<int>{}}) {}
Correspondence::~Correspondence() = default;

/// A picked argument: its rows in every table, and where the program first reads it.
void Correspondence::complete_input(Picked& picked) const {
    Index& in = *index_;
    const KnownStages& stages = in.stages;
    int region_input = in.to_region(picked.input);
    if (const ResidualRow* row = stages.find(picked.residual); row != nullptr) region_input = row->input;
    if (!picked.residual && region_input >= 0)
        picked.residual = in.residual_where([&](const ResidualRow& r) { return r.input == region_input; });
    if (!picked.region && region_input >= 0) picked.region = in.region.reader_of(region_input);
    if (!picked.known && region_input >= 0) picked.known = in.known.reader_of(region_input);
    if (picked.input < 0) return;  // of the differentiated function alone
    if (picked.donated < 0 && stages.donated(picked.input) != nullptr) picked.donated = picked.input;
    if (!picked.buffer)
        picked.buffer = in.buffer_where([&](const PlannedBuffer& b) { return b.role == BufferRole::Argument && b.number == picked.input; });
    if (!picked.program) picked.program = in.program.reader_of(picked.input);
}

/// What the rows of tables say about where they stand.
std::optional<Correspondence::Place> Correspondence::place_of(Picked& picked) const {
    Index& in = *index_;
    if (const ResidualRow* row = in.stages.find(picked.residual); row != nullptr && !picked.known) {
        picked.known = parsed(row->equation);
        if (row->on_host && picked.known) picked.known = in.known.moved_by(*picked.known).value_or(*picked.known);
        if (row->input >= 0) picked.input = in.to_program(row->input);
    }
    if (picked.donated >= 0) picked.input = picked.donated;
    if (const PlannedBuffer* buffer = in.stages.find(picked.buffer); buffer != nullptr && !picked.program && !picked.known) {
        if (buffer->role == BufferRole::Argument) {                            // whatever else lies in its memory later
            if (picked.buffer->opened.empty()) picked.input = buffer->number;  // a body's arguments are none of the program's
            return {};
        }
        const std::optional<EqnPath> path = parsed(buffer->eqn);
        // Under another policy the plan is of another program, whose numbers mean nothing here.
        if (buffer->maker != nullptr) {
            const Mark mark{buffer->source->summary(), buffer->maker, buffer->made};
            if (path && in.program.mark_at(*path) == mark)
                picked.program = path;
            else
                return Place{buffer->source->summary(), mark.primitive, mark.result};
        }
    }
    return {};
}

Picked Correspondence::complete(Picked picked) const {
    Index& in = *index_;
    const bool from_buffer = picked.buffer && !picked.residual;
    const std::optional<Place> place = place_of(picked);
    const ResidualRow* row = in.stages.find(picked.residual);
    if (picked.input >= 0 || (row != nullptr && row->input >= 0)) {
        complete_input(picked);
        return picked;
    }
    std::optional<Occurrence> found;
    if (place) found = Occurrence{{place->summary, place->primitive, place->result}, 0};
    const auto take = [&](const std::optional<EqnPath>& path, MarkIndex& index) {
        if (!found && path) found = index.occurrence_at(*path);
    };
    if (row != nullptr) take(in.computed(*row), in.known);
    take(picked.known, in.known);
    take(picked.program, in.program);
    take(picked.region, in.region);
    take(picked.unknown, in.unknown);
    if (!found) return picked;
    const auto fill = [&](std::optional<EqnPath>& path, MarkIndex& index) {
        if (!path) path = index.find(*found);
    };
    fill(picked.program, in.program);
    fill(picked.region, in.region);
    fill(picked.known, in.known);
    fill(picked.unknown, in.unknown);
    if (!picked.residual && picked.known)
        picked.residual = in.residual_where([text = to_text(*picked.known)](const ResidualRow& r) { return r.equation == text; });
    if (!picked.residual && picked.known && !picked.known->jaxpr.steps.empty())
        picked.residual = in.residual_where([&](const ResidualRow& r) { return in.computed(r) == picked.known; });
    if (!picked.residual && picked.known)
        picked.residual = in.residual_where([&](const ResidualRow& r) {
            const std::optional<EqnPath> copy = r.on_host ? parsed(r.equation) : std::nullopt;
            return copy && in.known.moved_by(*copy) == picked.known;
        });
    if (!picked.residual && picked.known && from_buffer) picked.residual = saved_in_memory_of(*picked.known);
    if (!picked.buffer) picked.buffer = buffer_of(picked, {found->mark.place, found->mark.primitive, found->mark.result}, found->number);
    return picked;
}

/// The residual that is a name of this equation's result, a cast of it to its own precision, or computed in its place: it lies in the same
/// memory.
std::optional<ResidualId> Correspondence::saved_in_memory_of(const EqnPath& known) const {
    return index_->residual_where([&](const ResidualRow& row) {
        std::optional<EqnPath> at = parsed(row.equation);
        if (at && !index_->known.mark_at(*at)) at.reset();
        for (int hop = 0; at && hop < kHops; ++hop, at = index_->known.in_place_of(*at))
            if (*at == known) return true;
        return false;
    });
}

std::optional<BufferId> Correspondence::buffer_laid_out(const Picked& picked) const {
    std::optional<EqnPath> at = picked.program;
    if (at && !index_->program.mark_at(*at)) at.reset();
    for (int hop = 0; at && hop < 2 * kHops; ++hop, at = index_->program.same_value_as(*at)) {
        const std::int64_t bytes = index_->program.mark_at(*at)->result->bytes();
        const auto found =
            index_->buffer_where([&, text = to_text(*at)](const PlannedBuffer& b) { return b.eqn == text && b.bytes == bytes; });
        if (found) return found;
    }
    return {};
}

std::optional<BufferId> Correspondence::buffer_of(const Picked& picked, const Place& place, std::size_t number) const {
    // What a name or a cast to its own precision gives lies in the memory of its operand.
    std::optional<EqnPath> at = picked.program;
    if (at && !index_->program.mark_at(*at)) at.reset();
    const auto before = [&](const EqnPath& path) {
        return picked.residual ? index_->program.in_place_of(path) : index_->program.renamed_by(path);
    };
    for (int hop = 0; at && hop < kHops; ++hop, at = before(*at)) {
        const std::string text = to_text(*at);
        const auto exact = index_->buffer_where([&](const PlannedBuffer& b) { return b.eqn == text && b.made == place.result; });
        if (exact) return exact;
    }
    // Kernels lay out what they make: the memory of a transposed product is the product's.
    if (const std::optional<BufferId> laid_out = buffer_laid_out(picked)) return laid_out;
    // Of several equations that share the mark the third has the third buffer, as in the other jaxprs.
    if (index_->stages.plan == nullptr) return {};
    std::vector<int> fitting;
    const std::vector<PlannedBuffer>& buffers = index_->stages.plan->buffers;
    for (std::size_t b = 0; b < buffers.size(); ++b)
        if (buffers[b].source->summary() == place.summary && buffers[b].made == place.result && buffers[b].maker == place.primitive)
            fitting.push_back(static_cast<int>(b));
    if (fitting.empty()) return {};
    number = std::min(number, fitting.size() - 1);
    return id_of(*index_->stages.plan, fitting[number]);
}

}  // namespace jaxscope
