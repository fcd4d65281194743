// SPDX-License-Identifier: Apache-2.0
#include "base/supervised.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <optional>
#include <stdexcept>

#include "base/cancel.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace jaxscope {

namespace {

/// A page that both processes see.
struct Board {
    std::atomic<std::int64_t> before{-1};  ///< resident before the run that is counted; -1: none is
    std::atomic<std::int64_t> planned{0};  ///< what that run takes by its plan
    std::atomic<bool> time_is_up{false};
};
Board* board = nullptr;  ///< of this child

using Clock = std::chrono::steady_clock;
constexpr auto kGrace = std::chrono::milliseconds(700);

class SharedBoard {
public:
    SharedBoard() {
        void* p = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) throw Error(ErrorCode::CannotRun, "expected a page of shared memory, found none left");
        board_ = new (p) Board;
    }
    ~SharedBoard() { munmap(board_, sizeof(Board)); }
    SharedBoard(const SharedBoard&) = delete;
    SharedBoard& operator=(const SharedBoard&) = delete;
    Board& operator*() const { return *board_; }
    Board* operator->() const { return board_; }

private:
    Board* board_;
};

[[noreturn]] void be_the_child(Board& shared, const std::function<int()>& work) {
    board = &shared;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {  // where memory is short, this one goes
        [[maybe_unused]] const ssize_t n = write(fd, "1000", 4);
        close(fd);
    }
    const int code = work();
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    std::_Exit(code);
}

/// Watches a child until it has ended.
class Supervisor {
public:
    Supervisor(pid_t pid, const ChildLimits& limits, Board& shared) : pid_(pid), limits_(limits), shared_(shared) {}
    /// The status of waitpid.
    int wait() {
        int status = 0;
        while (waitpid(pid_, &status, WNOHANG) == 0) {
            look();
            usleep(2000);
        }
        return status;
    }
    const std::optional<Error>& why() const { return why_; }

private:
    void look() {
        const Clock::time_point now = Clock::now();
        if (asked_ && now - *asked_ > kGrace) kill(pid_, SIGKILL);
        if (const std::int64_t before = shared_.before; limits_.memory > 0 && before >= 0 && !why_) {
            largest_ = anonymous_resident(pid_) - before;
            if (largest_ > allowed_memory(limits_.memory)) {
                why_ = Error(ErrorCode::CannotRun,
                             "expected the run within " + bytes_text(limits_.memory) + " of memory, found it at " + bytes_text(largest_));
                kill(pid_, SIGKILL);
            }
        }
        if (asked_ || why_) return;
        if (limits_.seconds > 0 && now - begin_ > std::chrono::duration<double>(limits_.seconds)) {
            why_ = Error(ErrorCode::CannotRun, "expected an end within " + seconds_text(limits_.seconds) + ", found it still at work");
            shared_.time_is_up = true;
            ask();
        } else if (CancelScope::any_cancelled()) {
            ask();
        }
    }
    void ask() {
        asked_ = Clock::now();
        kill(pid_, SIGTERM);
    }

    pid_t pid_;
    const ChildLimits& limits_;
    Board& shared_;
    std::optional<Error> why_;
    std::optional<Clock::time_point> asked_;
    std::int64_t largest_ = 0;
    Clock::time_point begin_ = Clock::now();
};

/// How many processes the system ended because memory was short; -1: it doesn't count them.
std::int64_t ended_for_memory() {
    const int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    std::string text(1 << 16, '\0');
    std::size_t size = 0;
    for (ssize_t n = 1; n > 0 && size<text.size(); size += n> 0 ? static_cast<std::size_t>(n) : 0)
        n = read(fd, text.data() + size, text.size() - size);
    close(fd);
    constexpr const char* kName = "\noom_kill ";
    const std::size_t at = text.find(kName);
    return at == std::string::npos ? -1 : std::strtoll(text.c_str() + at + std::strlen(kName), nullptr, 10);
}

const char* told(int signal) {
    switch (signal) {
        case SIGILL:
            return "an illegal instruction (SIGILL)";
        case SIGABRT:
            return "an abort (SIGABRT)";
        case SIGSEGV:
            return "an access to memory that isn't there (SIGSEGV)";
        case SIGBUS:
            return "an access to memory that can't be had (SIGBUS)";
        case SIGFPE:
            return "a division that has no result (SIGFPE)";
        default:
            return nullptr;
    }
}

}  // namespace

int run_supervised(const ChildLimits& limits, const std::function<int()>& work) {
    std::cout.flush();
    std::cerr.flush();
    const SharedBoard shared;
    const KilledBy killed_by;
    const pid_t pid = fork();
    if (pid < 0) throw Error(ErrorCode::CannotRun, std::string("expected to start a process, found: ") + std::strerror(errno));
    if (pid == 0) be_the_child(*shared, work);
    Supervisor supervisor(pid, limits, *shared);
    const int status = supervisor.wait();
    if (supervisor.why() && (WIFSIGNALED(status) || shared->time_is_up)) throw Error(*supervisor.why());
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (CancelScope::any_cancelled()) throw_cancelled();
    const int signal = WTERMSIG(status);
    if (signal == SIGPIPE) return 128 + SIGPIPE;  // nobody reads on: no word about it
    if (const char* what = told(signal)) throw std::runtime_error(std::string("the process that ran the program ended by ") + what);
    if (signal == SIGKILL) throw killed_by.error(shared->planned);
    throw Error(ErrorCode::CannotRun, "expected the run to end by itself, found that signal " + std::to_string(signal) + " ended it");
}

KilledBy::KilledBy() : count_before_(ended_for_memory()) {}

Error KilledBy::error(std::int64_t planned) const { return error(count_before_, ended_for_memory(), planned); }

Error KilledBy::error(std::int64_t count_before, std::int64_t count_now, std::int64_t planned) {
    const std::string plan = planned > 0 ? "; its plan needs " + bytes_text(planned) : std::string();
    if (count_before >= 0 && count_now > count_before)
        return Error(ErrorCode::CannotRun,
                     "expected enough memory, found that the system ended the process that ran the program (SIGKILL)" + plan)
            .advise("give it less to do, or a --memory-limit that it is held to before the system's memory is used up");
    return Error(
        ErrorCode::CannotRun,
        "expected the run to end by itself, found that something outside of it killed the process (SIGKILL): by whom isn't known, " +
            std::string(count_now >= 0 ? "and the system didn't run out of memory" : "the system does it where memory is short") + plan);
}

CountedRun::CountedRun(std::int64_t before, std::int64_t planned) {
    if (!board) return;
    board->before = before;
    board->planned = planned;
}
CountedRun::~CountedRun() {
    if (!board) return;
    board->before = -1;
    board->planned = 0;
}
bool ended_by_supervisor() { return board && board->time_is_up; }

std::int64_t anonymous_resident(int pid) {
    char path[64], text[256];
    std::snprintf(path, sizeof path, pid ? "/proc/%d/statm" : "/proc/self/statm", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    long long all = 0, resident = 0, of_files = 0;
    text[n > 0 ? n : 0] = 0;
    if (std::sscanf(text, "%lld %lld %lld", &all, &resident, &of_files) != 3) return -1;
    return (resident - of_files) * sysconf(_SC_PAGESIZE);
}

}  // namespace jaxscope
