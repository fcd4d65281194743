// SPDX-License-Identifier: Apache-2.0
#pragma once
// What devices looked at (debug_print) while they ran. In: steps that were run. Out: equations, how often each was met, by whom and in
// which order. Never here: texts.
#include <unordered_map>

#include "devices/steps.h"

namespace jaxscope {

class DeviceLooks {
public:
    /// Lists all that may look, in the order of the program.
    explicit DeviceLooks(const DeviceSteps& program);
    bool any() const { return !all_.empty(); }
    void clear();
    /// After all devices have done a step of computing.
    void note(const DeviceStep& step);
    std::vector<Onlooker> take();

private:
    void list(const DeviceSteps& program);
    void note(std::size_t first, std::vector<Onlooker> seen, bool of_all);
    std::unordered_map<const DeviceStep*, std::size_t> first_of_;  ///< into all_
    std::vector<Onlooker> all_;
    std::int64_t order_ = 0, bytes_ = 0;
};

}  // namespace jaxscope
