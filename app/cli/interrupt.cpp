// SPDX-License-Identifier: Apache-2.0
#include "app/cli/interrupt.h"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <unistd.h>

#include "base/atomic_file.h"
#include "base/signals.h"
#include "base/supervised.h"

namespace jaxscope::cli {

namespace {

CancelToken token;
enum class Stage { AtWork, Cancelled, FilesChange };
std::atomic<Stage> stage{Stage::AtWork};
std::atomic<int> waiting{0};

[[noreturn]] void leave() {
    remove_unfinished_files();
    constexpr std::string_view said = "jaxscope: cancelled [cancelled]\n";
    if (!ended_by_supervisor()) [[maybe_unused]]
        const ssize_t n = write(STDERR_FILENO, said.data(), said.size());
    std::_Exit(130);
}

/// From the first file that is put in place the command is done, however late Ctrl-C came: it says so, and leaves what it made.
void let_files_change() {
    Stage before = Stage::AtWork;
    if (!stage.compare_exchange_strong(before, Stage::FilesChange) && before == Stage::Cancelled) throw_cancelled();
}

void on_interrupt() {
    Stage before = Stage::AtWork;
    if (!stage.compare_exchange_strong(before, Stage::Cancelled)) return before == Stage::Cancelled ? leave() : void();
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
void watch_for_interrupt() {
    ask_before_files_change(let_files_change);
    start_signal_thread(on_interrupt);
}

}  // namespace jaxscope::cli
