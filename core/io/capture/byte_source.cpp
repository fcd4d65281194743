// SPDX-License-Identifier: Apache-2.0
#include "io/capture/byte_source.h"

#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/cancel.h"
#include "base/limits.h"

namespace jaxscope {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;
// So little memory harms nobody, and small files of few distinct bytes expand a lot.
constexpr std::int64_t kExpansionFree = 1 << 20;
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

class FileSource final : public ByteSource {
public:
    explicit FileSource(const std::string& path) : ByteSource(path), file_(std::fopen(path.c_str(), "rb")), buffer_(kChunk) {
        if (!file_) throw Error(ErrorCode::NotFound, std::string("expected a file to read, found: ") + std::strerror(errno)).at({path});
    }
    ~FileSource() override {
        if (file_) std::fclose(file_);
    }

protected:
    std::string_view read() override {
        const std::size_t n = std::fread(buffer_.data(), 1, buffer_.size(), file_);
        if (n == 0 && std::ferror(file_))
            throw Error(ErrorCode::NotFound, std::string("expected a file to read, found: ") + std::strerror(errno)).at({name()});
        return {buffer_.data(), n};
    }

private:
    std::FILE* file_;
    std::vector<char> buffer_;
};

class TextSource final : public ByteSource {
public:
    TextSource(std::string_view bytes, std::string name) : ByteSource(std::move(name)), rest_(bytes) {}

protected:
    std::string_view read() override {
        const std::string_view chunk = rest_.substr(0, kChunk);
        rest_.remove_prefix(chunk.size());
        return chunk;
    }

private:
    std::string_view rest_;
};

}  // namespace

struct ByteSource::Zstd {
    ZSTD_DStream* stream = ZSTD_createDStream();
    std::vector<char> out = std::vector<char>(kChunk);
};
void ByteSource::ZstdDeleter::operator()(Zstd* z) const {
    ZSTD_freeDStream(z->stream);
    delete z;
}

ByteSource::ByteSource(std::string name) : name_(std::move(name)) {}
std::unique_ptr<ByteSource> ByteSource::file(const std::string& path) { return std::make_unique<FileSource>(path); }
std::unique_ptr<ByteSource> ByteSource::text(std::string_view bytes, std::string name) {
    return std::make_unique<TextSource>(bytes, std::move(name));
}

std::string_view ByteSource::next() {
    if (!started_) {
        started_ = true;
        pending_ = read();
        in_ += static_cast<std::int64_t>(pending_.size());
        if (pending_.starts_with(kZstdMagic)) {
            zstd_.reset(new Zstd);
            ZSTD_initDStream(zstd_->stream);
            // A window beyond 128 MiB would be memory that the file alone decides on.
            ZSTD_DCtx_setParameter(zstd_->stream, ZSTD_d_windowLogMax, 27);
        }
    }
    check_cancelled();
    std::string_view chunk;
    if (zstd_) {
        chunk = next_decompressed();
    } else {
        chunk = pending_.empty() ? read() : pending_;
        if (pending_.empty()) in_ += static_cast<std::int64_t>(chunk.size());
        pending_ = {};
    }
    out_ += static_cast<std::int64_t>(chunk.size());
    if (out_ > static_cast<std::int64_t>(kMaxFileBytes.value))
        throw Error(ErrorCode::LimitExceeded, "expected at most " + std::to_string(kMaxFileBytes.value) + " bytes, found more").at({name_});
    if (zstd_ && out_ > kExpansionFree && out_ > static_cast<std::int64_t>(kMaxExpansion.value) * in_)
        throw Error(ErrorCode::LimitExceeded,
                    "expected a compressed file that expands at most " + std::to_string(kMaxExpansion.value) + " times, found more")
            .at({name_});
    return chunk;
}

std::string_view ByteSource::next_decompressed() {
    while (!ended_) {
        if (pending_.empty()) {
            pending_ = read();
            in_ += static_cast<std::int64_t>(pending_.size());
            if (pending_.empty()) {
                ended_ = true;
                if (frame_open_)
                    throw Error(ErrorCode::BadInput, "expected the rest of a zstd frame, found the end of the file").at({name_});
                break;
            }
        }
        ZSTD_inBuffer in{pending_.data(), pending_.size(), 0};
        ZSTD_outBuffer out{zstd_->out.data(), zstd_->out.size(), 0};
        const std::size_t left = ZSTD_decompressStream(zstd_->stream, &out, &in);
        if (ZSTD_isError(left))
            throw Error(ErrorCode::BadInput, std::string("expected a zstd frame, found: ") + ZSTD_getErrorName(left)).at({name_});
        pending_.remove_prefix(in.pos);
        frame_open_ = left != 0;
        if (out.pos > 0) return {zstd_->out.data(), out.pos};
    }
    return {};
}

}  // namespace jaxscope
