// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>

#include "jit/run/step_watch.h"

namespace jaxscope::exec {

/// Counts the calls of what only looks at values (debug_print), and keeps those where they were read.
class LookWatch final : public StepWatch {
public:
    void before(const Computation&, std::size_t) override {}
    void after(const Computation& c, std::size_t step) override;
    /// In the order of the program, those that were never met too.
    std::vector<Onlooker> take(const Computation& c);

private:
    void add(const Computation& c, std::vector<Onlooker>& out);
    struct Seen {
        std::int64_t calls = 0;
        std::vector<Onlooker::Call> kept;
        bool listed = false;
    };
    std::unordered_map<const Thunk*, Seen> seen_;
    std::int64_t order_ = 0, bytes_ = 0;
};

/// Is there anything in it, loops' bodies included, for a LookWatch?
bool has_onlookers(const Computation& c);

}  // namespace jaxscope::exec
