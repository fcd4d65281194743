#include "app/cli/interrupt.h"

#include <cstdlib>

#include "base/signals.h"

namespace jaxscope::cli {

namespace {
std::atomic<bool> flag{false};
std::atomic<int> catchers{0};
void on_interrupt() {
    if (flag.exchange(true) || catchers.load() == 0) std::_Exit(130);
}
}  // namespace

std::atomic<bool>& interrupted() { return flag; }
CatchInterrupt::CatchInterrupt() { ++catchers; }
CatchInterrupt::~CatchInterrupt() { --catchers; }
void watch_for_interrupt() { start_signal_thread(on_interrupt); }

}  // namespace jaxscope::cli
