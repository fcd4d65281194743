// SPDX-License-Identifier: Apache-2.0
#include "app/cli/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "base/signals.h"
#include "base/text.h"
#include "report/page.h"

namespace jaxscope::cli {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPatience{1000}, kPace{100};

/// "[=====>      ] 3 of 9 dots_saveable, 12 s".
std::string line_of(const ProgressState& state, std::chrono::seconds passed, std::size_t width) {
    std::string out;
    if (state.total > 0) {
        constexpr std::int64_t kCells = 20;
        const std::int64_t done = std::clamp<std::int64_t>((state.number - 1) * kCells / state.total, 0, kCells - 1);
        out = fmt::format("[{:=>{}}>{: >{}}] {} of {} ", "", done, "", kCells - 1 - done, state.number, state.total);
    } else {
        out = state.what + ": ";
    }
    out += fmt::format("{}, {} s", printable(state.item, 60), passed.count());
    return display_width(out) >= width ? without_middle(out, width - 1) : out;
}

std::size_t columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

void write_all(const std::string& text) {
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody sees it
}

/// The line, drawn by a thread of its own: an item may take minutes. That thread begins with the work, in whatever process it is done.
class Bar {
public:
    void say(const ProgressState* state) {
        const std::lock_guard lock(mutex_);
        if (state && !state_) begin_ = Clock::now();
        if (!state) {
            take_away();
            state_.reset();
            return;
        }
        state_ = *state;
        if (!drawer_.joinable()) drawer_ = std::jthread([this](const std::stop_token& stop) { draw(stop); });
    }

private:
    void draw(const std::stop_token& stop) {
        block_signals();
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            wake_.wait_for(lock, stop, kPace, [] { return false; });
            const auto passed = Clock::now() - begin_;
            if (!state_ || passed < kPatience) continue;
            write_all("\r\x1b[K" + line_of(*state_, std::chrono::duration_cast<std::chrono::seconds>(passed), columns()));
            drawn_ = true;
        }
        take_away();
    }
    void take_away() {
        if (std::exchange(drawn_, false)) write_all("\r\x1b[K");
    }

    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::optional<ProgressState> state_;
    Clock::time_point begin_;
    bool drawn_ = false;
    std::jthread drawer_;
};

}  // namespace

void show_progress_on_terminal() {
    const char* terminal = std::getenv("TERM");
    if (!isatty(STDERR_FILENO) || !terminal || std::string_view(terminal) == "dumb") return;
    static Bar& bar = *new Bar;  // its thread may outlive everything that main destroys
    listen_to_progress([](const ProgressState* state) { bar.say(state); });
}

}  // namespace jaxscope::cli
