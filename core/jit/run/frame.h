// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "jit/plan/computation.h"
#include "jit/run/loops.h"

namespace jaxscope::exec {

/// Does it compute on the caller's thread alone, in compiled code alone? Then it needs no ComputingThread, which costs microseconds.
bool runs_alone(const Computation& c);

/// The pointers of a computation, made once: what runs it again, a loop its body, sets the inputs and outputs that moved and allocates
/// nothing. Bodies of loops have frames of their own in it.
class RunFrame final : public Body {
public:
    /// `arena`: arena_bytes of c, 64-byte aligned. `c` and `state` outlive the frame.
    RunFrame(const Computation& c, char* arena, const RunState& state);
    ~RunFrame() override;
    void set_input(std::size_t i, void* p) override { set(moving_inputs_[i], p); }
    void set_output(std::size_t k, void* p) override { set(moving_outputs_[k], p); }
    /// Runs all thunks. Throws Error{Cancelled}; Error{CannotRun} with the equation when a check for NaNs finds one.
    void run() override;

private:
    /// How a thunk is called; pointers to its operands and results stand in args_ from `first`.
    struct Call {
        std::size_t first = 0;
        char* scratch = nullptr;
        std::int64_t tasks = 0, unit = 1;  ///< of kernels
        bool shared = false;               ///< among threads
        std::unique_ptr<Loop> loop;
    };
    void set(const std::vector<std::uint32_t>& places, void* p) {
        for (const std::uint32_t at : places) args_[at] = p;
    }
    char* place(int buffer) const;
    Call make_call(const Thunk& t);
    void add_argument(int buffer);
    void run_thunk(const Thunk& t, const Call& call);
    void check_finite(const Thunk& t, const Call& call) const;

    const Computation& c_;
    char* arena_;
    const RunState& state_;
    std::vector<void*> args_;
    std::vector<Call> calls_;
    std::vector<std::vector<std::uint32_t>> moving_inputs_, moving_outputs_;  ///< where in args_ each stands
};

}  // namespace jaxscope::exec
