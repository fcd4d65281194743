// SPDX-License-Identifier: Apache-2.0
#include "transforms/partial_eval.h"

#include <algorithm>
#include <unordered_map>

#include "ir/transform_cache.h"
#include "transforms/jaxpr_util.h"
#include "transforms/split_builder.h"

namespace jaxscope {

namespace {

struct SplitKey {
    std::vector<bool> unknown_in, instantiate, allow_forward;
    friend bool operator==(const SplitKey&, const SplitKey&) = default;
};

PartialEvalJaxpr split_by_data(const Jaxpr& j, const SplitKey& key) {
    JaxprBuilder known;
    SplitBuilder b(known, false, true);
    const Avals in_avals = j.in_avals();
    Values x, known_in;
    for (std::size_t i = 0; i < in_avals.size(); ++i)
        if (!key.unknown_in[i]) known_in.push_back(known.add_input(in_avals[i]));
    std::size_t next_known = 0;
    for (std::size_t i = 0; i < in_avals.size(); ++i)
        x.push_back(key.unknown_in[i] ? b.add_unknown_input(in_avals[i]) : known_in[next_known++]);
    const Values out = eval_jaxpr(b, j, x);
    PartialEvalJaxpr result;
    Values known_out, unknown_out;
    for (std::size_t k = 0; k < out.size(); ++k) {
        const bool unknown = out[k].is_unknown() || key.instantiate[k];
        result.unknown_out.push_back(unknown);
        (unknown ? unknown_out : known_out).push_back(out[k]);
    }
    SplitBuilder::Unknown half = b.finish_unknown(unknown_out, false, j.name);
    result.unknown = std::move(half.jaxpr);
    std::unordered_map<std::uint32_t, int> forwardable;
    if (any_true(key.allow_forward)) {
        const Values consts = constants_of(b, j);
        for (std::size_t i = 0; i < consts.size(); ++i)
            if (key.allow_forward[i]) forwardable.emplace(consts[i].raw(), static_cast<int>(i));
        std::size_t position = consts.size();
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (key.unknown_in[i]) continue;
            if (key.allow_forward[consts.size() + i]) forwardable.emplace(x[i].raw(), static_cast<int>(position));
            ++position;
        }
    }
    const std::size_t num_known_out = known_out.size();
    // JAX forwards constants only where it forwards an input too (_include_consts_in_fwds).
    const bool forwards_input = std::any_of(half.residuals.begin(), half.residuals.end(), [&](Value r) {
        const auto found = forwardable.find(r.raw());
        return found != forwardable.end() && found->second >= static_cast<int>(j.num_constvars);
    });
    if (!forwards_input) forwardable.clear();
    for (const Value r : half.residuals) {
        const auto found = forwardable.find(r.raw());
        result.forwards.push_back(found == forwardable.end() ? -1 : found->second);
        if (found == forwardable.end()) known_out.push_back(r);
    }
    result.num_residuals_out = static_cast<int>(known_out.size() - num_known_out);
    result.known = known.finish(known_out, j.name);
    return result;
}

}  // namespace

const PartialEvalJaxpr& partial_eval_jaxpr(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& instantiate,
                                           const std::vector<bool>& allow_forward) {
    JAXSCOPE_ASSERT(unknown_in.size() == j->num_invars && instantiate.size() == j->outvars.size());
    JAXSCOPE_ASSERT(allow_forward.size() == j->num_constvars + j->num_invars);
    static const CachedTransform<SplitKey, PartialEvalJaxpr> cache;
    const SplitKey key{unknown_in, instantiate, allow_forward};
    return cache.get(j, key, hash_mix(hash_mix(hash_of(unknown_in), hash_of(instantiate)), hash_of(allow_forward)),
                     [&] { return split_by_data(*j, key); });
}

const PartialEvalJaxpr& partial_eval_jaxpr(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& instantiate,
                                           bool forward) {
    return partial_eval_jaxpr(j, unknown_in, instantiate, std::vector<bool>(j->num_constvars + j->num_invars, forward));
}

const PartialEvalJaxpr& partial_eval_jaxpr(const JaxprPtr& j, const std::vector<bool>& unknown_in, bool instantiate, bool forward) {
    return partial_eval_jaxpr(j, unknown_in, std::vector<bool>(j->outvars.size(), instantiate), forward);
}

}  // namespace jaxscope
