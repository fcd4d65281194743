// SPDX-License-Identifier: Apache-2.0
#include "devices/looks.h"

#include <algorithm>
#include <map>

#include "calls/host/debug.h"

namespace jaxscope {

DeviceLooks::DeviceLooks(const DeviceSteps& program) { list(program); }

void DeviceLooks::list(const DeviceSteps& program) {
    for (const DeviceStep& s : program.steps) {
        if (s.looks) {
            first_of_.emplace(&s, all_.size());
            for (Onlooker& o : s.executables.front()->take_onlookers()) all_.push_back(std::move(o));
        }
        for (const DeviceSteps& body : s.bodies) list(body);
    }
}

void DeviceLooks::clear() {
    order_ = bytes_ = 0;
    for (Onlooker& o : all_) o.calls = 0, o.kept.clear();
}

void DeviceLooks::note(const DeviceStep& step) {
    if (!step.looks) return;
    const std::size_t first = first_of_.at(&step);
    for (const auto& executable : step.executables) note(first, executable->take_onlookers(), executable == step.executables.front());
}

/// One device's: what isn't looked at in parts, the first device alone looks at.
void DeviceLooks::note(std::size_t first, std::vector<Onlooker> seen, bool of_all) {
    std::map<std::int64_t, std::pair<std::size_t, Onlooker::Call*>> calls;
    for (std::size_t k = 0; k < seen.size(); ++k) {
        if (!of_all && !each_device_looks(seen[k].params)) continue;
        all_[first + k].calls += seen[k].calls;
        for (Onlooker::Call& c : seen[k].kept) calls.emplace(c.order, std::pair(first + k, &c));
    }
    for (auto& [at, call] : calls) {
        std::int64_t bytes = 0;
        for (const ArrayPtr& a : call.second->operands) bytes += static_cast<std::int64_t>(a->data.size());
        std::vector<Onlooker::Call>& kept = all_[call.first].kept;
        if (kept.size() >= Onlooker::kMostKept || bytes_ + bytes > Onlooker::kMostBytes) continue;
        bytes_ += bytes;
        kept.push_back({order_++, std::move(call.second->operands)});
    }
}

std::vector<Onlooker> DeviceLooks::take() {
    std::vector<Onlooker> out = all_;
    clear();
    return out;
}

}  // namespace jaxscope
