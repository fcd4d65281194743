// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace jaxscope {

/// The bytes of a file (or of a string), plain or zstd-compressed, in chunks: told apart by their first bytes, not by the name.
/// Throws Error{NotFound} when a file can't be opened, Error{BadInput} on a damaged frame, Error{LimitExceeded} on an expansion
/// beyond limits.h. `name` is what errors call it.
class ByteSource {
public:
    static std::unique_ptr<ByteSource> file(const std::string& path);
    static std::unique_ptr<ByteSource> text(std::string_view bytes, std::string name);
    virtual ~ByteSource() = default;

    const std::string& name() const { return name_; }
    std::int64_t bytes_in() const { return in_; }  ///< read so far, before decompression
    /// The next chunk, empty at the end. Valid until the next call.
    std::string_view next();

protected:
    explicit ByteSource(std::string name);
    /// Raw bytes, empty at the end.
    virtual std::string_view read() = 0;

private:
    std::string_view next_decompressed();
    struct Zstd;
    struct ZstdDeleter {
        void operator()(Zstd* z) const;
    };
    std::string name_;
    std::unique_ptr<Zstd, ZstdDeleter> zstd_;
    std::string_view pending_;
    bool started_ = false, ended_ = false, frame_open_ = false;
    std::int64_t in_ = 0, out_ = 0;
};

}  // namespace jaxscope
