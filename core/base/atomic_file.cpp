#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace jaxscope {

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
    const int fd = mkstemp(temporary_.data());
    if (fd < 0) throw Error(ErrorCode::BadUsage, "expected a place to write '" + printable(path_) + "', found: " + std::strerror(errno));
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    close(fd);
    out_.open(temporary_, std::ios::binary | std::ios::trunc);
}

AtomicFile::~AtomicFile() {
    if (!done_) unlink(temporary_.c_str());
}

void AtomicFile::commit() {
    out_.flush();
    const bool written = static_cast<bool>(out_);
    out_.close();
    const int fd = open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    if (!written || !synced || std::rename(temporary_.c_str(), path_.c_str()) != 0)
        throw Error(ErrorCode::CannotRun, "expected to write '" + printable(path_) + "', found: " + std::strerror(errno));
    done_ = true;
}

}  // namespace jaxscope
