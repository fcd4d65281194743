// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/cancel.h"
#include "base/error.h"
#include "base/signals.h"
#include "base/text.h"

namespace jaxscope {

namespace {

struct Pipe {
    int read_end = -1, write_end = -1;
    Pipe() {
        std::array<int, 2> fds{};
        if (pipe2(fds.data(), O_CLOEXEC) != 0)
            throw Error(ErrorCode::CannotRun, std::string("expected a pipe, found: ") + std::strerror(errno));
        read_end = fds[0];
        write_end = fds[1];
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close_read() { close_one(read_end); }
    void close_write() { close_one(write_end); }
    static void close_one(int& fd) {
        if (fd >= 0) close(fd);
        fd = -1;
    }
};

/// Stands in the environment of the child and of all its descendants. Markers of runners inside runners are joined.
constexpr const char* kMarker = "JAXSCOPE_STARTED_BY";
constexpr std::size_t kTail = 4096;

std::string new_marker() {
    static std::atomic<int> count{0};
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return ":" + std::to_string(getpid()) + "." + std::to_string(++count) + "." + std::to_string(now) + ":";
}

bool has_marker(const std::filesystem::path& process, const std::string& marker) {
    std::ifstream in(process / "environ", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return text.find(marker) != std::string::npos;
}

/// Ends what the child left running outside its process group, until nothing is left: they may start others meanwhile, and take time to go.
void end_descendants(const std::string& marker) {
    const auto end_by = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (std::chrono::steady_clock::now() < end_by) {
        bool found = false;
        std::error_code none;
        for (std::filesystem::directory_iterator it("/proc", none), end; !none && it != end; it.increment(none)) {
            const pid_t pid = static_cast<pid_t>(std::strtol(it->path().filename().c_str(), nullptr, 10));
            if (pid <= 0 || pid == getpid() || !has_marker(it->path(), marker)) continue;
            found = kill(pid, SIGKILL) == 0 || found;
        }
        if (!found) return;
        usleep(2000);
    }
}

struct Exec {
    std::vector<std::string> strings;
    std::vector<char*> argv, envp;
    Exec(const ProcessRequest& r, const std::string& marker) {
        const std::size_t n_args = r.command.size();
        strings = r.command;
        std::map<std::string, std::string> env;
        for (char** e = environ; *e; ++e) {
            const std::string entry(*e);
            const std::size_t eq = entry.find('=');
            if (eq != std::string::npos) env[entry.substr(0, eq)] = entry.substr(eq + 1);
        }
        for (const auto& [k, v] : r.environment) env[k] = v;
        env[kMarker] += marker;
        for (const auto& [k, v] : env) strings.push_back(std::string(k).append("=").append(v));
        for (std::size_t i = 0; i < strings.size(); ++i) (i < n_args ? argv : envp).push_back(strings[i].data());
        argv.push_back(nullptr);
        envp.push_back(nullptr);
    }
};

/// Between fork and exec only async-signal-safe calls are allowed: everything was prepared before.
[[noreturn]] void child(Exec& exec, Pipe& in, Pipe& out, Pipe& err, Pipe& failure, const ProcessRequest& r) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!r.inherit_input || isatty(0)) dup2(in.read_end, 0);
    dup2(out.write_end, 1);
    dup2(err.write_end, 2);
    if (r.memory_limit > 0) {
        const rlimit limit{r.memory_limit, r.memory_limit};
        setrlimit(RLIMIT_AS, &limit);
    }
    unblock_signals();
    execvpe(exec.argv[0], exec.argv.data(), exec.envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(failure.write_end, &error, sizeof error);
    _exit(127);
}

/// Keeps what fits; returns how much that was.
std::size_t take(std::string& to, const char* data, std::size_t n, std::size_t limit, bool& truncated) {
    const std::size_t room = std::min(n, limit - std::min(limit, to.size()));
    to.append(data, room);
    truncated = truncated || n > room;
    return room;
}

void take_error(const ProcessRequest& r, const char* data, std::size_t n, ProcessResult& result) {
    const std::size_t kept = take(result.error, data, n, r.max_output, result.truncated);
    result.error_tail.append(data, n);
    if (result.error_tail.size() > kTail) result.error_tail.erase(0, result.error_tail.size() - kTail);
    if (r.forward_stderr && kept > 0) [[maybe_unused]]
        const ssize_t w = write(2, data, kept);
}

class Deadline {
public:
    explicit Deadline(const ProcessRequest& r) : request_(r) {}
    /// Notes in `result` why the child has to end, if it has to.
    bool over(ProcessResult& result) const {
        const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        result.timed_out = request_.timeout_seconds > 0 && elapsed > request_.timeout_seconds;
        result.cancelled = CancelScope::any_cancelled();
        return result.timed_out || result.cancelled;
    }

private:
    const ProcessRequest& request_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The child's exit status, once it has ended.
class Waiter {
public:
    explicit Waiter(pid_t pid) : pid_(pid) {}
    bool ended() {
        int status = 0;
        if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
        return status_.has_value();
    }
    int exit_code() const { return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_); }

private:
    pid_t pid_;
    std::optional<int> status_;
};

/// Reads both streams and feeds the input until the child closes them or ends, time is out, or somebody cancels.
class Conversation {
public:
    Conversation(const ProcessRequest& r, Pipe& in, Pipe& out, Pipe& err, ProcessResult& result)
        : r_(r), in_(in), out_(out), err_(err), result_(result) {
        if (r_.input.empty())
            in_.close_write();
        else
            fcntl(in_.write_end, F_SETFL, O_NONBLOCK);
    }

