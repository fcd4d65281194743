// SPDX-License-Identifier: Apache-2.0
#include <jaxscope/capture.h>

#include <memory>

#include "api/rule_table.h"
#include "calls/remat/remat.h"
#include "io/capture/writer.h"
#include "trace/jit/jit_state.h"
#include "trace/regions.h"
#include "transforms/residuals.h"

namespace jaxscope::jax::detail {

struct CaptureState {
    std::shared_ptr<::jaxscope::Program> program;
};

namespace {

/// Sets the thread's recorder while a program is traced.
class Recording {
public:
    explicit Recording(RegionRecorder& r) : outer_(std::exchange(RegionRecorder::current(), &r)) {}
    ~Recording() { RegionRecorder::current() = outer_; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

private:
    RegionRecorder* outer_;
};

/// The files that the program's places name, so that they show their text where it is at hand.
void add_files(::jaxscope::Program& p) {
    std::vector<Sym> seen;
    for (const ::jaxscope::Jaxpr* j : all_jaxprs(*p.jaxpr))
        for (const Eqn& e : j->eqns)
            for (const Frame& f : e.source->frames()) {
                if (std::find(seen.begin(), seen.end(), f.file) != seen.end()) continue;
                seen.push_back(f.file);
                p.files.push_back({f.file.str(), true, std::nullopt});
            }
}

/// Has callable policies answer what the capture's readers may ask: a policy is no longer there then.
void ask_policies(const ::jaxscope::Jaxpr& program) {
    for (const ::jaxscope::Jaxpr* j : all_jaxprs(program))
        for (const Eqn& e : j->eqns) {
            if (e.prim->flow != Flow::Remat) continue;
            const auto& p = e.params->as<RematParams>();
            if (p.differentiated || !p.policy || !p.policy->name.empty()) continue;
            try {
                ::jaxscope::saved_residuals(checkpoint(p.jaxpr.jaxpr, p.policy), {});
            } catch (const Error&) {
                continue;  // it can't be differentiated: nobody will ask
            }
        }
}

}  // namespace

CaptureState* make_capture(Call& call, JitState* state, const CaptureOptions& options) {
    initialise();
    JitHandle fresh(JitOptions{.name = options.name ? options.name : "<unnamed function>"}, Where("", 0, ""));
    JitState& s = *fresh;
    if (state) {
        s.options = state->options;
        s.rules = state->rules;
    }
    if (!options.arg_names.empty()) s.options.arg_names = options.arg_names;
    RegionRecorder first;
    std::shared_ptr<::jaxscope::Program> p;
    {
        const Recording recording(first);
        p = std::make_shared<::jaxscope::Program>(*find_entry(s, call)->program);
    }
    p->regions = first.regions;
    if (first.marks > 0) {
        RegionRecorder second;
        second.marking = true;
        const Recording recording(second);
        s.entries.clear();
        p->marked = find_entry(s, call)->program->jaxpr;
        // Calls that vmap mapped stand there as they are now, no longer as they were.
        std::vector<const ::jaxscope::Jaxpr*> there = all_jaxprs(*p->marked);
        std::erase_if(second.calls,
                      [&](const MarkedCall& c) { return std::find(there.begin(), there.end(), c.jaxpr.get()) == there.end(); });
        p->marked_calls = std::move(second.calls);
    }
    if (state && !s.rules.marker) p->jit = "jax";  // else it is Equinox's
    for (const Array& a : call.leaves) p->values.push_back(a.node()->array);
    ask_policies(*p->jaxpr);
    for (const ::jaxscope::Region& r : p->regions) ask_policies(*r.jaxpr);
    gather_rules(*p);
    add_files(*p);
    auto out = std::make_unique<CaptureState>();
    out->program = std::move(p);
    return out.release();
}

void save_capture(const CaptureState& state, const std::string& path) { write_capture(*state.program, path); }
void drop_capture(CaptureState* state) noexcept { delete state; }

}  // namespace jaxscope::jax::detail
