// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/limits.h"

namespace jaxscope {

namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::uint32_t kAll32 = 0xFFFFFFFF;
constexpr std::uint16_t kAll16 = 0xFFFF;
constexpr std::uint64_t kMaxMembers = 1 << 20;
// Zeros pack well: so much of what expands a lot harms nobody.
constexpr std::uint64_t kExpansionFree = 64 << 20;

template <class T>
T get(const std::string& bytes, std::size_t at) {
    T v = 0;
    std::memcpy(&v, bytes.data() + at, sizeof v);
    return v;
}
template <class T>
void put(std::string& bytes, T v) {
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
}

/// The zip64 extra field: those of the three numbers that don't fit 32 bits, in this order.
void apply_zip64(const std::string& extra, ZipReader::Member& m) {
    for (std::size_t at = 0; at + 4 <= extra.size();) {
        const auto id = get<std::uint16_t>(extra, at), length = get<std::uint16_t>(extra, at + 2);
        std::size_t from = at + 4;
        const std::size_t end = from + length;
        if (end > extra.size()) return;
        if (id == 1)
            for (std::uint64_t* field : {&m.size, &m.packed, &m.offset})
                if (*field == kAll32 && from + 8 <= end) {
                    *field = get<std::uint64_t>(extra, from);
                    from += 8;
                }
        at = end;
    }
}

std::string inflate_bytes(const std::string& packed, std::uint64_t size) {
    std::string out(size, '\0');
    z_stream z{};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return {};
    std::uint64_t in_done = 0, out_done = 0;
    int status = Z_OK;
    constexpr std::uint64_t kStep = 1u << 30;  // zlib counts in 32 bits
    while (status == Z_OK) {
        const auto in_now = std::min(packed.size() - in_done, kStep), out_now = std::min(size - out_done, kStep);
        z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in_done));
        z.avail_in = static_cast<uInt>(in_now);
        z.next_out = reinterpret_cast<Bytef*>(out.data() + out_done);
        z.avail_out = static_cast<uInt>(out_now);
        status = inflate(&z, Z_NO_FLUSH);
        in_done += in_now - z.avail_in;
        out_done += out_now - z.avail_out;
    }
    inflateEnd(&z);
    return status == Z_STREAM_END && out_done == size ? out : std::string();
}

std::uint32_t crc_of(const char* data, std::uint64_t size, std::uint32_t crc = 0) {
    while (size > 0) {
        const std::uint64_t now = std::min<std::uint64_t>(size, 1u << 30);
        crc = static_cast<std::uint32_t>(crc32(crc, reinterpret_cast<const Bytef*>(data), static_cast<uInt>(now)));
        data += now;
        size -= now;
    }
    return crc;
}

}  // namespace

void ZipReader::damaged(const std::string& what) const {
    throw Error(ErrorCode::BadInput, "expected an archive of arrays (npz), found " + what).at({path_});
}

std::string ZipReader::bytes_at(std::uint64_t offset, std::uint64_t count) const {
    if (offset > file_size_ || count > file_size_ - offset) damaged("a member beyond the end of the file");
    std::string bytes(count, '\0');
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(bytes.data(), static_cast<std::streamsize>(count));
    if (!file_) damaged("the end of the file");
    return bytes;
}

