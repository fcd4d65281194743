// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/error.h"

namespace jaxscope {

namespace {

/// Names of temporary files that stand beside their targets now. Never destroyed: a process may end while a thread still writes.
struct Unfinished {
    std::mutex mutex;
    std::set<std::string> names;
    static Unfinished& all() {
        static auto& files = *new Unfinished;
        return files;
    }
};

std::atomic<void (*)()> before_change{nullptr};
thread_local int for_a_child = 0;

Error cannot_write(const std::string& path) {
    return Error(ErrorCode::CannotRun,
                 "expected to write '" + printable(path) + "', found: " + (errno != 0 ? std::strerror(errno) : "it can't be opened"));
}

bool synced(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return done;
}
}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(path_) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(path_, none);  // fails where there is no file yet
    if (!none) target_ = real.string();
    const std::filesystem::file_status status = std::filesystem::status(path_, none);
    if (std::filesystem::is_directory(status))
        throw Error(ErrorCode::BadUsage, "expected a file to write, found that '" + printable(path_) + "' is a directory");
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        out_.open(path_, std::ios::binary);
        return;
    }
    temporary_ = target_ + ".XXXXXX";
    Unfinished& unfinished = Unfinished::all();
    const std::lock_guard lock(unfinished.mutex);
    const int fd = mkstemp(temporary_.data());
    if (fd < 0) throw Error(ErrorCode::BadUsage, "expected a place to write '" + printable(path_) + "', found: " + std::strerror(errno));
    unfinished.names.insert(temporary_);
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    close(fd);
    out_.open(temporary_, std::ios::binary | std::ios::trunc);
}

AtomicFile::~AtomicFile() {
    if (temporary_.empty()) return;
    if (!done_) unlink(temporary_.c_str());
    Unfinished& unfinished = Unfinished::all();
    const std::lock_guard lock(unfinished.mutex);
    unfinished.names.erase(temporary_);
}

void remove_unfinished_files() {
    Unfinished& unfinished = Unfinished::all();
    const std::lock_guard lock(unfinished.mutex);
    for (const std::string& name : unfinished.names) unlink(name.c_str());
}

void ask_before_files_change(void (*asked)()) { before_change = asked; }

FilesForAChild::FilesForAChild() { ++for_a_child; }
FilesForAChild::~FilesForAChild() { --for_a_child; }

void AtomicFile::make_whole() {
    if (out_) errno = 0;  // else what went wrong while it was written stands there
    out_.flush();
    const bool written = static_cast<bool>(out_);
    out_.close();
    if (!written || (!temporary_.empty() && !synced(temporary_))) throw cannot_write(path_);
}

void AtomicFile::put_in_place() {
    if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0) throw cannot_write(path_);
    done_ = true;
}

void AtomicFile::commit(std::initializer_list<AtomicFile*> files) {
    for (AtomicFile* f : files) f->make_whole();
    if (const auto asked = before_change.load(); asked && for_a_child == 0) asked();
    for (AtomicFile* f : files) f->put_in_place();
}

}  // namespace jaxscope
