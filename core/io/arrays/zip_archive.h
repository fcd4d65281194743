// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"

namespace jaxscope {

/// The part of zip that NumPy's archives use: stored and deflated members, zip64. Reads only the directory until a member is asked for.
class ZipReader {
public:
    struct Member {
        std::string name;
        std::uint64_t offset = 0, packed = 0, size = 0;
        std::uint16_t method = 0;
        std::uint32_t crc = 0;
    };
    explicit ZipReader(const std::string& path);
    const std::vector<Member>& members() const { return members_; }
    /// The bytes of a member; throws Error{LimitExceeded} when there would be more than `limit`, Error{BadInput} on damage.
    std::string read(const Member& member, std::uint64_t limit) const;

private:
    std::string bytes_at(std::uint64_t offset, std::uint64_t count) const;
    void read_directory(std::uint64_t offset, std::uint64_t count, std::uint64_t size);
    [[noreturn]] void damaged(const std::string& what) const;
    std::string path_;
    mutable std::ifstream file_;
    mutable std::uint64_t expanded_ = 0;  ///< bytes of members that expand more than kMaxExpansion times
    std::uint64_t file_size_ = 0;
    std::vector<Member> members_;
};

/// Writes stored members one after the other; zip64 where sizes ask for it. `finish` writes the directory.
class ZipWriter {
public:
    explicit ZipWriter(std::ostream& out) : out_(out) {}
    void add(const std::string& name, const std::string& head, const char* data, std::uint64_t size);
    void finish();

private:
    void write(const std::string& bytes);
    std::ostream& out_;
    std::uint64_t offset_ = 0;
    std::vector<ZipReader::Member> members_;
};

}  // namespace jaxscope
