// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ir/jaxpr.h"
#include "ir/params.h"
#include "ir/primitive.h"

namespace jaxscope {

/// Parameters of scan. The body takes constants, carries and one element of each scanned input; gives carries and an element per stacked
/// output. Older captures' `linear` and `_split_transpose` are dropped by every rule.
struct ScanParams {
    Attr::JaxprRef jaxpr;
    std::int64_t length = 0;
    std::int64_t num_carry = 0;
    std::int64_t num_consts = 0;
    bool reverse = false;
    Attr unroll;
    static constexpr auto kFields = std::tuple(field("jaxpr", &ScanParams::jaxpr), field("length", &ScanParams::length),
                                               field("num_carry", &ScanParams::num_carry), field("num_consts", &ScanParams::num_consts),
                                               field("reverse", &ScanParams::reverse), field("unroll", &ScanParams::unroll));
};

/// Parameters of while: operands are constants of the condition, constants of the body, carries.
struct WhileParams {
    std::int64_t body_nconsts = 0;
    Attr::JaxprRef body_jaxpr;
    std::int64_t cond_nconsts = 0;
    Attr::JaxprRef cond_jaxpr;
    static constexpr auto kFields =
        std::tuple(field("body_jaxpr", &WhileParams::body_jaxpr), field("body_nconsts", &WhileParams::body_nconsts),
                   field("cond_jaxpr", &WhileParams::cond_jaxpr), field("cond_nconsts", &WhileParams::cond_nconsts));
};

Attr to_attr(const std::vector<JaxprPtr>& v);
void from_attr(const Attr& a, std::vector<JaxprPtr>& v);

/// Parameters of cond: operands are the branch's index and the branches' inputs. `branches_platforms`, if any, is kept by all rules.
struct CondParams {
    std::vector<JaxprPtr> branches;
    static constexpr auto kFields = std::tuple(field("branches", &CondParams::branches));
};

extern const Primitive kScan, kWhile, kCond;

// ---- What the rules of these three share

using Flags = std::vector<bool>;

template <class V>
V part(const V& v, std::size_t begin, std::size_t n) {
    const auto first = v.begin() + static_cast<std::ptrdiff_t>(begin);
    return V(first, first + static_cast<std::ptrdiff_t>(n));
}
template <class V>
V rest(const V& v, std::size_t begin) {
    return part(v, begin, v.size() - begin);
}
template <class V, class... More>
V joined(V a, const More&... more) {
    (a.insert(a.end(), more.begin(), more.end()), ...);
    return a;
}
Flags either(Flags a, const Flags& b);
/// `n` positions from `begin` on.
std::vector<int> positions(std::size_t begin, std::size_t n);
/// The order that moves the inputs marked in `move` behind the others (JAX's move_binders_to_back).
std::vector<int> moved_to_back(const Flags& move);
/// Values of a list back in the places that `which` marks, the others from `others` (JAX's merge_lists).
Values merged(const Flags& which, const Values& others, const Values& marked);

/// Which carries are marked (nonzero, unknown, batched, used) when a body that carries the marks on has settled: `step(carry)` gives the
/// marks that come out of the body; marks only ever grow. The last call of `step` was made with the result.
template <class Step>
Flags carry_fixpoint(Flags carry, Step step) {
    const std::size_t rounds = carry.size() + 1;
    for (std::size_t i = 0; i < rounds; ++i) {
        const Flags out = step(carry);
        if (out == carry) return carry;
        carry = either(std::move(carry), out);
    }
    JAXSCOPE_ASSERT(!"a fixpoint of marks is reached after one round per carry");
    return carry;
}

/// The effects of several bodies, each once.
EffectSet joined_effects(const std::vector<JaxprPtr>& bodies);
/// Do avals fit as JAX's typecompat has it: equal but for weak types?
bool same_types(const Avals& a, const Avals& b);
std::string types_text(const Avals& avals);
/// Result types of an application that calls `body` with its inputs. Throws Error{TypeMismatch} when those aren't what the body takes.
Avals called_avals(const Op& op, const Jaxpr& body);

/// The aval with a leading axis of `length`, or without its leading axis.
AvalRef stacked(AvalRef a, std::int64_t length);
AvalRef unstacked(AvalRef a);

/// An array that holds whatever the memory holds, as scan and cond make it for what is written or never read.
Value empty_like(Builder& b, AvalRef a);

}  // namespace jaxscope
