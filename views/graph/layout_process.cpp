// SPDX-License-Identifier: Apache-2.0
#include "graph/layout_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace jaxscope::views {

/// By posix_spawn: a fork would copy the page tables of a window with large programs, and each page that is written after it. Both its
/// streams are one socket, which, unlike a pipe, can be written to without a signal when nobody reads any more.
bool LayoutProcess::start() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
    posix_spawn_file_actions_t streams;
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_adddup2(&streams, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&streams, ends[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);  // this thread's may be blocked
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    std::array<char*, 2> arguments{path_.data(), nullptr};
    const bool started = posix_spawn(&pid_, path_.c_str(), &streams, &attributes, arguments.data(), environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&streams);
    close(ends[1]);
    socket_ = ends[0];
    if (!started) {
        pid_ = -1;
        stop();
    }
    return started;
}

void LayoutProcess::stop() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

bool LayoutProcess::wait(short events, Deadline until) const {
    using std::chrono::duration_cast, std::chrono::milliseconds;
    const auto left = duration_cast<milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd ready{socket_, events, 0};
    return left > 0 && poll(&ready, 1, static_cast<int>(left)) > 0;
}

bool LayoutProcess::send_all(const std::string& text, Deadline until) const {
    for (std::size_t sent = 0; sent < text.size();) {
        if (!wait(POLLOUT, until)) return false;
        const ssize_t now = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (now <= 0 && errno != EAGAIN) return false;
        sent += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
    }
    return true;
}

bool LayoutProcess::ask(const std::string& request, Deadline until, std::string& answer) {
    constexpr std::string_view kEnd = "end\n";
    const auto fail = [&](const char* why) {
        stop();
        answer = why;
        return false;
    };
    if (pid_ < 0 && !start()) return fail("it doesn't start");
    if (!send_all(request, until)) return fail(std::chrono::steady_clock::now() < until ? "it died" : "it takes too long");
    answer.clear();
    while (!answer.ends_with(kEnd)) {
        if (!wait(POLLIN, until)) return fail("it takes too long");
        std::array<char, 1 << 16> part{};
        const ssize_t got = recv(socket_, part.data(), part.size(), 0);
        if (got <= 0) return fail("it died");
        answer.append(part.data(), static_cast<std::size_t>(got));
    }
    answer.resize(answer.size() - kEnd.size());
    return true;
}

}  // namespace jaxscope::views
