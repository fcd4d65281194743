#pragma once
#include <atomic>

namespace jaxscope::cli {

/// Ctrl-C ends the process at once with 130, but while a CatchInterrupt stands it sets `interrupted()` alone: whatever is at work stops at
/// its next check, ends its children and removes its temporary files. A second Ctrl-C ends the process at once even then.
/// A thread of its own waits for it: call where signals are blocked (base/signals.h).
void watch_for_interrupt();
std::atomic<bool>& interrupted();

class CatchInterrupt {
public:
    CatchInterrupt();
    ~CatchInterrupt();
    CatchInterrupt(const CatchInterrupt&) = delete;
    CatchInterrupt& operator=(const CatchInterrupt&) = delete;
};

}  // namespace jaxscope::cli
