// SPDX-License-Identifier: Apache-2.0
#include "trace/regions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "calls/families.h"
#include "ir/registry.h"
#include "pytree/tree.h"
#include "transforms/batch.h"

namespace jaxscope::jax::detail {

RegionRecorder*& RegionRecorder::current() {
    thread_local RegionRecorder* recorder = nullptr;
    return recorder;
}

std::vector<bool> chosen_leaves(const Call& call, const std::vector<std::size_t>& argnums) {
    std::vector<bool> out;
    for (const std::size_t a : call.order)
        out.insert(out.end(), call.leaves_of_arg[a], std::find(argnums.begin(), argnums.end(), a) != argnums.end());
    return out;
}

RecordedRegion::RecordedRegion(const char* kind, const char* unmarked) : recorder_(RegionRecorder::current()) {
    if (!recorder_) return;
    const char* why = recorder_->open >= 0     ? "it stands inside another differentiation"
                      : recorder_->further > 0 ? "it is differentiated further"
                                               : unmarked;
    index_ = recorder_->regions.size();
    ::jaxscope::Region r;
    r.kind = kind;
    if (recorder_->open >= 0) r.parent = recorder_->open;
    if (why)
        r.why_unmarked = why;
    else
        r.mark = mark_ = recorder_->marks++;
    recorder_->regions.push_back(std::move(r));
    outer_ = std::exchange(recorder_->open, static_cast<int>(index_));
}

void RecordedRegion::close() {
    if (recorder_ && recorder_->open == static_cast<int>(index_)) recorder_->open = outer_;
}

void RecordedRegion::traced(const Call& call, const TracedCall& t, const std::vector<std::size_t>& argnums, std::size_t outputs,
                            bool has_aux, const std::vector<std::string>& arg_names) {
    if (!recorder_) return;
    close();
    if (recorder_->marking) return;
    ::jaxscope::Region& r = recorder_->regions[index_];
    const ArgumentNames names = argument_names(call, arg_names);
    r.name = t.traced.jaxpr->name;
    auto open = std::make_shared<::jaxscope::Jaxpr>(*t.traced.jaxpr);
    open->consts.clear();
    r.jaxpr = open;
    r.in_paths = names.leaves;
    r.arg_of_input = names.arg_of_leaf;
    for (const std::string& a : names.args) r.arg_names.emplace_back(a);
    for (const std::string& p : t.out_tree.paths()) r.out_paths.emplace_back(p);
    for (const std::size_t i : argnums) r.wrt.push_back(static_cast<int>(i));
    r.wrt_inputs = chosen_leaves(call, argnums);
    r.has_aux = has_aux;
    r.outputs = static_cast<int>(outputs);
    r.source = source_of(call.where);
}

JaxprPtr RecordedRegion::half(const JaxprPtr& j, bool backward, const Where& where) const {
    if (!marks()) return j;
    // Cotangents of integers are zeros, which the call leaves out.
    auto body = std::make_shared<::jaxscope::Jaxpr>(*j);
    std::erase_if(body->outvars, [&](const Atom a) { return a.is_literal() && j->aval(a)->dtype == DType::Float0; });
    body->name = Sym(fmt::format("jaxscope_{}_{}", backward ? "backward" : "forward", mark_));
    recorder_->calls.push_back({mark_, backward, body, {}});
    JaxprBuilder b;
    b.source = source_of(where);
    Values in;
    for (const AvalRef a : body->in_avals()) in.push_back(b.add_input(a));
    const ParamsRef params = Params::make({{"jaxpr", Attr(Attr::JaxprRef{body, true})}, {"name", Attr(body->name)}});
    const Values made = b.bind(*emitted_calls().jit, in, params);
    Values out;
    auto at = made.begin();
    for (const Atom a : j->outvars) out.push_back(a.is_literal() && j->aval(a)->dtype == DType::Float0 ? Value(a.literal()) : *at++);
    return b.finish(out);
}

namespace {

class Follower final : public BatchFollower {
public:
    explicit Follower(RegionRecorder& r) : recorder_(r), axis_(r.axes++) {}
    void follow(const JaxprPtr& from, const BatchedJaxpr& to, std::int64_t size, const std::vector<int>& in_dims) override {
        const auto is = [](const JaxprPtr& j) { return [&j](const ::jaxscope::MarkedCall& c) { return c.jaxpr == j; }; };
        auto& calls = recorder_.calls;
        const auto known = std::find_if(calls.begin(), calls.end(), is(from));
        if (known == calls.end() || std::any_of(calls.begin(), calls.end(), is(to.jaxpr))) return;
        ::jaxscope::MarkedCall mapped = *known;
        mapped.jaxpr = to.jaxpr;
        mapped.batch.push_back({axis_, size, in_dims, to.out_dims});
        calls.push_back(std::move(mapped));
    }

private:
    RegionRecorder& recorder_;
    int axis_;
};

}  // namespace

MappedRegions::MappedRegions() {
    RegionRecorder* r = RegionRecorder::current();
    if (!r || !r->marking) return;
    follower_ = std::make_unique<Follower>(*r);
    outer_ = std::exchange(batch_follower(), follower_.get());
}
MappedRegions::~MappedRegions() {
    if (follower_) batch_follower() = outer_;
}

}  // namespace jaxscope::jax::detail
