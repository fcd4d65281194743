// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a transformation keeps behind a callable that it returns: counted, so that the callable can be copied, kept and called often.
#include <jaxscope/function.h>

namespace jaxscope::jax::detail {

class Kept;
class KeptHandle {
public:
    KeptHandle() = default;
    explicit KeptHandle(Kept* kept) noexcept : kept_(kept) {}  ///< takes over one count
    KeptHandle(const KeptHandle& o) noexcept;
    KeptHandle(KeptHandle&& o) noexcept : kept_(o.kept_) { o.kept_ = nullptr; }
    KeptHandle& operator=(KeptHandle o) noexcept {
        Kept* const old = kept_;
        kept_ = o.kept_;
        o.kept_ = old;
        return *this;
    }
    ~KeptHandle();
    explicit operator bool() const { return kept_; }
    Kept& operator*() const { return *kept_; }

private:
    Kept* kept_ = nullptr;
};

}  // namespace jaxscope::jax::detail
