// SPDX-License-Identifier: Apache-2.0
#pragma once
// The worker that lays levels out. Comes in: a level's text. Goes out: its answer's text, or why there is none. Never here: levels
// (GraphLayouter reads and writes them).
#include <sys/types.h>

#include <chrono>
#include <string>

namespace jaxscope::views {

/// A process that is asked again and again: starting one takes longer than most answers. It may be asked by any thread, by one at a time,
/// and ends with this object or with our own process.
class LayoutProcess {
public:
    explicit LayoutProcess(std::string path) : path_(std::move(path)) {}
    ~LayoutProcess() { stop(); }
    LayoutProcess(const LayoutProcess&) = delete;
    LayoutProcess& operator=(const LayoutProcess&) = delete;
    using Deadline = std::chrono::steady_clock::time_point;
    /// The answer as far as "end\n", which is taken off. False: `answer` says why there is none, and the process is ended.
    bool ask(const std::string& request, Deadline until, std::string& answer);
    const std::string& path() const { return path_; }

private:
    bool start();
    void stop();
    bool send_all(const std::string& text, Deadline until) const;
    bool wait(short events, Deadline until) const;
    std::string path_;
    pid_t pid_ = -1;
    int socket_ = -1;
};

}  // namespace jaxscope::views
