// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/code_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SHA1.h>

namespace jaxscope {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 256u << 20;
constexpr int kWritesBetweenCounts = 16;
constexpr const char* kEnding = ".code";

std::mutex mutex;
std::string folder;  ///< empty: no cache
std::atomic<int> found{0}, compiled{0}, writes{0};

/// Is it ours alone? Code in it is run.
bool is_private(const std::string& path) {
    struct stat s {};
    return stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string path_of(const std::string& content) {
    const std::lock_guard lock(mutex);
    return folder.empty() ? "" : folder + "/" + content + kEnding;
}

/// Removes what was used longest ago until a quarter is free. Others may remove the same.
void keep_within_bounds(const std::string& where) {
    struct File {
        fs::file_time_type used;
        std::uintmax_t bytes;
        fs::path path;
    };
    std::vector<File> files;
    std::uintmax_t total = 0;
    std::error_code none;
    for (fs::directory_iterator it(where, none), end; !none && it != end; it.increment(none)) {
        std::error_code gone;
        const File f{it->last_write_time(gone), it->file_size(gone), it->path()};
        if (gone) continue;
        total += f.bytes;
        files.push_back(f);
    }
    if (total <= kMostBytes) return;
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
    for (const File& f : files) {
        if (total <= kMostBytes / 4 * 3) break;
        fs::remove(f.path, none);
        total -= f.bytes;
    }
}

}  // namespace

void use_code_cache(const std::string& where) {
    std::error_code none;
    if (!where.empty()) {
        const mode_t before = umask(077);
        fs::create_directories(where, none);
        umask(before);
    }
    const std::lock_guard lock(mutex);
    folder = !where.empty() && is_private(where) ? where : "";
}

std::string usual_code_cache() {
    const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (cache && *cache == '/') return std::string(cache) + "/jaxscope/code";
    return home && *home == '/' ? std::string(home) + "/.cache/jaxscope/code" : "";
}

CodeCacheUse code_cache_use() { return {found, compiled}; }

namespace exec {

namespace {

/// What stands in a file: a head, then the object. The hash is of the object: a file that was cut or changed isn't run.
struct Head {
    char magic[8] = {'j', 'x', 's', 'c', 'o', 'd', 'e', '1'};
    std::uint64_t bytes = 0;
    std::uint8_t hash[20] = {};
    std::uint8_t none[4] = {};  // named, because heads are compared byte by byte
};
static_assert(sizeof(Head) == 40);

Head head_of(const char* object, std::size_t bytes) {
    Head h;
    h.bytes = bytes;
    const auto hash = llvm::SHA1::hash(llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(object), bytes));
    std::copy(hash.begin(), hash.end(), h.hash);
    return h;
}

bool write_all(int fd, const void* data, std::size_t n) {
    for (const auto* at = static_cast<const char*>(data); n > 0;) {
        const ssize_t w = ::write(fd, at, n);
        if (w <= 0) return false;
        at += w, n -= static_cast<std::size_t>(w);
    }
    return true;
}

}  // namespace

std::unique_ptr<llvm::MemoryBuffer> read_code(const std::string& content) {
    const std::string path = path_of(content);
    if (path.empty()) return nullptr;
    auto file = llvm::MemoryBuffer::getFile(path, false, false);
    if (!file) return nullptr;
    const llvm::StringRef all = (*file)->getBuffer();
    const llvm::StringRef object = all.substr(std::min(all.size(), sizeof(Head)));
    const Head expected = head_of(object.data(), object.size());
    if (all.size() < sizeof(Head) || std::memcmp(all.data(), &expected, sizeof(Head)) != 0) {
        ::unlink(path.c_str());
        return nullptr;
    }
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
    ++found;
    return llvm::MemoryBuffer::getMemBufferCopy(object, "kernels");
}

void write_code(const std::string& content, const llvm::MemoryBuffer& object) {
    ++compiled;
    const std::string path = path_of(content);
    if (path.empty()) return;
    std::string temporary = path + ".XXXXXX";
    const int fd = mkostemp(temporary.data(), O_CLOEXEC);
    if (fd < 0) return;
    const llvm::StringRef bytes = object.getBuffer();
    const Head head = head_of(bytes.data(), bytes.size());
    const bool whole = write_all(fd, &head, sizeof head) && write_all(fd, bytes.data(), bytes.size());
    ::close(fd);
    if (!whole || std::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
    if (writes++ % kWritesBetweenCounts == 0) keep_within_bounds(fs::path(path).parent_path().string());
}

}  // namespace exec

}  // namespace jaxscope