ZipReader::ZipReader(const std::string& path) : path_(path), file_(path, std::ios::binary | std::ios::ate) {
    if (!file_) throw Error(ErrorCode::NotFound, "expected an archive of arrays (npz), found no such file").at({path});
    file_size_ = static_cast<std::uint64_t>(std::max<std::streamoff>(file_.tellg(), 0));
    constexpr std::uint64_t kEndSize = 22;
    const std::uint64_t tail_size = std::min<std::uint64_t>(file_size_, kEndSize + kAll16);
    const std::string tail = bytes_at(file_size_ - tail_size, tail_size);
    std::size_t at = std::string::npos;
    for (std::size_t i = tail.size() < kEndSize ? 0 : tail.size() - kEndSize + 1; i-- > 0;)
        if (get<std::uint32_t>(tail, i) == kEnd) {
            at = i;
            break;
        }
    if (at == std::string::npos || tail.size() < kEndSize) damaged("no directory");
    std::uint64_t count = get<std::uint16_t>(tail, at + 10), size = get<std::uint32_t>(tail, at + 12),
                  offset = get<std::uint32_t>(tail, at + 16);
    if ((count == kAll16 || size == kAll32 || offset == kAll32) && at >= 20 && get<std::uint32_t>(tail, at - 20) == kLocator64) {
        const std::string end64 = bytes_at(get<std::uint64_t>(tail, at - 20 + 8), 56);
        if (get<std::uint32_t>(end64, 0) != kEnd64) damaged("a damaged directory");
        count = get<std::uint64_t>(end64, 32);
        size = get<std::uint64_t>(end64, 40);
        offset = get<std::uint64_t>(end64, 48);
    }
    read_directory(offset, count, size);
}

void ZipReader::read_directory(std::uint64_t offset, std::uint64_t count, std::uint64_t size) {
    if (count > kMaxMembers) damaged("more than " + std::to_string(kMaxMembers) + " members");
    const std::string directory = bytes_at(offset, size);
    constexpr std::size_t kHeader = 46;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (directory.size() < kHeader || at > directory.size() - kHeader || get<std::uint32_t>(directory, at) != kCentral)
            damaged("a damaged directory");
        Member m;
        m.method = get<std::uint16_t>(directory, at + 10);
        m.crc = get<std::uint32_t>(directory, at + 16);
        m.packed = get<std::uint32_t>(directory, at + 20);
        m.size = get<std::uint32_t>(directory, at + 24);
        m.offset = get<std::uint32_t>(directory, at + 42);
        const std::size_t name = get<std::uint16_t>(directory, at + 28), extra = get<std::uint16_t>(directory, at + 30),
                          comment = get<std::uint16_t>(directory, at + 32);
        if (name + extra + comment > directory.size() - at - kHeader) damaged("a damaged directory");
        m.name = directory.substr(at + kHeader, name);
        apply_zip64(directory.substr(at + kHeader + name, extra), m);
        members_.push_back(std::move(m));
        at += kHeader + name + extra + comment;
    }
}

std::string ZipReader::read(const Member& m, std::uint64_t limit) const {
    const std::string name = "member '" + printable(m.name, 60) + "'";
    if (m.size > limit)
        throw Error(ErrorCode::LimitExceeded,
                    "expected at most " + std::to_string(limit) + " bytes in " + name + ", found " + std::to_string(m.size))
            .at({path_});
    const std::string head = bytes_at(m.offset, 30);
    if (get<std::uint32_t>(head, 0) != kLocal) damaged("a damaged " + name);
    const std::uint64_t data = m.offset + 30 + get<std::uint16_t>(head, 26) + get<std::uint16_t>(head, 28);
    std::string bytes = bytes_at(data, m.packed);
    if (m.method == 8) {
        // Deflate gives at most 1032 bytes for one: a bigger promise is a lie that would only cost memory.
        if (m.size / 1033 > m.packed) damaged("a damaged " + name);
        if (m.size / kMaxExpansion.value > m.packed && (expanded_ += m.size) > kExpansionFree)
            throw Error(ErrorCode::LimitExceeded,
                        "expected " + name + " to expand at most " + std::to_string(kMaxExpansion.value) + " times, found more")
                .at({path_});
        bytes = inflate_bytes(bytes, m.size);
    } else if (m.method != 0) {
        damaged(name + ", compressed by method " + std::to_string(m.method));
    }
    if (bytes.size() != m.size || crc_of(bytes.data(), bytes.size()) != m.crc) damaged("a damaged " + name);
    return bytes;
}

// ---- Writing ----------------------------------------------------------------------------------------------------------------

