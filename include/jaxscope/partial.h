// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.tree_util.Partial: a function with some of its arguments, which are the leaves of a tree.
#include <jaxscope/pytree.h>

namespace jaxscope::jax {

/// `Partial(f, x)(y)` is f(x, y). It goes through jit, grad and vmap as an argument: what it holds is traced, the function is part of the
/// tree's type.
template <class F, class... A>
class Partial {
public:
    Partial() = default;
    explicit Partial(F f, A... a) : func{{f}}, args(std::move(a)...) {
        static_assert(std::is_empty_v<F> || std::is_pointer_v<F>, "Partial: the function holds values; give them to Partial, behind it");
    }
    template <class... More>
    auto operator()(const More&... more) const {
        return std::apply([&](const auto&... a) { return func.value.function(a..., more...); }, args);
    }
    struct Function {
        F function;
        friend bool operator==(const Function& a, const Function& b) {
            if constexpr (std::is_pointer_v<F>)
                return a.function == b.function;
            else
                return true;
        }
    };
    JAXSCOPE_PYTREE(Partial, func, args)

    Static<Function> func;
    std::tuple<A...> args;
};
template <class F, class... A>
Partial(F, A...) -> Partial<F, typename std::conditional<detail::AnyNumber<A>, Array, A>::type...>;
namespace tree_util {
using jax::Partial;
}

}  // namespace jaxscope::jax
