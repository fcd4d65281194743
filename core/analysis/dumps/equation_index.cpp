// SPDX-License-Identifier: Apache-2.0
#include "analysis/dumps/equation_index.h"

#include <algorithm>

#include "analysis/equations/eqn_path.h"
#include "ir/primitive.h"

namespace jaxscope {

bool computes_product(std::string_view opcode) {
    return opcode == "dot" || opcode == "convolution" || opcode == "custom-call" || opcode == "ragged-dot" || opcode == "scaled-dot";
}
bool says_rematted(std::string_view op_name) { return op_name.find("rematted_computation") != std::string_view::npos; }
bool says_transposed(std::string_view op_name) { return op_name.find("transpose(") != std::string_view::npos; }

std::string_view primitive_in(std::string_view op_name) {
    op_name = op_name.substr(op_name.rfind(';') + 1);
    if (const std::size_t parameters = op_name.find('['); parameters != std::string_view::npos)
        op_name = op_name.substr(0, parameters);  // older JAX
    return op_name.substr(op_name.rfind('/') + 1);
}

namespace {

/// As JAX writes a jitted function's name into the op_names of what it holds; empty for other equations.
std::string call_name(const Eqn& eqn) {
    if (eqn.prim->flow != Flow::Call) return {};
    const std::vector<SubJaxpr> bodies = sub_jaxprs(eqn);
    return bodies.size() == 1 && !bodies[0].jaxpr->name.str().empty() ? "jit(" + bodies[0].jaxpr->name.str() + ")" : "";
}

}  // namespace

/// Each jaxpr is walked once, at its first place; how often it stands in the program with all calls written out is counted before.
struct EquationIndex::Walk {
    void count(const Jaxpr& body) {
        if (!seen.insert(&body).second) return;
        for (const Eqn& eqn : body.eqns)
            for (const SubJaxpr& sub : sub_jaxprs(eqn)) count(*sub.jaxpr);
        callees_first.push_back(&body);
    }
    void counts(const Jaxpr& root) {
        count(root);
        times[&root] = 1;
        for (auto body = callees_first.rbegin(); body != callees_first.rend(); ++body)
            for (const Eqn& eqn : (*body)->eqns)
                for (const SubJaxpr& sub : sub_jaxprs(eqn)) {
                    std::int64_t& n = times[sub.jaxpr.get()];
                    n = std::min(n + times[*body], kMost);
                }
        seen.clear();
    }
    void entries(const Jaxpr& body, JaxprPath& path, bool rematted, bool transposed) {
        if (!seen.insert(&body).second) return;
        for (std::size_t i = 0; i < body.eqns.size(); ++i) equation(body.eqns[i], i, times[&body], path, rematted, transposed);
    }
    void equation(const Eqn& eqn, std::size_t i, std::int64_t n, JaxprPath& path, bool rematted, bool transposed) {
        const NameStack stack = eqn.source->name_stack;
        rematted = rematted || stack.has_scope(stack_names::kRematted);
        transposed = transposed || stack.has_transform(stack_names::kTranspose);
        if (const Frame* frame = eqn.source.user_frame(); frame && frame->line > 0) {
            index.files_.insert(frame->file.str());
            index.by_place_[{frame->file.str(), frame->line}].push_back(
                {eqn.prim, to_text(EqnPath{path, static_cast<std::uint32_t>(i)}), call_name(eqn), rematted, transposed, n});
        }
        for (const SubJaxpr& sub : sub_jaxprs(eqn)) {
            path.steps.push_back({static_cast<std::uint32_t>(i), sub.param, sub.index});
            entries(*sub.jaxpr, path, rematted, transposed);
            path.steps.pop_back();
        }
    }
    static constexpr std::int64_t kMost = 1'000'000'000;
    EquationIndex& index;
    std::unordered_set<const Jaxpr*> seen{};
    std::vector<const Jaxpr*> callees_first{};
    std::unordered_map<const Jaxpr*, std::int64_t> times{};
};

EquationIndex::EquationIndex(const Program& program) {
    for (const SourceFile& f : program.files)
        if (f.project) files_.insert(f.path);
    Walk walk{*this};
    walk.counts(*program.jaxpr);
    JaxprPath root;
    walk.entries(*program.jaxpr, root, false, false);
}

const std::string& EquationIndex::own_file(const std::string& file) const {
    const auto [known, fresh] = own_files_.try_emplace(file);
    if (!fresh) return known->second;
    for (const std::string& own : files_) {
        const bool ends =
            file.size() >= own.size() && file.ends_with(own) && (file.size() == own.size() || file[file.size() - own.size() - 1] == '/');
        if (ends && own.size() > known->second.size()) known->second = own;
    }
    return known->second;
}

OwnPlace EquationIndex::place(const CompilerDump& dump, int frame) const {
    for (std::size_t steps = 0; frame >= 0 && steps <= dump.frames.size(); ++steps) {
        const DumpFrame& f = dump.frames[static_cast<std::size_t>(frame)];
        if (const std::string& own = own_file(f.file); !own.empty()) return {own, f.line};
        frame = f.caller;
    }
    return {};
}

EquationIndex::Found EquationIndex::find(const OwnPlace& place, std::string_view op_name) const {
    std::string key = place.file + ':' + std::to_string(place.line) + ' ';
    const auto [known, fresh] = found_.try_emplace(key.append(op_name));
    if (fresh) known->second = look_up(place, op_name);
    return known->second;
}

EquationIndex::Found EquationIndex::look_up(const OwnPlace& place, std::string_view op_name) const {
    const auto at = by_place_.find({place.file, place.line});
    if (at == by_place_.end() || op_name.empty()) return {};
    const std::string_view primitive = primitive_in(op_name);
    std::vector<const Entry*> pointers, left;
    for (const Entry& e : at->second) pointers.push_back(&e);
    const auto those = [&](auto test) {
        if (left.empty()) std::copy_if(pointers.begin(), pointers.end(), std::back_inserter(left), test);
    };
    those([&](const Entry* e) { return primitive == e->primitive->name.c_str(); });
    // What stands in a function of a library has that function's lines: its call stands here.
    std::size_t innermost = 0;
    for (const Entry* e : pointers)
        if (!e->call.empty())
            if (const std::size_t named = op_name.rfind(e->call); named != std::string_view::npos)
                innermost = std::max(innermost, named + 1);
    those([&](const Entry* e) { return innermost > 0 && !e->call.empty() && op_name.substr(innermost - 1).starts_with(e->call); });
    // A loop's own work: its counter, what it stacks.
    those([&](const Entry* e) {
        return (e->primitive->flow == Flow::Scan || e->primitive->flow == Flow::While) && op_name.find("/while") != std::string_view::npos;
    });
    // The same line in several passes: those that the name speaks of, where there are such.
    const auto narrow = [&](auto test) {
        std::vector<const Entry*> fewer;
        std::copy_if(left.begin(), left.end(), std::back_inserter(fewer), test);
        if (!fewer.empty()) left = std::move(fewer);
    };
    narrow([&](const Entry* e) { return e->rematted == says_rematted(op_name); });
    narrow([&](const Entry* e) { return e->transposed == says_transposed(op_name); });
    if (left.empty()) return {};
    Found found{left.front()->path, 0};
    for (const Entry* e : left) found.count += e->times;
    return found;
}

std::vector<EquationIndex::Recomputed> EquationIndex::recomputed_products() const {
    std::vector<Recomputed> out;
    for (const auto& [place, entries] : by_place_) {
        std::map<std::string, Recomputed> counts;
        for (const Entry& e : entries)
            if (e.primitive->product != Product::None) {
                Recomputed& r = counts[e.primitive->name.c_str()];
                (e.rematted ? r.count : r.needed) += e.times;
            }
        for (auto& [primitive, r] : counts)
            if (r.count > 0) out.push_back({primitive, {place.first, place.second}, r.count, r.needed});
    }
    return out;
}

}  // namespace jaxscope
