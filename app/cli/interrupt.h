#pragma once
#include <atomic>

namespace jaxscope::cli {

/// Set by Ctrl-C: whatever is at work stops at its next check and the process ends with 130. A second Ctrl-C ends it at once.
std::atomic<bool>& interrupted();
void watch_for_interrupt();

}  // namespace jaxscope::cli
