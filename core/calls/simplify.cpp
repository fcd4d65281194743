// SPDX-License-Identifier: Apache-2.0
#include "calls/simplify.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "ir/interpret.h"
#include "ir/primitive.h"
#include "lax/primitives.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

constexpr std::int64_t kMaxEquations = 10'000'000;

bool is_one_of(const Primitive* p, std::initializer_list<const Primitive*> primitives) {
    return std::find(primitives.begin(), primitives.end(), p) != primitives.end();
}

/// An application up to the values that it is applied to.
struct Application {
    const Primitive* prim;
    ParamsRef params;
    Values in;
    Avals out;
    friend bool operator==(const Application&, const Application&) = default;
};
struct ApplicationHash {
    std::size_t operator()(const Application& a) const {
        std::size_t h = std::hash<const void*>()(a.prim) ^ (a.params->hash() << 1);
        for (const Value v : a.in) h = h * 1099511628211u + v.raw();
        return h;
    }
};

class Simplifier {
public:
    JaxprPtr whole(const JaxprPtr& j) {
        if (const auto seen = done_.find(j.get()); seen != done_.end()) return seen->second;
        Body body;
        const Values in = body.b.add_signature(*j);
        const JaxprPtr built = body.b.finish(walk(body, *j, in), j->name);
        return done_[j.get()] = dce_jaxpr(built, std::vector<bool>(built->outvars.size(), true), true).jaxpr;
    }

private:
    struct Body {
        JaxprBuilder b;
        std::unordered_map<Application, Values, ApplicationHash> seen;
    };

    /// `in`: constants, then inputs.
    Values walk(Body& body, const Jaxpr& j, const Values& in) {
        Interpreter run(j, {.builder = &body.b}, LiteralAsValue(), Value());
        run.bind_all(in);
        return run.forward([&](const Eqn& e, const Values& args) { return apply(body, j, e, args); });
    }

    Values apply(Body& body, const Jaxpr& j, const Eqn& e, const Values& in) {
        if (e.prim->flow == Flow::Call && e.params->jaxprs().size() == 1) return inlined(body, *e.params->jaxprs().front(), in);
        if (changes_nothing(j, e)) return in;
        const ParamsRef params = map_jaxprs(e.params, [&](const JaxprPtr& s) { return whole(s); });
        const Avals out = j.out_avals(e);
        const bool merges = e.effects.empty() && !e.params->holds_jaxpr() && !is_one_of(e.prim, {&kOptimizationBarrier, &kName});
        if (!merges) return body.b.emit(*e.prim, in, params, out, e.effects);
        Application key{e.prim, params, in, out};
        if (const auto seen = body.seen.find(key); seen != body.seen.end()) return seen->second;
        return body.seen[std::move(key)] = body.b.emit(*e.prim, in, params, out, e.effects);
    }

    Values inlined(Body& body, const Jaxpr& callee, const Values& in) {
        if (static_cast<std::int64_t>(body.b.num_eqns()) > kMaxEquations)
            throw Error(ErrorCode::LimitExceeded, "expected at most ten million equations after inlining, found more");
        Values all = constants_of(body.b, callee);
        all.insert(all.end(), in.begin(), in.end());
        return walk(body, callee, all);
    }

    /// The result is the operand: same shape and type, whatever the parameters say.
    static bool changes_nothing(const Jaxpr& j, const Eqn& e) {
        if (e.n_in != 1 || e.n_out != 1 || !is_one_of(e.prim, {&kConvertElementType, &kBroadcastInDim, &kReshape})) return false;
        const Attr* dimensions = e.params->find("dimensions");
        return j.aval(j.inputs(e)[0]) == j.aval(j.output(e, 0)) && (!dimensions || dimensions->is_none());
    }

    std::unordered_map<const Jaxpr*, JaxprPtr> done_;
};

}  // namespace

JaxprPtr simplify(const JaxprPtr& j) { return Simplifier().whole(j); }

}  // namespace jaxscope
