// SPDX-License-Identifier: Apache-2.0
#pragma once
// equinox.internal.while_loop: a loop whose number of steps isn't known and that can be differentiated backwards. Not part of jax.h.
#include <jaxscope/control_flow.h>
#include <jaxscope/filter.h>

namespace jaxscope::jax::eqxi {

struct LoopOptions {
    std::string kind = {};          ///< "lax", "checkpointed" or "bounded"
    std::int64_t max_steps = -1;    ///< the loop ends there; -1: it may go on
    std::int64_t checkpoints = -1;  ///< so many states are kept for the backward pass; -1: as `max_steps` needs
    std::int64_t base = 16;         ///< of "bounded": steps in a stretch that is skipped as a whole
};

}  // namespace jaxscope::jax::eqxi

namespace jaxscope::jax::detail {
/// `buffers` per leaf: written once at each place and never copied for the backward pass.
std::vector<Array> differentiable_loop(Call& condition, Call& body, const std::vector<Array>& init, const std::vector<bool>& buffers,
                                       const eqxi::LoopOptions& options);
}  // namespace jaxscope::jax::detail

namespace jaxscope::jax::eqxi {

/// As lax.while_loop. `buffers` gives those parts of the state that are only ever written to, each place once, and read where they were
/// written: `[](auto& state) -> auto& { return state.saved; }`, or a tuple of references (std::tie).
template <class P, class F, class I, class B>
auto while_loop(const P& condition, const F& body, const I& first, const B& buffers, const LoopOptions& options, Where where = {}) {
    const auto& init = detail::as_carry(first);
    using C = std::remove_cvref_t<decltype(init)>;
    C state(init);
    std::vector<const Array*> marked;
    const auto mark = [&](const auto& node) { detail::each_leaf<false>(node, [&](const Array& a) { marked.push_back(&a); }); };
    if constexpr (std::is_lvalue_reference_v<decltype(buffers(state))>)
        mark(buffers(state));
    else
        std::apply([&](const auto&... node) { (mark(node), ...); }, buffers(state));
    std::vector<bool> is_buffer;
    detail::each_leaf<false>(state, [&](const Array& a) {
        bool found = false;
        for (const Array* m : marked) found = found || m == &a;
        is_buffer.push_back(found);
    });
    detail::CallOf test(condition, init);
    detail::CallOf call(body, init);
    test.where = call.where = where;
    static_assert(std::is_same_v<typename decltype(call)::Result, C>, "while_loop: the body must return what it takes");
    const std::vector<Array> flat = detail::differentiable_loop(test, call, tree_leaves(init), is_buffer, options);
    const Array* at = flat.data();
    return detail::with_leaves(init, at);
}
template <class P, class F, class I>
auto while_loop(const P& condition, const F& body, const I& init, const LoopOptions& options, Where where = {}) {
    return while_loop(
        condition, body, init, [](auto&) { return std::tuple<>(); }, options, where);
}

}  // namespace jaxscope::jax::eqxi
