// SPDX-License-Identifier: Apache-2.0
// What a lowered call says of itself: JAX's args_info, in_tree, out_tree, out_info.
#include <fmt/core.h>

#include "ir/print/printer.h"
#include "pytree/tree.h"
#include "trace/jit/jit_state.h"
#include "trace/jit/shared_traces.h"

namespace jaxscope::jax {

std::string ArgInfo::str() const {
    return fmt::format("ArgInfo(_aval=ShapedArray({}{}), donated={})", aval, weak_type ? ", weak_type=True" : "",
                       donated ? "True" : "False");
}
std::string CallInfo::str() const {
    std::vector<std::string> leaves;
    for (const ArgInfo& a : args) leaves.push_back(a.str());
    return detail::tree_text(in_tree, leaves);
}

namespace detail {

CallInfo call_info(JitState& s, Call& call) {
    initialise();
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    std::vector<bool> fixed;
    for (const std::vector<Array>& f : call.fixed) fixed.push_back(!f.empty());
    CallInfo out{pair_of_trees(call, fixed), e->out_tree(), {}, {}};
    for (std::size_t i = 0; i < e->trace->key.avals.size(); ++i) {
        const AvalRef a = e->trace->key.avals[i];
        out.args.push_back({e->program->in_paths[i].str(), long_aval(a), a->weak_type, e->program->donated[i]});
        if (e->program->donated[i]) out.donate_argnums.push_back(static_cast<int>(i));
    }
    return out;
}

Called shapes_of(JitState& s, Call& call) {
    initialise();
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    Called out;
    for (const AvalRef a : e->traced().jaxpr->out_avals()) out.leaves.push_back(abstract_array(a, call.where));
    out.prototype = e->prototype();
    return out;
}

void clear_cache(JitState& s) {
    const std::lock_guard tracing(s.tracing);
    const std::unique_lock lock(s.lists);
    s.known.clear();
    for (const auto& e : s.entries) {
        // One that runs now, perhaps as the caller of this, keeps its code until it is dropped.
        const std::unique_lock running(e->running, std::try_to_lock);
        if (running.owns_lock()) e->executable.reset();
    }
    // A call that runs in another thread may still look at its entry: what was traced is kept, and found no more.
    s.cleared.insert(s.cleared.end(), s.entries.begin(), s.entries.end());
    s.entries.clear();
    if (s.function) SharedTraces::get().forget(s.function);
}

}  // namespace detail

}  // namespace jaxscope::jax
