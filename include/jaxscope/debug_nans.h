// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.debug_nans and jax.debug_infs: what is computed while they are on is looked at.
#include <jaxscope/shape.h>

namespace jaxscope::jax {

namespace config {
/// From now on, in all threads: an operation whose result has a NaN (an infinity) throws Error{CannotRun} with JAX's sentence, the
/// primitive and its line. Of a jitted function the results are looked at; where they have one, its operations are run one by one, to find
/// the first. A call that donates keeps its arrays' memory meanwhile. Returns the old value.
bool debug_nans(bool on);
bool debug_infs(bool on);
}  // namespace config

/// While it lives: `jax::debug_nans scope(true);`
class debug_nans {
public:
    explicit debug_nans(Flag on = true) : before_(config::debug_nans(on)) {}
    ~debug_nans() { config::debug_nans(before_); }
    debug_nans(const debug_nans&) = delete;
    debug_nans& operator=(const debug_nans&) = delete;

private:
    bool before_;
};
class debug_infs {
public:
    explicit debug_infs(Flag on = true) : before_(config::debug_infs(on)) {}
    ~debug_infs() { config::debug_infs(before_); }
    debug_infs(const debug_infs&) = delete;
    debug_infs& operator=(const debug_infs&) = delete;

private:
    bool before_;
};

}  // namespace jaxscope::jax
