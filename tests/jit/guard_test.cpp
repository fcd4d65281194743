// SPDX-License-Identifier: Apache-2.0
// Debug mode is to catch errors of kernels: here are some, planted in a routine between two others.
#include <gtest/gtest.h>

#include <csignal>

#include "io/text/parser.h"
#include "ir/primitive.h"
#include "jit/jit.h"
#include "jit/kernels/library.h"
#include "support/sanitized.h"

namespace jaxscope {
namespace {

enum class Planted : std::uint8_t { Nothing, WritesBehind, WritesBefore, ReadsBehind, ReadsTheDead };
Planted planted = Planted::Nothing;
float* of_the_dead = nullptr;  ///< the first running sum's operand: nobody reads it any more when the second one runs
volatile float sink = 0;

constexpr std::int64_t kSize = 1024;  // whole pages, so that both ends of a buffer touch one

class Careless final : public exec::LibraryCall {
public:
    explicit Careless(exec::LibraryCallPtr call) : call_(std::move(call)) {}
    void run(void* const* in, void* const* out, void* scratch) const override {
        call_->threads = threads;
        call_->run(in, out, scratch);
        const auto* from = static_cast<const float*>(in[0]);
        auto* to = static_cast<float*>(out[0]);
        switch (planted) {
            case Planted::WritesBehind:
                to[kSize] = 1;
                break;
            case Planted::WritesBefore:
                to[-1] = 1;
                break;
            case Planted::ReadsBehind:
                sink = from[kSize];
                break;
            case Planted::ReadsTheDead:
                if (of_the_dead && of_the_dead != from) sink = *of_the_dead;
                of_the_dead = const_cast<float*>(from);
                break;
            case Planted::Nothing:
                break;
        }
    }
    std::int64_t scratch_bytes() const override { return call_->scratch_bytes(); }

private:
    exec::LibraryCallPtr call_;
};
exec::LibraryCallPtr careless(const Op& op, exec::LibraryCallPtr call) {
    if (op.prim != &primitive("cumsum")) return call;
    return std::make_shared<Careless>(std::move(call));
}

RunResult run_with(Planted error) {
    const exec::ScopedCallWrapper wrapper(careless);
    JitOptions options;
    options.debug = true;
    const auto executable = Executable::compile(
        parse_jaxpr_text(
            "{ lambda ; a:f32[1024]. let b:f32[1024] = mul a 2.0:f32[]; c:f32[1024] = cumsum[axis=0 reverse=False] b; d:f32[1024] = "
            "sort[dimension=0 is_stable=True num_keys=1] c; e:f32[1024] = cumsum[axis=0 reverse=False] d; f:f32[1024] = exp e in (f,) }",
            "t")
            ->jaxpr,
        {}, {}, options);
    planted = error;
    of_the_dead = nullptr;
    RunResult r = executable->run({}, {});
    planted = Planted::Nothing;
    return r;
}

TEST(Debug, ARoutineThatLeavesItsBuffersIsNamed) {
    if (JAXSCOPE_SANITIZED) GTEST_SKIP();
    EXPECT_EQ(run_with(Planted::Nothing).outputs.size(), 1u);
    for (const Planted error : {Planted::WritesBehind, Planted::WritesBefore, Planted::ReadsBehind, Planted::ReadsTheDead})
        EXPECT_EXIT(run_with(error), testing::KilledBySignal(SIGSEGV),
                    "access outside of its buffers at 0x[0-9a-f]+ while running eqn [13] of '', cumsum")
            << static_cast<int>(error);
}

TEST(Debug, ArraysOfFloat0TakeNoBytes) {
    // Tangents of truth values, as jvp makes them: as many as an array has elements, and not one byte.
    JitOptions options;
    options.debug = true;
    const auto executable = Executable::compile(
        parse_jaxpr_text(
            "{ lambda ; a:f32[4096]. let b:bool[4096] = gt a 0.0:f32[]; c:float0[4096] = broadcast_in_dim[broadcast_dimensions=() "
            "shape=(4096,) sharding=None] (b'',):float0[]; d:f32[4096] = sin a in (b, c, d) }",
            "t")
            ->jaxpr,
        {}, {}, options);
    const RunResult r = executable->run({}, {});
    ASSERT_EQ(r.outputs.size(), 3u);
    EXPECT_EQ(r.outputs[1]->data.size(), 0u);
    EXPECT_EQ(r.outputs[2]->data.size(), 4096u * 4);
}

}  // namespace
}  // namespace jaxscope
