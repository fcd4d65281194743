// SPDX-License-Identifier: Apache-2.0
// Parts of arrays, and little work on them, that one join alone reads (jnp.roll, rotary embeddings, the gradients of both): it chooses what
// it reads, and takes it from the arrays themselves. They stay in memory until then, so most of each has to be read there, or somebody gave
// it.
#include "jit/graph/fuse_groups.h"
#include "jit/kernels/library.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr int kMostSteps = 4;           ///< from a part of an array to the join that reads it
constexpr std::size_t kMostUsers = 16;  ///< of what lies between: all of them are followed
constexpr int kMostOfAStep = 3;         ///< scalar operations: what joins read is computed for each of their operands

bool is_part(const Node& n) { return n.op().prim == &kSlice || n.op().prim == &kRev; }
bool joins(const Node& n) { return n.kind == NodeKind::Element && is_join(n.op()); }

}  // namespace

bool Groups::is_joined_where_read(std::uint32_t i) const {
    const std::uint32_t join = join_behind(i, i, kMostSteps);
    const Node& n = g_.nodes[i];
    if (join == kNone || !is_part(n)) return join != kNone;
    const ValueId whole = g_.root(n.in[0]);
    if (g_.values[whole].kind != GraphValue::Kind::Result || is_output_[whole]) return true;
    std::int64_t bytes = 0;
    for (const ValueId v : g_.nodes[join].in) bytes += bytes_read_of(whole, v, kMostSteps);
    return 2 * bytes >= g_.bytes(whole);
}

/// The join to which all comes that reads node i, itself element by element; kNone where something else does. Nodes before `placed` have
/// been placed.
std::uint32_t Groups::join_behind(std::uint32_t i, std::uint32_t placed, int steps) const {
    const Node& n = g_.nodes[i];
    if (steps == 0 || n.kind != NodeKind::Element || is_output_[n.out[0]] || users_[n.out[0]].size() > kMostUsers) return kNone;
    std::uint32_t join = kNone;
    for (const std::uint32_t u : users_[n.out[0]]) {
        const std::uint32_t found = joins(g_.nodes[u]) ? u : join_behind(u, placed, steps - 1);
        if (found == kNone || (join != kNone && found != join)) return kNone;
        join = found;
    }
    return join != kNone && is_little_work(n, placed, g_.nodes[join].op()) ? join : kNone;
}

/// On parts, and one array more at most besides what is small. Of what comes after `placed` we don't know yet.
bool Groups::is_little_work(const Node& n, std::uint32_t placed, const Op& join) const {
    if (is_part(n)) return true;
    int arrays = 0, parts = joins_in_rows(join);  // which computes nothing that it doesn't choose
    for (std::size_t k = 0; k < n.in.size(); ++k) {
        const IndexMap::Access access = n.map().operands[k].access;
        if (access == IndexMap::Access::General && !is_join(n.op())) return false;
        if (access == IndexMap::Access::None || g_.values[n.in[k]].kind == GraphValue::Kind::Literal) continue;
        if (access == IndexMap::Access::Broadcast) continue;
        const std::uint32_t p = direct_producer(n.in[k]);
        const bool in_memory = p == kNone || (p < placed && !on_demand(p));
        ++(in_memory ? arrays : parts);
    }
    return arrays <= 1 && parts > 0 && (is_join(n.op()) || n.map().cost <= kMostOfAStep);
}

/// Bytes of `whole` that `v` is made of, part by part.
std::int64_t Groups::bytes_read_of(ValueId whole, ValueId v, int steps) const {
    const std::uint32_t p = steps == 0 ? kNone : direct_producer(v);
    if (p == kNone || g_.nodes[p].kind != NodeKind::Element) return 0;
    const Node& n = g_.nodes[p];
    if (is_part(n)) return g_.root(n.in[0]) == whole ? g_.bytes(v) : 0;
    std::int64_t bytes = 0;
    for (const ValueId operand : n.in) bytes += bytes_read_of(whole, operand, steps - 1);
    return bytes;
}

bool Groups::needs_rows(const Node& n) const {
    if (!joins(n)) return false;
    const auto moves = [](const IndexMap::Operand& o) {
        return o.access == IndexMap::Access::General || o.access == IndexMap::Access::Identity;
    };
    return joins_in_rows(n.op()) || std::ranges::any_of(n.in, [&](ValueId v) {
               const std::uint32_t p = direct_producer(v);
               return on_demand(p) && std::ranges::any_of(g_.nodes[p].map().operands, moves);
           });
}

}  // namespace jaxscope::exec