namespace {
/// What local and central headers share: from "version needed" to the lengths of name and extra field.
void put_common(std::string& h, const ZipReader::Member& m, std::size_t extra) {
    const bool big = m.size >= kAll32;
    put<std::uint16_t>(h, 45);
    put<std::uint16_t>(h, 0);
    put<std::uint16_t>(h, 0);           // stored
    put<std::uint32_t>(h, 0x00210000);  // 1980-01-01: equal arrays give equal files
    put<std::uint32_t>(h, m.crc);
    put<std::uint32_t>(h, big ? kAll32 : static_cast<std::uint32_t>(m.size));
    put<std::uint32_t>(h, big ? kAll32 : static_cast<std::uint32_t>(m.size));
    put<std::uint16_t>(h, static_cast<std::uint16_t>(m.name.size()));
    put<std::uint16_t>(h, static_cast<std::uint16_t>(extra));
}
}  // namespace

void ZipWriter::write(const std::string& bytes) {
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    offset_ += bytes.size();
}

void ZipWriter::add(const std::string& name, const std::string& head, const char* data, std::uint64_t size) {
    ZipReader::Member m;
    m.name = name;
    m.offset = offset_;
    m.size = m.packed = head.size() + size;
    m.crc = crc_of(data, size, crc_of(head.data(), head.size()));
    std::string h;
    put(h, kLocal);
    put_common(h, m, m.size >= kAll32 ? 20 : 0);
    h += name;
    if (m.size >= kAll32) {
        put<std::uint16_t>(h, 1);
        put<std::uint16_t>(h, 16);
        put(h, m.size);
        put(h, m.size);
    }
    write(h + head);
    out_.write(data, static_cast<std::streamsize>(size));
    offset_ += size;
    members_.push_back(std::move(m));
}

void ZipWriter::finish() {
    const std::uint64_t start = offset_;
    for (const ZipReader::Member& m : members_) {
        std::string h, extra;
        if (m.size >= kAll32) {
            put(extra, m.size);
            put(extra, m.size);
        }
        if (m.offset >= kAll32) put(extra, m.offset);
        put(h, kCentral);
        put<std::uint16_t>(h, 45);
        put_common(h, m, extra.empty() ? 0 : extra.size() + 4);
        put<std::uint16_t>(h, 0);  // comment
        put<std::uint16_t>(h, 0);  // disk
        put<std::uint16_t>(h, 0);
        put<std::uint32_t>(h, 0);
        put<std::uint32_t>(h, static_cast<std::uint32_t>(std::min<std::uint64_t>(m.offset, kAll32)));
        h += m.name;
        if (!extra.empty()) {
            put<std::uint16_t>(h, 1);
            put<std::uint16_t>(h, static_cast<std::uint16_t>(extra.size()));
            h += extra;
        }
        write(h);
    }
    const std::uint64_t size = offset_ - start, end64 = offset_, count = members_.size();
    std::string h;
    if (start >= kAll32 || count >= kAll16) {
        put(h, kEnd64);
        put<std::uint64_t>(h, 44);
        put<std::uint16_t>(h, 45);
        put<std::uint16_t>(h, 45);
        put<std::uint32_t>(h, 0);
        put<std::uint32_t>(h, 0);
        for (const std::uint64_t v : {count, count, size, start}) put(h, v);
        put(h, kLocator64);
        put<std::uint32_t>(h, 0);
        put(h, end64);
        put<std::uint32_t>(h, 1);
    }
    put(h, kEnd);
    put<std::uint32_t>(h, 0);
    for (int i = 0; i < 2; ++i) put<std::uint16_t>(h, static_cast<std::uint16_t>(std::min<std::uint64_t>(count, kAll16)));
    put<std::uint32_t>(h, static_cast<std::uint32_t>(std::min<std::uint64_t>(size, kAll32)));
    put<std::uint32_t>(h, static_cast<std::uint32_t>(std::min<std::uint64_t>(start, kAll32)));
    put<std::uint16_t>(h, 0);
    write(h);
}

}  // namespace jaxscope
