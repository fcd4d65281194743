// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "jit/plan/computation.h"

namespace jaxscope::exec {

class StepWatch;

struct RunState {
    StepWatch* watch = nullptr;
    bool check_nan = false;
};

/// A computation that a loop runs: pointers that stay are set once.
class Body {
public:
    virtual ~Body() = default;
    virtual void set_input(std::size_t i, void* p) = 0;
    virtual void set_output(std::size_t k, void* p) = 0;
    virtual void run() = 0;
};
/// Makes the body for a computation whose arena stands there.
using MakeBody = std::function<std::unique_ptr<Body>(const Computation& c, char* arena)>;

/// A scan, while or cond, ready to run any number of times.
class Loop {
public:
    virtual ~Loop() = default;
    /// `args`: the operands, then the results of the equation.
    virtual void run(void* const* args) = 0;
};
std::unique_ptr<Loop> make_loop(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body);

}  // namespace jaxscope::exec
