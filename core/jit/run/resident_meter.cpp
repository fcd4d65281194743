// SPDX-License-Identifier: Apache-2.0
#include "jit/run/resident_meter.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace jaxscope::exec {

namespace {

/// The bytes behind `key` in /proc/self/status, whose lines are "RssAnon:     1234 kB"; -1: no such line.
std::int64_t bytes_of(std::string_view status, std::string_view key) {
    const std::size_t at = status.find(key);
    return at == std::string_view::npos ? -1 : std::strtoll(status.data() + at + key.size(), nullptr, 10) * 1024;
}

/// Writes or reads a file of /proc without allocating. Returns bytes, or -1 with errno.
ssize_t with_file(const char* path, int flags, const auto& fn) {
    const int fd = ::open(path, flags | O_CLOEXEC);
    if (fd < 0) return -1;
    const ssize_t n = fn(fd);
    const int error = errno;
    ::close(fd);
    errno = error;
    return n;
}

}  // namespace

ResidentMeter::ResidentMeter() {
    malloc_trim(0);
    read();  // forgets what was highest before
    const Reading begin = read();
    windows_.push_back({begin.now, begin.now});
}

/// Pages of files aren't counted: code of libraries comes in when it is first called, and goes when the system likes.
std::optional<ResidentMeter::Reading> ResidentMeter::look() {
    char text[4096];
    const ssize_t n = with_file("/proc/self/status", O_RDONLY, [&](int fd) { return ::read(fd, text, sizeof text - 1); });
    text[std::max<ssize_t>(n, 0)] = 0;
    const std::string_view status(text);
    const std::int64_t highest = bytes_of(status, "VmHWM:"), anonymous = bytes_of(status, "RssAnon:"), file = bytes_of(status, "RssFile:"),
                       shared = bytes_of(status, "RssShmem:");
    if (highest < 0 || anonymous < 0 || file < 0 || shared < 0) {
        problem_ = "expected VmHWM and RssAnon in /proc/self/status, found none";
        return std::nullopt;
    }
    return Reading{anonymous + shared, highest - file};
}

/// The highest is kept by a rough count, which lacks what single processors have counted since they last told (64 KiB and more), while what
/// is there now is counted anew. Where the rough count is ahead right after it began anew, so it was all the time: nothing rose.
ResidentMeter::Reading ResidentMeter::read() {
    if (!problem_.empty()) return {};
    const std::optional<Reading> before = look();
    if (!before) return {};
    // "5": the highest begins anew (proc(5)).
    if (with_file("/proc/self/clear_refs", O_WRONLY, [](int fd) { return ::write(fd, "5", 1); }) != 1)
        problem_ = std::string("expected to set the peak in /proc/self/clear_refs back, found: ") + std::strerror(errno);
    const Reading r{before->now, std::max(before->now, before->highest - ahead_)};
    if (const std::optional<Reading> after = look()) ahead_ = after->highest - after->now;
    return r;
}

std::int64_t ResidentMeter::note(const Reading& r) {
    for (Window& w : windows_) w.highest = std::max(w.highest, r.highest);
    return r.now;
}

std::int64_t ResidentMeter::peak() {
    note(read());
    return windows_.front().highest - windows_.front().begin;
}

void ResidentMeter::open() {
    const std::int64_t now = note(read());
    windows_.push_back({now, now});
}

std::int64_t ResidentMeter::close() {
    note(read());
    const Window w = windows_.back();
    windows_.pop_back();
    return w.highest - w.begin;
}

}  // namespace jaxscope::exec
