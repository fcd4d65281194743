// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/steps.h"

#include <unordered_map>

#include "base/checked.h"
#include "jit/plan/arena.h"

namespace jaxscope::exec {

namespace {

/// Products of one kind share their call: the layers of a model are alike, and what a library prepares for one takes kilobytes.
class SharedProducts {
public:
    LibraryCallPtr call(const Node& n, int threads) {
        if (!std::holds_alternative<DotKernel>(n.spec()->kind)) return make_library_call(n.op(), *n.spec(), n.layouts, threads);
        const auto [first, last] = made_.equal_range(hash(n.op()));
        for (auto i = first; i != last; ++i)
            if (alike(*i->second.node, n)) return i->second.call;
        LibraryCallPtr call = make_library_call(n.op(), *n.spec(), n.layouts, threads);
        made_.emplace(hash(n.op()), Made{&n, call});
        return call;
    }

private:
    struct Made {
        const Node* node;
        LibraryCallPtr call;
    };
    static std::size_t hash(const Op& op) {
        std::size_t h = std::hash<const void*>()(op.prim);
        for (const Avals* avals : {&op.in, &op.out})
            for (const AvalRef& a : *avals)
                for (const std::int64_t d : a->shape) h = h * 1000003 + static_cast<std::size_t>(d);
        return h;
    }
    static bool alike(const Node& a, const Node& b) {
        return a.op().prim == b.op().prim && a.op().in == b.op().in && a.op().out == b.op().out && a.op().params == b.op().params &&
               a.layouts == b.layouts && std::get<DotKernel>(a.spec()->kind) == std::get<DotKernel>(b.spec()->kind);
    }
    std::unordered_multimap<std::size_t, Made> made_;
};

LibraryCallPtr make_call(SharedProducts& products, const Node& n, int threads) {
    try {
        return products.call(n, threads);
    } catch (Error& e) {
        e.at(n.source.loc()).in("compiling eqn " + path_of(n) + ": " + n.op().prim->name);
        throw;
    }
}

std::shared_ptr<const Kernel> checked_kernel(const Kernel& k) {
    auto out = std::make_shared<Kernel>(k);
    out->checked = true;
    return out;
}

}  // namespace

std::vector<Step> make_steps(const Graph& g, const std::vector<Unit>& units, const ComputationOptions& options, const PlanBody& plan_body) {
    SharedProducts products;
    std::vector<Step> steps;
    steps.reserve(units.size());
    for (const Unit& u : units) {
        const Node& n = g.nodes[options.target ? u.nodes.back() : u.nodes[0]];
        Step s;
        s.barrier = !u.kernel && n.kind == NodeKind::Barrier;
        s.thunk.nodes = u.nodes;
        s.reads = u.reads;
        s.writes = u.writes;
        if (u.kernel) {
            s.thunk.kernel = options.guarded ? checked_kernel(*u.kernel) : u.kernel;
            s.thunk.scratch_each = u.kernel->scratch_bytes;
            s.scratch = checked_mul(s.thunk.scratch_each, options.threads);
        } else if (options.target && n.bodies.empty()) {
            s.thunk.kind = n.kind == NodeKind::Library ? Thunk::Kind::Library : Thunk::Kind::Kernel;  // nobody runs it
        } else if (n.kind == NodeKind::Library) {
            s.thunk.kind = Thunk::Kind::Library;
            s.thunk.library = make_call(products, n, options.threads);
            s.scratch = s.thunk.library->scratch_bytes();
        } else if (!s.barrier) {
            s.scratch = prepare_loop(s.thunk, n, plan_body, options.guarded ? kGuardBytes : 64);
        }
        steps.push_back(std::move(s));
    }
    return steps;
}

}  // namespace jaxscope::exec
