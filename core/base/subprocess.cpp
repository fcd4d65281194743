#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"

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

struct Exec {
    std::vector<std::string> strings;
    std::vector<char*> argv, envp;
    explicit Exec(const ProcessRequest& r) {
        const std::size_t n_args = r.command.size();
        strings = r.command;
        std::map<std::string, std::string> env;
        for (char** e = environ; *e; ++e) {
            const std::string entry(*e);
            const std::size_t eq = entry.find('=');
            if (eq != std::string::npos) env[entry.substr(0, eq)] = entry.substr(eq + 1);
        }
        for (const auto& [k, v] : r.environment) env[k] = v;
        for (const auto& [k, v] : env) strings.push_back(std::string(k).append("=").append(v));
        for (std::size_t i = 0; i < strings.size(); ++i) (i < n_args ? argv : envp).push_back(strings[i].data());
        argv.push_back(nullptr);
        envp.push_back(nullptr);
    }
};

/// Between fork and exec only async-signal-safe calls are allowed: everything was prepared before.
[[noreturn]] void child(Exec& exec, Pipe& in, Pipe& out, Pipe& err, Pipe& failure, std::size_t memory_limit) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in.read_end, 0);
    dup2(out.write_end, 1);
    dup2(err.write_end, 2);
    if (memory_limit > 0) {
        const rlimit limit{memory_limit, memory_limit};
        setrlimit(RLIMIT_AS, &limit);
    }
    execvpe(exec.argv[0], exec.argv.data(), exec.envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(failure.write_end, &error, sizeof error);
    _exit(127);
}

void take(std::string& to, const char* data, std::size_t n, std::size_t limit, bool& truncated) {
    const std::size_t room = limit - std::min(limit, to.size());
    to.append(data, std::min(n, room));
    truncated = truncated || n > room;
}

class Deadline {
public:
    explicit Deadline(const ProcessRequest& r) : request_(r) {}
    /// Notes in `result` why the child has to end, if it has to.
    bool over(ProcessResult& result) const {
        const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        result.timed_out = request_.timeout_seconds > 0 && elapsed > request_.timeout_seconds;
        result.cancelled = request_.cancel && request_.cancel->load();
        return result.timed_out || result.cancelled;
    }

private:
    const ProcessRequest& request_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Reads both streams and feeds the input until the child closes them, time is out, or somebody cancels.
void converse(const ProcessRequest& r, const Deadline& deadline, Pipe& in, Pipe& out, Pipe& err, ProcessResult& result) {
    std::size_t fed = 0;
    if (r.input.empty())
        in.close_write();
    else
        fcntl(in.write_end, F_SETFL, O_NONBLOCK);
    std::array<char, 65536> buf;
    while (out.read_end >= 0 || err.read_end >= 0) {
        std::array<pollfd, 3> fds{{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}, {in.write_end, POLLOUT, 0}}};
        poll(fds.data(), fds.size(), 50);
        if (deadline.over(result)) return;
        for (int k = 0; k < 2; ++k) {
            Pipe& p = k == 0 ? out : err;
            if (p.read_end < 0 || !(fds[static_cast<std::size_t>(k)].revents & (POLLIN | POLLHUP | POLLERR))) continue;
            const ssize_t n = read(p.read_end, buf.data(), buf.size());
            if (n <= 0) {
                p.close_read();
                continue;
            }
            take(k == 0 ? result.output : result.error, buf.data(), static_cast<std::size_t>(n), r.max_output, result.truncated);
            if (k == 1 && r.forward_stderr) [[maybe_unused]]
                const ssize_t w = write(2, buf.data(), static_cast<std::size_t>(n));
        }
        if (in.write_end >= 0 && (fds[2].revents & (POLLOUT | POLLERR | POLLHUP))) {
            const ssize_t n = write(in.write_end, r.input.data() + fed, r.input.size() - fed);
            if (n > 0) fed += static_cast<std::size_t>(n);
            if (fed == r.input.size() || (n < 0 && errno != EAGAIN)) in.close_write();
        }
    }
}

}  // namespace

ProcessResult run_process(const ProcessRequest& r) {
    JAXSCOPE_ASSERT(!r.command.empty());
    Exec exec(r);
    Pipe in, out, err, failure;
    signal(SIGPIPE, SIG_IGN);
    const pid_t pid = fork();
    if (pid < 0) throw Error(ErrorCode::CannotRun, std::string("expected to start a process, found: ") + std::strerror(errno));
    if (pid == 0) child(exec, in, out, err, failure, r.memory_limit);
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
    converse(r, deadline, in, out, err, result);
    // A child may close its streams and go on.
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (result.timed_out || result.cancelled || deadline.over(result)) kill(-pid, SIGKILL);
        usleep(2000);
    }
    kill(-pid, SIGKILL);  // grandchildren that stayed behind
    result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
}

}  // namespace jaxscope
