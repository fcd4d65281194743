// SPDX-License-Identifier: Apache-2.0
#include "analysis/dumps/equations_in_xla.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/dumps/equation_index.h"
#include "analysis/equations/cost.h"
#include "analysis/equations/eqn_path.h"
#include "ir/compiled_operations.h"
#include "ir/primitive.h"
#include "lax/primitives.h"

namespace jaxscope {

namespace {

constexpr std::size_t kMostStored = 50;
/// Places that equations stand at, calls written out. XLA wrote them out too, so what it compiled has no more of them than fit into its
/// memory.
constexpr std::size_t kMostPlaces = 20'000'000;

/// What a primitive becomes where it becomes one instruction, of those that are dear enough for XLA to compute them once; else empty.
std::string_view only_opcode(const Primitive& p) {
    static const std::map<const Primitive*, std::string_view> kRenamed = {{&kDotGeneral, "dot"},  {&kConvGeneralDilated, "convolution"},
                                                                          {&kExp, "exponential"}, {&kSin, "sine"},
                                                                          {&kCos, "cosine"},      {&kPow, "power"}};
    static const std::set<const Primitive*> kSameName = {&kTanh, &kLog, &kErf, &kLogistic, &kRsqrt, &kSqrt};
    if (const auto renamed = kRenamed.find(&p); renamed != kRenamed.end()) return renamed->second;
    return kSameName.contains(&p) ? std::string_view(p.name.c_str()) : std::string_view();
}

using Rows = std::unordered_map<std::uint32_t, std::vector<CompiledOperations::Row>>;

/// An equation at its place.
struct Placed {
    const Jaxpr* body = nullptr;
    std::uint32_t eqn = 0;
    std::uint32_t place = 0;       ///< of its body
    std::uint32_t checkpoint = 0;  ///< the innermost one around it, counted from 1; 0: none
    bool present = false;
    double flops = 0;
    const Eqn& operator*() const { return body->eqns[eqn]; }
};
/// What the first and the second computation of a value have in common: the line, the primitive, the type.
using Key = std::tuple<const Primitive*, Sym, int, std::uint32_t>;
struct Computations {
    std::vector<Placed> first, second;
};
struct Checkpoint {
    std::uint32_t place = 0, eqn = 0;
    const Jaxpr* body = nullptr;
    RecomputationInXla recomputed;
    std::optional<std::vector<Sym>> scope;  ///< that all of what it recomputes stands in
};

class Reader {
public:
    Reader(const Program& program, const CompiledOperations& operations) : operations_(operations) {
        for (const CompiledOperations::Body& b : operations.bodies) {
            Rows& rows = rows_[b.jaxpr];
            for (const CompiledOperations::Row& r : b.rows) rows[r.eqn].push_back(r);
        }
        JaxprPath root;
        walk(*program.jaxpr, root, 0, {});
    }
    bool complete() const { return places_left_ > 0; }

