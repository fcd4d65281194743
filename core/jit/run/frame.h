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
    /// Runs all thunks. Throws Error{Cancelled}; Error{CannotRun} with the equation when a check for NaNs finds one.
    void run() override;

private:
    /// How a thunk is called; pointers to its operands and results stand in args_ from `first`.
    struct Call {
        KernelFunction alone = nullptr;  ///< a kernel that this thread runs by itself
        std::int64_t tasks = 0;          ///< of kernels; of copies bytes
        char* scratch = nullptr;
        std::size_t first = 0;
        std::int64_t unit = 1;
        bool shared = false;         ///< among threads
        bool quick = false;          ///< nobody need ask whether to stop before it
        std::unique_ptr<Loop> loop;  ///< made when it runs step by step for the first time
    };
    char* place(int buffer) const;
    Call make_call(const Thunk& t);
    void add_argument(int buffer);
    void run_thunk(const Thunk& t, Call& call);
    void run_loop(const Thunk& t, Call& call);
    void run_watched();
    /// A product in pieces; `behind`: the kernel after each piece, too.
    void run_pieces(std::size_t s, bool behind);
    void check_finite(const Thunk& t, const Call& call) const;

    const Computation& c_;
    char* arena_;
    const RunState& state_;
    bool shares_;  ///< threads share the kernels that are worth it
    std::vector<void*> args_;
    std::vector<Call> calls_;
    unsigned runs_ = 0;
};

}  // namespace jaxscope::exec
