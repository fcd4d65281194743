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
    bool inside = false;  ///< the watch, or the check, wants each step of loops' bodies: none runs as one function
};

/// A computation that a loop runs. Pointers that stay are set once; for those that move a loop knows the places, of which an input or
/// output has as many as there are steps that read or write it.
class Body {
public:
    virtual ~Body() = default;
    void set_input(std::size_t i, void* p) { set(inputs_[i], p); }
    void set_output(std::size_t k, void* p) { set(outputs_[k], p); }
    const std::vector<void**>& places_of_input(std::size_t i) const { return inputs_[i]; }
    const std::vector<void**>& places_of_output(std::size_t k) const { return outputs_[k]; }
    virtual void run() = 0;

protected:
    std::vector<std::vector<void**>> inputs_, outputs_;

private:
    static void set(const std::vector<void**>& places, void* p) {
        for (void** at : places) *at = p;
    }
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
