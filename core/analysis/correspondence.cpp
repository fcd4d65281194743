#include "analysis/correspondence.h"

#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/intern.h"
#include "ir/primitive.h"

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

Mark mark_of(const Jaxpr& jaxpr, const Eqn& eqn) {
    return {eqn.source->summary, eqn.prim, eqn.n_out > 0 ? jaxpr.aval(jaxpr.output(eqn, 0)) : AvalRef{}};
}

/// Equations of a root jaxpr by mark, the first one of each; every distinct jaxpr is walked once, at its first place.
class MarkIndex {
public:
    explicit MarkIndex(const Jaxpr* root) : root_(root) {}
    std::optional<EqnPath> find(const Mark& mark) {
        build();
        const auto found = places_.find(mark);
        return found == places_.end() ? std::nullopt : std::optional(found->second);
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

private:
    void build() {
        if (built_ || root_ == nullptr) return;
        built_ = true;
        std::unordered_set<const Jaxpr*> seen{root_};
        std::vector<std::pair<const Jaxpr*, JaxprPath>> pending{{root_, {}}};
        for (std::size_t next = 0; next < pending.size(); ++next) {
            const auto [jaxpr, path] = pending[next];
            for (std::uint32_t i = 0; i < jaxpr->eqns.size(); ++i) {
                const Eqn& eqn = jaxpr->eqns[i];
                places_.try_emplace(mark_of(*jaxpr, eqn), EqnPath{path, i});
                if (!eqn.params->holds_jaxpr()) continue;
                for (const SubJaxpr& sub : sub_jaxprs(eqn)) {
                    if (!seen.insert(sub.jaxpr.get()).second) continue;
                    JaxprPath inner = path;
                    inner.steps.push_back({i, sub.param, sub.index});
                    pending.emplace_back(sub.jaxpr.get(), std::move(inner));
                }
            }
        }
    }
    const Jaxpr* root_;
    bool built_ = false;
    std::unordered_map<Mark, EqnPath, MarkHash> places_;
};

std::optional<EqnPath> parsed(const std::string& text) {
    try {
        if (!text.empty()) return parse_eqn_path(text);
    } catch (const Error&) {
    }
    return {};
}

}  // namespace

struct Correspondence::Index {
    MarkIndex program, region, known, unknown;
    const ResidualReport* residuals;
    const MemoryPlan* plan;
};

Correspondence::Correspondence(const Program& program, const Jaxpr* region, const SplitReport* split, const ResidualReport* residuals,
                               const MemoryPlan* plan)
    : index_(new Index{MarkIndex(program.jaxpr.get()), MarkIndex(region), MarkIndex(split != nullptr ? split->known.get() : nullptr),
                       MarkIndex(split != nullptr ? split->unknown.get() : nullptr), residuals, plan}) {}
Correspondence::~Correspondence() = default;

Picked Correspondence::complete(Picked picked) const {
    Index& in = *index_;
    if (picked.residual >= 0 && in.residuals != nullptr && static_cast<std::size_t>(picked.residual) < in.residuals->rows.size() &&
        !picked.region)
        picked.region = parsed(in.residuals->rows[static_cast<std::size_t>(picked.residual)].equation);
    std::optional<Mark> mark;
    const auto take = [&](const std::optional<EqnPath>& path, const MarkIndex& index) {
        if (!mark && path) mark = index.mark_at(*path);
    };
    take(picked.region, in.region);
    take(picked.program, in.program);
    take(picked.known, in.known);
    take(picked.unknown, in.unknown);
    if (!mark && picked.buffer >= 0 && in.plan != nullptr && static_cast<std::size_t>(picked.buffer) < in.plan->buffers.size()) {
        const PlannedBuffer& buffer = in.plan->buffers[static_cast<std::size_t>(picked.buffer)];
        if (!buffer.primitive.empty()) mark = Mark{buffer.source->summary, &primitive(buffer.primitive), buffer.aval};
    }
    if (!mark) return picked;
    const auto fill = [&](std::optional<EqnPath>& path, MarkIndex& index) {
        if (!path) path = index.find(*mark);
    };
    fill(picked.program, in.program);
    fill(picked.region, in.region);
    fill(picked.known, in.known);
    fill(picked.unknown, in.unknown);
    if (picked.residual < 0 && in.residuals != nullptr && picked.region) {
        const std::string text = to_text(*picked.region);
        for (std::size_t r = 0; r < in.residuals->rows.size() && picked.residual < 0; ++r)
            if (in.residuals->rows[r].equation == text) picked.residual = static_cast<int>(r);
    }
    if (picked.buffer < 0 && in.plan != nullptr) {
        for (std::size_t b = 0; b < in.plan->buffers.size() && picked.buffer < 0; ++b) {
            const PlannedBuffer& buffer = in.plan->buffers[b];
            if (buffer.source->summary == mark->place && buffer.aval == mark->result && buffer.primitive == Sym(mark->primitive->name))
                picked.buffer = static_cast<int>(b);
        }
    }
    return picked;
}

}  // namespace jaxscope
