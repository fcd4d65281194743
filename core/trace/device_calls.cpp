// SPDX-License-Identifier: Apache-2.0
#include "trace/device_calls.h"

#include "base/error.h"
#include "devices/device_program.h"
#include "sharding/partition.h"

namespace jaxscope::jax::detail {

namespace {

/// One device's program, whose memory a plan tells of; kept and aliases are as of the whole program's inputs, and stay.
MemoryPlan plan_of(const sharding::Partitioned& cut, const Aliases& aliases, const std::vector<bool>& kept) {
    ::jaxscope::JitOptions options;
    options.over_devices = true;
    return plan_only(cut.body, aliases, kept, options);
}

class OnDevices final : public Executable {
public:
    explicit OnDevices(sharding::Partitioned cut) : executable_(std::move(cut)) {}
    const MemoryPlan& plan() const override { return plan_; }
    RunResult run(std::span<const ArrayPtr>, const RunOptions&) override {
        broken_invariant("a program over devices of the front end is run in place", __FILE__, __LINE__);
    }
    /// Arrays stay the caller's: what was given away is dropped by the caller.
    void run_in_place(std::span<const ArrayConst* const> inputs, std::span<ArrayPtr>, std::vector<ArrayPtr>& outputs) override {
        std::vector<ArrayPtr> whole;
        for (const ArrayConst* a : inputs) whole.emplace_back(std::shared_ptr<void>(), a);  // lives as long as the call
        outputs = executable_.run(whole);
        // What is returned as it came belongs to somebody who may be gone.
        for (ArrayPtr& out : outputs)
            for (const ArrayPtr& in : whole)
                if (out.get() == in.get()) out = std::make_shared<ArrayConst>(*out);
    }
    bool note_onlookers() override { return false; }
    std::vector<Onlooker> take_onlookers() override { return executable_.take_onlookers(); }
    void release_memory() override {}

private:
    ShardedExecutable executable_;
    MemoryPlan plan_;
};

std::optional<sharding::Partitioned> cut(const JaxprPtr& program) {
    const std::optional<sharding::Mesh> mesh = sharding::mesh_of(*program);
    if (!mesh) return std::nullopt;
    return sharding::partition({program, *mesh, {}, {}});
}

}  // namespace

std::shared_ptr<Executable> compile_here(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept,
                                         const ::jaxscope::JitOptions& options) {
    if (auto of_device = cut(program)) return std::make_shared<OnDevices>(std::move(*of_device));
    return Executable::compile_in_place(program, aliases, kept, options);
}

MemoryPlan plan_here(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept) {
    if (const auto of_device = cut(program)) return plan_of(*of_device, aliases, kept);
    return plan_only(program, aliases, kept);
}

}  // namespace jaxscope::jax::detail
