// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace jaxscope {

/// A thread for each device. `each` has all of them do something and waits; the error of the lowest device is thrown.
class DeviceTeam {
public:
    explicit DeviceTeam(std::size_t devices);
    ~DeviceTeam();
    DeviceTeam(const DeviceTeam&) = delete;
    DeviceTeam& operator=(const DeviceTeam&) = delete;
    void each(const std::function<void(std::size_t device)>& work);

private:
    void serve(std::size_t device);
    std::mutex mutex_;
    std::condition_variable begin_, done_;
    const std::function<void(std::size_t)>* work_ = nullptr;
    std::uint64_t round_ = 0;
    std::size_t busy_ = 0;
    bool over_ = false;
    std::vector<std::exception_ptr> errors_;
    std::vector<std::thread> threads_;
};

}  // namespace jaxscope
