// SPDX-License-Identifier: Apache-2.0
#include "transforms/dce.h"

#include <algorithm>

#include "ir/interpret.h"
#include "ir/primitive.h"
#include "ir/transform_cache.h"
#include "transforms/eqn_tape.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

struct DceKey {
    std::vector<bool> used_outputs, instantiate;
    friend bool operator==(const DceKey&, const DceKey&) = default;
};
/// What the cache keeps. Where nothing changes it is a jaxpr of its own all the same, of the same variables: so it is in JAX, and the text
/// of a program tells which calls went through here.
struct Entry {
    JaxprPtr jaxpr;
    std::vector<bool> used_inputs;
};

class Dce {
public:
    /// `only_of_bodies`: drops what `without_unused_of_bodies` does, and leaves calls as they are.
    Dce(const Jaxpr& j, const DceKey& key, bool only_of_bodies = false)
        : j_(j), key_(key), used_(j.num_vars(), false), only_of_bodies_(only_of_bodies) {}

    Entry run() {
        tape_.add_vars_of(j_);
        for (std::size_t i = 0; i < j_.outvars.size(); ++i)
            if (key_.used_outputs[i]) use(j_.outvars[i]);
        EqnWalk(j_, {}).backward([&](const Eqn& e) { visit(e); });
        Entry out;
        for (std::uint32_t i = 0; i < j_.num_invars; ++i) out.used_inputs.push_back(used_[j_.invar(i).index] || key_.instantiate[i]);
        const auto all = [](const std::vector<bool>& v) { return std::find(v.begin(), v.end(), false) == v.end(); };
        if (!changed_ && all(out.used_inputs) && all(key_.used_outputs)) {
            out.jaxpr = std::make_shared<const Jaxpr>(j_);
            return out;
        }
        out.jaxpr = tape_.assemble(signature(out.used_inputs), EqnTape::Order::Reverse);
        return out;
    }

private:
    void use(Atom a) {
        if (a.is_var()) used_[a.var().index] = true;
    }

    void visit(const Eqn& e) {
        const auto first = used_.begin() + e.first_out;
        const bool any = std::find(first, first + e.n_out, true) != first + e.n_out;
        if (!any && !has_effects(e.effects) && (!only_of_bodies_ || e.source->unused_in_body)) {
            changed_ = true;
            return;
        }
        if (e.prim->dce && !only_of_bodies_) return visit_call(e, std::vector<bool>(first, first + e.n_out));
        for (const Atom a : j_.inputs(e)) use(a);
        tape_.add(j_, e);
    }

    void visit_call(const Eqn& e, const std::vector<bool>& used_outputs) {
        const DceResult r = e.prim->dce.fn(make_op(j_, e), used_outputs);
        const std::span<const Atom> in = j_.inputs(e);
        for (std::size_t i = 0; i < in.size(); ++i)
            if (r.used_inputs[i]) use(in[i]);
        if (r.dropped) {
            changed_ = true;
            return;
        }
        std::vector<Atom> kept_in;
        std::vector<std::uint32_t> kept_out;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (r.kept_inputs[i]) kept_in.push_back(in[i]);
        for (std::uint32_t k = 0; k < e.n_out; ++k)
            if (r.kept_outputs[k]) kept_out.push_back(e.first_out + k);
        changed_ = changed_ || kept_in.size() != e.n_in || kept_out.size() != e.n_out || !(r.params == e.params);
        tape_.add(*e.prim, r.params, kept_in, kept_out, e.source, e.context, e.effects);
    }

    EqnTape::Signature signature(const std::vector<bool>& used_inputs) const {
        EqnTape::Signature s;
        s.name = j_.name;
        s.consts = j_.consts;
        for (std::uint32_t i = 0; i < j_.num_constvars; ++i) s.constvars.push_back(i);
        for (std::uint32_t i = 0; i < j_.num_invars; ++i) {
            if (!used_inputs[i]) continue;
            s.invars.push_back(j_.invar(i).index);
            if (!j_.arg_names.empty()) s.arg_names.push_back(j_.arg_names[i]);
        }
        s.outvars = select(j_.outvars, key_.used_outputs);
        return s;
    }

    const Jaxpr& j_;
    const DceKey& key_;
    std::vector<bool> used_;
    EqnTape tape_;
    bool only_of_bodies_, changed_ = false;
};

}  // namespace

DceJaxpr dce_jaxpr(const JaxprPtr& j, const std::vector<bool>& used_outputs, const std::vector<bool>& instantiate) {
    JAXSCOPE_ASSERT(used_outputs.size() == j->outvars.size() && instantiate.size() == j->num_invars);
    static const CachedTransform<DceKey, Entry> cache;
    const DceKey key{used_outputs, instantiate};
    const Entry& e = cache.get(j, key, hash_mix(hash_of(used_outputs), hash_of(instantiate)), [&] { return Dce(*j, key).run(); });
    return {e.jaxpr, e.used_inputs};
}

DceJaxpr dce_jaxpr(const JaxprPtr& j, const std::vector<bool>& used_outputs, bool instantiate) {
    return dce_jaxpr(j, used_outputs, std::vector<bool>(j->num_invars, instantiate));
}

JaxprPtr without_unused_of_bodies(const Jaxpr& j) {
    if (std::none_of(j.eqns.begin(), j.eqns.end(), [](const Eqn& e) { return e.source->unused_in_body; })) return nullptr;
    return Dce(j, {std::vector<bool>(j.outvars.size(), true), std::vector<bool>(j.num_invars, true)}, true).run().jaxpr;
}

}  // namespace jaxscope
