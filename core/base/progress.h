// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace jaxscope {

/// How far the work is that somebody waits for.
struct ProgressState {
    std::string what;         ///< "policies"
    std::string item;         ///< what is at work: "dots_saveable"
    std::int64_t number = 0;  ///< of the item, from 1
    std::int64_t total = 0;   ///< 0: not known
    friend bool operator==(const ProgressState&, const ProgressState&) = default;
};

/// Long work of several items says how far it is. Scopes nest: what is shown is the innermost one that works on the thread of the
/// outermost; scopes of other threads are silent, unless they are handed in. Without a listener it costs a comparison.
class Progress {
public:
    explicit Progress(std::string what, std::int64_t total = 0);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void begin(std::string_view item);  ///< the next item begins; from any thread

private:
    ProgressState state_;
    Progress* outer_ = nullptr;
    bool shown_ = false;
};

/// Called with each change, and with nullptr when the outermost work is over; under a lock, one call at a time. To be set before work
/// begins. An empty function: nobody listens.
void listen_to_progress(std::function<void(const ProgressState*)> listener);

/// Before anything else is written where progress is shown: the listener is asked to take it away until it changes.
void hide_progress();

}  // namespace jaxscope
