// SPDX-License-Identifier: Apache-2.0
#include "trace/device_calls.h"

#include <cstdio>
#include <map>

#include "base/error.h"
#include "calls/host/callbacks.h"
#include "calls/host/print_text.h"
#include "sharding/one_mesh.h"

namespace jaxscope::jax::detail {

namespace {

/// One device's program, whose memory a plan tells of; kept and aliases are as of the whole program's inputs, and stay.
MemoryPlan plan_of(const sharding::Partitioned& cut, const Aliases& aliases, const std::vector<bool>& kept) {
    ::jaxscope::JitOptions options;
    options.over_devices = true;
    return plan_only(cut.body, aliases, kept, options);
}

void refuse_host_functions(const ::jaxscope::Jaxpr& program) {
    for (const Eqn& e : program.eqns) {
        if (host_function(e.params))
            throw Error(ErrorCode::NoRule, "expected a program over devices without callbacks, found " + e.prim->name).at(e.source.loc());
        for (const JaxprPtr& body : e.params->jaxprs()) refuse_host_functions(*body);
    }
}

class OnDevices final : public Executable {
public:
    explicit OnDevices(sharding::Partitioned cut) : executable_(compiled_for_devices(std::move(cut))) {}
    const MemoryPlan& plan() const override { return plan_; }
    RunResult run(std::span<const ArrayPtr>, const RunOptions&) override {
        broken_invariant("a program over devices of the front end is run in place", __FILE__, __LINE__);
    }
    /// Arrays stay the caller's: what was given away is dropped by the caller.
    void run_in_place(std::span<const ArrayConst* const> inputs, std::span<ArrayPtr>, std::vector<ArrayPtr>& outputs) override {
        std::vector<ArrayPtr> whole;
        for (const ArrayConst* a : inputs) whole.emplace_back(std::shared_ptr<void>(), a);  // lives as long as the call
        outputs = executable_->run(whole);
        write_prints(*executable_);
        // What is returned as it came belongs to somebody who may be gone.
        for (ArrayPtr& out : outputs)
            for (const ArrayPtr& in : whole)
                if (out.get() == in.get()) out = std::make_shared<ArrayConst>(*out);
    }
    bool note_onlookers() override { return false; }
    std::vector<Onlooker> take_onlookers() override { return executable_->take_onlookers(); }
    void release_memory() override {}

private:
    std::unique_ptr<ShardedExecutable> executable_;
    MemoryPlan plan_;
};

std::optional<sharding::Partitioned> cut(const JaxprPtr& program) {
    const std::optional<sharding::Mesh> mesh = sharding::mesh_of(*program);
    if (!mesh) return std::nullopt;
    return sharding::partition({program, *mesh, {}, {}});
}

}  // namespace

void refuse_deleted_constants(const ::jaxscope::Jaxpr& program) {
    for (const ::jaxscope::Jaxpr* body : all_jaxprs(program))
        for (const ArrayPtr& c : body->consts)
            if (!c->known()) {
                Node gone;
                gone.aval = c->aval;
                gone.where = Where("", 0, "");
                refuse_deleted(gone);
            }
}

std::unique_ptr<ShardedExecutable> compiled_for_devices(sharding::Partitioned cut) {
    refuse_host_functions(*cut.body);
    return std::make_unique<ShardedExecutable>(std::move(cut), true);
}

void write_prints(ShardedExecutable& executable) {
    std::map<std::int64_t, std::string> lines;
    for (const Onlooker& o : executable.take_onlookers()) {
        if (o.calls == 0) continue;
        try {
            const PrintText text(o.params);
            for (const Onlooker::Call& call : o.kept) lines[call.order] = text(call.operands) + "\n";
        } catch (const NoPrintText& n) {
            throw Error(ErrorCode::CannotRun, "expected values whose text is known, found that of a debug_print isn't: " + n.why)
                .at(o.source.loc());
        }
        if (const std::int64_t lost = o.calls - static_cast<std::int64_t>(o.kept.size()); lost > 0)
            std::fprintf(stderr, "UserWarning: %lld more lines of a debug_print over devices weren't kept\n", static_cast<long long>(lost));
    }
    for (const auto& [order, line] : lines) std::fwrite(line.data(), 1, line.size(), stdout);
}

std::shared_ptr<Executable> compile_here(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept,
                                         const ::jaxscope::JitOptions& options) {
    refuse_deleted_constants(*program);
    if (auto of_device = cut(program)) return std::make_shared<OnDevices>(std::move(*of_device));
    ::jaxscope::JitOptions of_program = options;
    of_program.write_prints = true;
    return Executable::compile_in_place(program, aliases, kept, of_program);
}

MemoryPlan plan_here(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept) {
    refuse_deleted_constants(*program);
    if (const auto of_device = cut(program)) return plan_of(*of_device, aliases, kept);
    return plan_only(program, aliases, kept);
}

}  // namespace jaxscope::jax::detail
