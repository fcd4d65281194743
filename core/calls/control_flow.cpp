// SPDX-License-Identifier: Apache-2.0
#include "calls/control_flow.h"

#include <algorithm>
#include <numeric>

#include "ir/types/manual_axes.h"
#include "ir/types/type_mesh.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/vary.h"

namespace jaxscope {

Attr to_attr(const std::vector<JaxprPtr>& v) {
    Attrs items;
    for (const JaxprPtr& j : v) items.emplace_back(Attr::JaxprRef{j, true});
    return Attr::tuple(std::move(items));
}
void from_attr(const Attr& a, std::vector<JaxprPtr>& v) {
    const Attr::Seq* s = a.get_seq();
    if (!s) wrong_attr(a, "a tuple of jaxprs");
    v.clear();
    for (const Attr& item : s->items) {
        Attr::JaxprRef ref;
        from_attr(item, ref);
        v.push_back(std::move(ref.jaxpr));
    }
}

Flags either(Flags a, const Flags& b) {
    JAXSCOPE_ASSERT(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
    return a;
}

std::vector<int> positions(std::size_t begin, std::size_t n) {
    std::vector<int> out(n);
    std::iota(out.begin(), out.end(), static_cast<int>(begin));
    return out;
}

std::vector<int> moved_to_back(const Flags& move) {
    std::vector<int> out;
    for (const bool moved : {false, true})
        for (std::size_t i = 0; i < move.size(); ++i)
            if (move[i] == moved) out.push_back(static_cast<int>(i));
    return out;
}

Values merged(const Flags& which, const Values& others, const Values& marked) {
    Values out;
    std::size_t next_marked = 0, next_other = 0;
    for (const bool w : which) out.push_back(w ? marked[next_marked++] : others[next_other++]);
    return out;
}

EffectSet joined_effects(const std::vector<JaxprPtr>& bodies) {
    EffectSet all;
    for (const JaxprPtr& j : bodies) all = all | j->effects;
    return all;
}

bool same_types(const Avals& a, const Avals& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](AvalRef x, AvalRef y) {
        if (!x->is_array() || !y->is_array()) return x->is_array() == y->is_array();
        return x->dtype == y->dtype && x->shape == y->shape;
    });
}

Avals called_avals(const Op& op, const Jaxpr& body) {
    const auto mismatch = [&](const std::string& expected, const std::string& found) {
        throw Error(ErrorCode::TypeMismatch, op.prim->name + ": expected " + expected + " as its body has, found " + found);
    };
    if (body.num_invars != op.in.size()) mismatch(std::to_string(body.num_invars) + " inputs", std::to_string(op.in.size()));
    for (std::uint32_t i = 0; i < body.num_invars; ++i)
        if (const AvalRef wanted = body.aval(body.invar(i)); wanted != op.in[i] && !same_types({wanted}, {op.in[i]}))
            mismatch("input " + std::to_string(i) + " of type " + to_text(wanted), to_text(op.in[i]));
    return body.out_avals();
}

std::string types_text(const Avals& avals) {
    std::string out;
    for (const AvalRef a : avals) out += (out.empty() ? "" : " ") + to_text(a);
    return out;
}

AvalRef stacked(AvalRef a, std::int64_t length) {
    Aval out = *a;
    out.shape.insert(out.shape.begin(), length);
    auto spec = explicit_spec(*a);
    if (spec.empty()) return out;
    spec.insert(spec.begin(), std::vector<Sym>());
    return with_explicit_spec(out, spec);
}
AvalRef unstacked(AvalRef a) {
    Aval out = *a;
    if (out.shape.empty()) throw Error(ErrorCode::TypeMismatch, "expected an array with an axis to scan over, found " + to_text(a));
    out.shape.erase(out.shape.begin());
    auto spec = explicit_spec(*a);
    if (spec.empty()) return out;
    spec.erase(spec.begin());
    return with_explicit_spec(out, spec);
}

Value empty_like(Builder& b, AvalRef a) {
    const Attr space = Attr::Enum{"MemorySpace", a->space == MemorySpace::Host ? "Host" : "Device"};
    Aval scalar;
    scalar.dtype = a->dtype;
    scalar.space = a->space;
    const Value v = b.emit(kEmpty2, {}, Params::make({{"dtype", Attr(a->dtype)}, {"memory_space", space}}), {AvalRef(scalar)}).front();
    return lax::broadcast_in_dim(b, lax::vary(b, v, varying_axes(*a)), a->shape, {}, explicit_sharding(*a));
}

}  // namespace jaxscope
