// SPDX-License-Identifier: Apache-2.0
#include "jit/run/prepare.h"

#include <memory>
#include <mutex>
#include <thread>

#include "base/cancel.h"
#include "base/error.h"
#include "ir/builder.h"
#include "jit/codegen/kernel_compiler.h"
#include "jit/graph/build_graph.h"
#include "jit/jit.h"
#include "jit/plan/planner.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope {

namespace exec {

namespace {

/// Softmax: loops over columns with a maximum, a sum, a polynomial and a division, which bring in most of what kernels are made with.
JaxprPtr usual_program() {
    constexpr std::int64_t kRows = 64, kColumns = 1024;
    JaxprBuilder b;
    const auto along_columns = [&](Value row) {
        return b.bind1(kBroadcastInDim, {row}, make_params(BroadcastInDimParams{{kRows, kColumns}, {0}}));
    };
    const Value x = b.add_input(AvalRef(DType::F32, {kRows, kColumns}));
    const Value highest = along_columns(b.bind1(kReduceMax, {x}, make_params(ReduceParams{{1}})));
    const Value e = b.bind1(kExp, {b.bind1(kSub, {x, highest})});
    const Value sum = along_columns(b.bind1(kReduceSum, {e}, make_params(ReduceSumParams{{1}})));
    return b.finish({b.bind1(kDiv, {e, sum})});
}

void rehearse() {
    try {
        ComputationOptions options;
        options.threads = 1;
        rehearse_compilation(plan_computation(build_graph(usual_program()), {}, options)->thunks.at(0).kernel);
    } catch (const std::exception&) {  // it was stopped; or what is in the way, whoever compiles next will say
    }
}

/// The thread of the preparation that stands, if it still runs.
struct Running {
    std::mutex mutex;
    CancelToken stop;
    std::thread thread;
    static Running& get() {
        static auto& one = *new Running;
        return one;
    }
};

}  // namespace

void end_of_preparation() {
    Running& running = Running::get();
    const std::lock_guard lock(running.mutex);
    if (!running.thread.joinable()) return;
    running.stop.cancel();
    running.thread.join();
}

}  // namespace exec

Preparation::Preparation() {
    exec::Running& running = exec::Running::get();
    const std::lock_guard lock(running.mutex);
    if (running.stop.cancelled() || running.thread.joinable()) return;
    running.thread = std::thread([&running] {
        const CancelScope scope(running.stop);
        exec::rehearse();
    });
}
Preparation::~Preparation() { exec::end_of_preparation(); }

}  // namespace jaxscope