    void run(const Deadline& deadline, Waiter& child) {
        while (open() && !deadline.over(result_)) {
            // What it wrote before it ended is in the pipes still; a grandchild that holds them open is not waited for.
            const bool ended = child.ended();
            if (!step(ended ? 0 : 50) && ended) return;
            if (ended && ++rounds_after_end_ > 4096) return;
        }
    }

private:
    bool open() const { return out_.read_end >= 0 || err_.read_end >= 0; }

    /// Whether anything was there to read.
    bool step(int wait_ms) {
        std::array<pollfd, 3> fds{{{out_.read_end, POLLIN, 0}, {err_.read_end, POLLIN, 0}, {in_.write_end, POLLOUT, 0}}};
        poll(fds.data(), fds.size(), wait_ms);
        bool any = false;
        for (int k = 0; k < 2; ++k) any = read_from(k, fds[static_cast<std::size_t>(k)].revents) || any;
        if (in_.write_end >= 0 && (fds[2].revents & (POLLOUT | POLLERR | POLLHUP))) feed();
        return any;
    }

    bool read_from(int k, short events) {
        Pipe& p = k == 0 ? out_ : err_;
        if (p.read_end < 0 || !(events & (POLLIN | POLLHUP | POLLERR))) return false;
        const ssize_t n = read(p.read_end, buf_.data(), buf_.size());
        if (n <= 0) {
            p.close_read();
            return false;
        }
        if (k == 0)
            take(result_.output, buf_.data(), static_cast<std::size_t>(n), r_.max_output, result_.truncated);
        else
            take_error(r_, buf_.data(), static_cast<std::size_t>(n), result_);
        return true;
    }

    void feed() {
        const ssize_t n = write(in_.write_end, r_.input.data() + fed_, r_.input.size() - fed_);
        if (n > 0) fed_ += static_cast<std::size_t>(n);
        if (fed_ == r_.input.size() || (n < 0 && errno != EAGAIN)) in_.close_write();
    }

    const ProcessRequest& r_;
    Pipe &in_, &out_, &err_;
    ProcessResult& result_;
    std::size_t fed_ = 0;
    int rounds_after_end_ = 0;
    std::array<char, 65536> buf_;
};

/// A child may close its streams and go on. One that has to end may remove its temporary files before it does.
void wait_for(pid_t pid, Waiter& child, const Deadline& deadline, ProcessResult& result) {
    constexpr auto kGrace = std::chrono::milliseconds(500);
    std::optional<std::chrono::steady_clock::time_point> asked;
    while (!child.ended()) {
        if (result.timed_out || result.cancelled || deadline.over(result)) {
            const auto now = std::chrono::steady_clock::now();
            if (!asked) kill(-pid, SIGTERM);
            if (!asked) asked = now;
            if (now - *asked > kGrace) kill(-pid, SIGKILL);
        }
        usleep(2000);
    }
}

}  // namespace

ProcessResult run_process(const ProcessRequest& r) {
    JAXSCOPE_ASSERT(!r.command.empty());
    const std::string marker = new_marker();
    Exec exec(r, marker);
    Pipe in, out, err, failure;
    signal(SIGPIPE, SIG_IGN);
    const pid_t pid = fork();
    if (pid < 0) throw Error(ErrorCode::CannotRun, std::string("expected to start a process, found: ") + std::strerror(errno));
    if (pid == 0) child(exec, in, out, err, failure, r);
    setpgid(pid, pid);
    in.close_read();
    out.close_write();
    err.close_write();
    failure.close_write();
    ProcessResult result;
    int exec_error = 0;
    if (read(failure.read_end, &exec_error, sizeof exec_error) == sizeof exec_error) {
        waitpid(pid, nullptr, 0);
        throw Error(ErrorCode::NotFound, "expected the program '" + printable(r.command[0]) + "', found: " + std::strerror(exec_error));
    }
    const Deadline deadline(r);
    Waiter waiter(pid);
    Conversation(r, in, out, err, result).run(deadline, waiter);
    wait_for(pid, waiter, deadline, result);
    kill(-pid, SIGKILL);  // grandchildren that stayed behind
    end_descendants(marker);
    result.exit_code = waiter.exit_code();
    return result;
}

std::string last_line(const ProcessResult& result) {
    const std::string& text = result.error_tail;
    const std::string_view said(text.data(), text.find_last_not_of("\n\r ") + 1);  // npos + 1 is 0
    return std::string(said.substr(said.rfind('\n') + 1));
}

std::string last_word(const ProcessResult& result) {
    std::string_view all = trim(result.error_tail);
    const std::size_t at = all.rfind("jaxscope: "), code = all.rfind(" [");
    if (all.ends_with("]") && code != std::string_view::npos) all = all.substr(0, code);
    return at == std::string_view::npos ? printable(std::string(all), 400) : std::string(all.substr(at + 10));
}

}  // namespace jaxscope
