#include "app/cli/interrupt.h"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <unistd.h>

#include "base/atomic_file.h"
#include "base/signals.h"

namespace jaxscope::cli {

namespace {

CancelToken token;
std::atomic<int> waiting{0};

[[noreturn]] void leave() {
    remove_unfinished_files();
    constexpr std::string_view said = "jaxscope: cancelled [cancelled]\n";
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, said.data(), said.size());
    std::_Exit(130);
}

void on_interrupt() {
    if (token.cancelled()) leave();
    token.cancel();
    std::thread([] {
        constexpr auto kGrace = std::chrono::milliseconds(500);
        do std::this_thread::sleep_for(kGrace);
        while (waiting > 0);
        leave();
    }).detach();
}

}  // namespace

const CancelToken& interrupted() { return token; }
WaitForChildren::WaitForChildren() { ++waiting; }
WaitForChildren::~WaitForChildren() { --waiting; }
void watch_for_interrupt() { start_signal_thread(on_interrupt); }

}  // namespace jaxscope::cli
