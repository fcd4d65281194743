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

Error no_place(const std::string& path, const std::string& why) {
    return Error(ErrorCode::BadUsage, "expected a place to write '" + printable(path) + "', found: " + why);
}

bool synced(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return done;
}

/// A hidden name in the folder of `target`, short whatever that one's own is.
std::string beside(const std::string& target, const std::string& ending) {
    return (std::filesystem::path(target).parent_path() / (".jaxscope-" + ending)).string();
}

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// A file in the folder of `target` that has no name: it goes with the process, whatever ends it. -1 where the file system or the kernel
/// has none, or nobody could write to it.
int nameless_beside(const std::string& target) {
    const std::filesystem::path folder = std::filesystem::path(target).parent_path();
    const int fd = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0 && access(path_of(fd).c_str(), W_OK) != 0) {  // no /proc here
        close(fd);
        return -1;
    }
    return fd;
}
}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(path_) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(path_, none);  // fails where there is no file yet
    if (!none) target_ = real.string();
    std::error_code unseen;
    const std::filesystem::file_status status = std::filesystem::status(path_, unseen);
    if (std::filesystem::is_directory(status))
        throw Error(ErrorCode::BadUsage, "expected a file to write, found that '" + printable(path_) + "' is a directory");
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        out_.open(path_, std::ios::binary);
        return;
    }
    if (none && none != std::errc::no_such_file_or_directory) throw no_place(path_, none.message());
    nameless_ = nameless_beside(target_);
    if (nameless_ < 0) {
        const int fd = make_temporary();
        if (fd < 0) throw no_place(path_, std::strerror(errno));
        const mode_t mask = umask(0);
        umask(mask);
        fchmod(fd, 0666 & ~mask);
        close(fd);
    }
    out_.open(nameless_ >= 0 ? path_of(nameless_) : temporary_, std::ios::binary | std::ios::trunc);
}

int AtomicFile::make_temporary() {
    std::string name = beside(target_, "XXXXXX");
    Unfinished& unfinished = Unfinished::all();
    const std::lock_guard lock(unfinished.mutex);
    const int fd = mkstemp(name.data());
    if (fd < 0) return fd;
    unfinished.names.insert(name);
    temporary_ = std::move(name);
    return fd;
}

AtomicFile::~AtomicFile() {
    if (nameless_ >= 0) close(nameless_);
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
    const bool on_disk = nameless_ >= 0 ? fsync(nameless_) == 0 : temporary_.empty() || synced(temporary_);
    if (!written || !on_disk) throw cannot_write(path_);
    if (nameless_ >= 0) give_name();
}

/// Nothing takes the place of a file but what has a name itself.
void AtomicFile::give_name() {
    static std::atomic<unsigned> names{0};
    Unfinished& unfinished = Unfinished::all();
    const std::lock_guard lock(unfinished.mutex);
    int failed = 0;
    do {
        const std::string name = beside(target_, std::to_string(getpid()) + "-" + std::to_string(++names));
        failed = linkat(AT_FDCWD, path_of(nameless_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
        if (failed == 0) temporary_ = name;
    } while (failed != 0 && errno == EEXIST);
    if (failed != 0) throw cannot_write(path_);
    unfinished.names.insert(temporary_);
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
