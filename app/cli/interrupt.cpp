#include "app/cli/interrupt.h"

#include <csignal>
#include <cstdlib>

namespace jaxscope::cli {

namespace {
std::atomic<bool> flag{false};
std::atomic<int> catchers{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may touch lock-free atomics only");
void on_interrupt(int) {
    if (flag.exchange(true) || catchers.load() == 0) std::_Exit(130);
}
}  // namespace

std::atomic<bool>& interrupted() { return flag; }
CatchInterrupt::CatchInterrupt() { ++catchers; }
CatchInterrupt::~CatchInterrupt() { --catchers; }
void watch_for_interrupt() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

}  // namespace jaxscope::cli