    void recomputation(EquationsInXla& out) {
        std::map<std::tuple<const Primitive*, Sym, int>, LineInXla> lines;
        for (auto& [key, c] : computations_) {
            if (c.first.empty() || c.second.empty()) continue;
            LineInXla& line = lines[{std::get<0>(key), std::get<1>(key), std::get<2>(key)}];
            if (line.recomputed.asked == 0) line = named(c.second.front());
            judge(c, line.recomputed);
        }
        for (auto& [key, line] : lines) out.lines.push_back(std::move(line));
        std::stable_sort(out.lines.begin(), out.lines.end(),
                         [](const auto& a, const auto& b) { return a.recomputed.flops > b.recomputed.flops; });
        checkpoints(out);
    }
    void repeated(EquationsInXla& out) { out.repeated = std::move(repeated_); }
    void stored(EquationsInXla& out) {
        std::stable_sort(stored_.begin(), stored_.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
        if (stored_.size() > kMostStored) {
            out.stored_left_out = static_cast<std::int64_t>(stored_.size() - kMostStored);
            stored_.resize(kMostStored);
        }
        out.stored = std::move(stored_);
    }

private:
    /// In which pass what stands somewhere is computed; a pass inside of another one is that one's.
    struct Pass {
        bool differentiated = false, transposed = false, rematted = false;
        Pass in(NameStack stack) const {
            return {differentiated || stack.has_transform(stack_names::kJvp), transposed || stack.has_transform(stack_names::kTranspose),
                    rematted || stack.has_scope(stack_names::kRematted)};
        }
        const char* name() const { return rematted ? "recomputed" : transposed ? "backward" : differentiated ? "forward" : ""; }
    };
    void walk(const Jaxpr& body, JaxprPath& path, std::uint32_t checkpoint, Pass around) {
        const auto place = static_cast<std::uint32_t>(places_.size());
        places_.push_back(to_text(path));
        const auto found = rows_.find(places_.back());
        const std::set<std::uint32_t> products = found == rows_.end() ? std::set<std::uint32_t>() : products_of(body, found->second);
        for (std::uint32_t i = 0; i < body.eqns.size() && places_left_ > 0; ++i, --places_left_) {
            const Eqn& eqn = body.eqns[i];
            const Pass pass = around.in(eqn.source->name_stack);
            if (eqn.prim->calls()) {
                const std::uint32_t inside = eqn.prim->flow == Flow::Remat ? opened(body, i, place) : checkpoint;
                for (const SubJaxpr& sub : sub_jaxprs(eqn)) {
                    path.steps.push_back({i, sub.param, sub.index});
                    walk(*sub.jaxpr, path, inside, pass);
                    path.steps.pop_back();
                }
            }
            Placed p{&body, i, place, checkpoint, products.count(i) > 0};
            if (found != rows_.end())
                if (const auto rows = found->second.find(i); rows != found->second.end()) look_at(rows->second, p, pass);
            compute(p, pass);
        }
    }
    std::uint32_t opened(const Jaxpr& body, std::uint32_t eqn, std::uint32_t place) {
        checkpoints_.push_back({place, eqn, &body, {}});
        return static_cast<std::uint32_t>(checkpoints_.size());
    }
    /// Products whose instruction has the name of what moves their result on: XLA folds a transposition into the product before it.
    std::set<std::uint32_t> products_of(const Jaxpr& body, const Rows& rows) const {
        std::set<std::uint32_t> out;
        for (const auto& [eqn, of_eqn] : rows)
            for (const CompiledOperations::Row& r : of_eqn) {
                if (!computes_product(operations_.opcodes[r.opcode]) || eqn >= body.eqns.size()) continue;
                std::optional<std::uint32_t> at = eqn;
                while (at && body.eqns[*at].prim->product == Product::None && body.eqns[*at].n_in > 0) at = made_by(body, *at, 0);
                if (at && body.eqns[*at].prim->product != Product::None) out.insert(*at);
            }
        return out;
    }
    void look_at(const std::vector<CompiledOperations::Row>& rows, Placed& p, Pass pass) {
        StoredInXla stored;
        const std::string_view only = only_opcode(*(*p).prim);
        for (const CompiledOperations::Row& r : rows) {
            const std::string& opcode = operations_.opcodes[r.opcode];
            p.present = p.present || !operations_.moves_only[r.opcode];
            stored.results += r.stored;
            stored.bytes += r.bytes;
            if (r.count > 1 && opcode == only) {
                const LineInXla at = named(p);
                repeated_.push_back({at.equation, at.primitive, at.file, at.line, r.count});
            }
        }
        if (stored.bytes == 0) return;
        const LineInXla at = named(p);
        stored_.push_back({at.equation, at.primitive, at.file, pass.name(), at.line, stored.results, stored.bytes});
    }
    void compute(Placed& p, Pass pass) {
        const Eqn& eqn = *p;
        if (eqn.prim->calls() || (pass.transposed && !pass.rematted) || eqn.n_out == 0) return;
        const Frame* frame = eqn.source.user_frame();
        p.flops = cost_of(*p.body, eqn).flops;
        if (!frame || p.flops <= 0) return;
        if (pass.rematted && p.checkpoint > 0) narrow_scope(checkpoints_[p.checkpoint - 1], eqn.source->name_stack);
        Computations& c = computations_[{eqn.prim, frame->file, frame->line, p.body->aval(p.body->output(eqn, 0)).id()}];
        (pass.rematted ? c.second : c.first).push_back(p);
    }
    /// The backward pass meets blocks in the reverse order, and what stands in one in the same order.
    static void pair(Computations& c) {
        auto& again = c.second;
        std::vector<Placed> ordered;
        for (auto end = again.end(); end != again.begin();) {
            auto begin = end - 1;
            while (begin != again.begin() && (begin - 1)->checkpoint == begin->checkpoint) --begin;
            ordered.insert(ordered.end(), begin, end);
            end = begin;
        }
        again = std::move(ordered);
    }
    void judge(Computations& c, RecomputationInXla& line) {
        pair(c);
        const bool paired = c.first.size() == c.second.size();
        // Where the first computation is gone and the second is there, XLA merged them under the second one's name.
        auto gone = std::count_if(c.first.begin(), c.first.end(), [](const Placed& p) { return !p.present; });
        for (std::size_t i = 0; i < c.second.size(); ++i) {
            const Placed& p = c.second[i];
            const bool first = paired      ? c.first[i].present
                               : p.present ? gone-- <= 0
                                           : c.first.size() > static_cast<std::size_t>(std::max<std::ptrdiff_t>(gone, 0));
            RecomputationInXla one{
                1, p.present && first, p.present != first, !p.present && !first, p.flops, p.present && first ? p.flops : 0};
            add(line, one);
            if (p.checkpoint > 0) add(checkpoints_[p.checkpoint - 1].recomputed, one);
        }
    }
    static void add(RecomputationInXla& to, const RecomputationInXla& r) {
        to.asked += r.asked;
        to.kept += r.kept;
        to.merged += r.merged;
        to.removed += r.removed;
        to.flops += r.flops;
        to.flops_kept += r.flops_kept;
    }
    void checkpoints(EquationsInXla& out) {
        for (const Checkpoint& c : checkpoints_) {
            if (c.recomputed.asked == 0) continue;
            const Placed at{c.body, c.eqn, c.place};
            const LineInXla where = named(at);
            const auto alike = std::find_if(out.checkpoints.begin(), out.checkpoints.end(), [&](const CheckpointInXla& o) {
                return o.file == where.file && o.line == where.line && o.recomputed == c.recomputed;
            });
            CheckpointInXla& row = alike != out.checkpoints.end() ? *alike : out.checkpoints.emplace_back();
            row.file = where.file;
            row.line = where.line;
            row.recomputed = c.recomputed;
            row.equations.push_back(where.equation);
            std::string scope;
            for (const Sym name : c.scope.value_or(std::vector<Sym>())) scope += (scope.empty() ? "" : "/") + name.str();
            if (!scope.empty()) row.scopes.push_back(std::move(scope));
        }
    }
    /// The scopes that an equation of the recomputation stands in, and all before it did.
    void narrow_scope(Checkpoint& c, NameStack stack) {
        std::vector<Sym> scopes;
        for (const NameStack::Entry& e : stack.entries()) {
            if (e.name == stack_names::kRematted)
                scopes.clear();
            else if (!e.transform)
                scopes.push_back(e.name);
        }
        if (!c.scope) c.scope = scopes;
        const auto end = std::mismatch(c.scope->begin(), c.scope->end(), scopes.begin(), scopes.end()).first;
        c.scope->erase(end, c.scope->end());
    }
    LineInXla named(const Placed& p) const {
        LineInXla out;
        const Frame* frame = (*p).source.user_frame();
        out.primitive = (*p).prim->name.c_str();
        out.equation = (places_[p.place].empty() ? "" : places_[p.place] + "/") + std::to_string(p.eqn);
        out.file = frame ? frame->file.str() : "";
        out.line = frame ? frame->line : 0;
        return out;
    }

    const CompiledOperations& operations_;
    std::unordered_map<std::string, Rows> rows_;
    std::vector<std::string> places_;
    std::size_t places_left_ = kMostPlaces;
    std::map<Key, Computations> computations_;
    std::vector<Checkpoint> checkpoints_;
    std::vector<RepeatedInXla> repeated_;
    std::vector<StoredInXla> stored_;
};

EquationsInXla read(const Program& program, const XlaFacts& facts) {
    EquationsInXla out;
    out.target = facts.target;
    out.unknown = facts.operations->unknown;
    if (!out.unknown.empty()) return out;
    Reader reader(program, *facts.operations);
    if (!reader.complete()) {
        out.unknown = "with all calls written out the program has too many equations to be looked through";
        return out;
    }
    reader.recomputation(out);
    reader.repeated(out);
    reader.stored(out);
    return out;
}

}  // namespace

std::vector<EquationsInXla> equations_in_xla(const Program& program) {
    std::vector<EquationsInXla> out;
    if (program.xla.operations) out.push_back(read(program, program.xla));
    for (const XlaFacts& x : program.targets)
        if (x.operations) out.push_back(read(program, x));
    return out;
}

}  // namespace jaxscope
