// SPDX-License-Identifier: Apache-2.0
#include "analysis/stages/mapped_halves.h"

#include <algorithm>

#include "base/error.h"
#include "transforms/batch.h"

namespace jaxscope {

namespace {

static_assert(MarkedCall::kNotMapped == kNotMapped);
using Level = MarkedCall::Level;
using Axes = std::vector<int>;

[[noreturn]] void refuse(const std::string& found) {
    throw Error(ErrorCode::NoRule, "expected the differentiation, done anew, to be mapped by vmap as the captured one is, found " + found);
}

bool any_mapped(const Axes& axes) {
    return std::any_of(axes.begin(), axes.end(), [](int d) { return d != kNotMapped; });
}
Axes tail(const Axes& axes, std::size_t from) {
    return {axes.begin() + static_cast<std::ptrdiff_t>(std::min(from, axes.size())), axes.end()};
}
Axes head(const Axes& axes, std::size_t n) { return {axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(std::min(n, axes.size()))}; }

/// vmap with the first results' axes at `wanted`, the others' where they come to lie; `axes` takes those of all.
JaxprPtr mapped(const JaxprPtr& j, std::int64_t size, const Axes& in, const Axes& wanted, Axes& axes) {
    if (in.size() != j->num_invars || wanted.size() > j->outvars.size()) refuse("another number of inputs or results");
    axes = batch_jaxpr(j, size, in).out_dims;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (wanted[k] == kNotMapped && axes[k] != kNotMapped) refuse("a mapped result where that has an unmapped one");
        axes[k] = wanted[k];
    }
    return batch_jaxpr_axes(j, size, in, axes);
}

/// Are these the same vmap? JAX may remember a mapped body under another vmap of the same kind; then the residuals' axes tell.
bool same_vmap(const Level& forward, const Axes& made, const Level& backward, const Axes& taken) {
    return forward.size == backward.size && (forward.axis == backward.axis || (made == taken && any_mapped(made)));
}

}  // namespace

MappedForward map_forward(const JaxprPtr& forward, std::size_t results, const MarkedCall& call) {
    MappedForward out{forward, call.batch, {}};
    for (const Level& level : call.batch) {
        Axes axes;
        out.jaxpr = mapped(out.jaxpr, level.size, level.in, head(level.out, results), axes);
        out.residuals.push_back(tail(axes, results));
    }
    for (Level& level : out.batch) level.out = tail(level.out, results);
    return out;
}

JaxprPtr map_backward(const JaxprPtr& backward, const MappedForward& forward, std::size_t old_residuals, const MarkedCall& call) {
    const std::size_t others = call.jaxpr->num_invars - std::min<std::size_t>(call.jaxpr->num_invars, old_residuals);
    if (others > backward->num_invars) refuse("more cotangents than the function has outputs");
    const std::size_t residuals = backward->num_invars - others;
    JaxprPtr j = backward;
    std::size_t next = 0;  // the forward levels before it are dealt with
    const auto pass = [&](std::size_t to) {
        for (; next < to; ++next)
            if (any_mapped(forward.residuals[next])) refuse("a residual with an axis of a vmap that the backward pass isn't under");
    };
    for (const Level& level : call.batch) {
        const Axes taken = head(level.in, old_residuals);
        std::size_t at = next;
        while (at < forward.batch.size() && !same_vmap(forward.batch[at], forward.batch[at].out, level, taken)) ++at;
        Axes in(residuals, kNotMapped);
        if (at < forward.batch.size()) {
            pass(at);
            in = forward.residuals[next++];
        } else if (any_mapped(taken)) {
            refuse("residuals that a vmap maps in the backward pass alone");
        }
        const Axes cotangents = tail(level.in, old_residuals);
        in.insert(in.end(), cotangents.begin(), cotangents.end());
        Axes axes;
        j = mapped(j, level.size, in, level.out, axes);
    }
    pass(forward.batch.size());
    return j;
}

}  // namespace jaxscope
