// SPDX-License-Identifier: Apache-2.0
#include "jit/run/look_watch.h"

#include <algorithm>
#include <utility>

namespace jaxscope::exec {

namespace {

const Node* onlooker(const Computation& c, const Thunk& t) {
    if (t.kind != Thunk::Kind::Library || t.nodes.size() != 1) return nullptr;
    const Node& n = c.graph->nodes[t.nodes[0]];
    return only_looks(n.op()) ? &n : nullptr;
}

}  // namespace

void LookWatch::after(const Computation& c, std::size_t step) {
    const Thunk& t = c.thunks[step];
    const Node* n = onlooker(c, t);
    if (!n) return;
    Seen& seen = seen_[&t];
    ++seen.calls;
    const std::int64_t order = order_++;
    std::vector<ArrayPtr> values = take_operands_seen();
    std::int64_t bytes = 0;
    for (const ArrayPtr& a : values) bytes += static_cast<std::int64_t>(a->data.size());
    if (seen.kept.size() >= Onlooker::kMostKept || bytes_ + bytes > Onlooker::kMostBytes) return;
    bytes_ += bytes;
    seen.kept.push_back({order, std::move(values)});
}

void LookWatch::add(const Computation& c, std::vector<Onlooker>& out) {
    for (const Thunk& t : c.thunks) {
        for (const ComputationPtr& body : t.bodies) add(*body, out);
        const Node* n = onlooker(c, t);
        if (!n) continue;
        Seen& seen = seen_[&t];
        if (std::exchange(seen.listed, true)) continue;  // a body that two loops share
        out.push_back({path_of(*n), n->op().prim->name.c_str(), n->op().params, n->source, seen.calls, std::move(seen.kept)});
    }
}

std::vector<Onlooker> LookWatch::take(const Computation& c) {
    std::vector<Onlooker> out;
    add(c, out);
    return out;
}

bool has_onlookers(const Computation& c) {
    return any_step(c, [](const Thunk& t, const Computation& in) { return onlooker(in, t) != nullptr; });
}

}  // namespace jaxscope::exec
