// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "jit/kernels/library.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

/// Memory spaces of a CPU are one memory: a value that moves is copied, as it would be.
class Transfer final : public LibraryCall {
public:
    explicit Transfer(const Op& op) {
        for (const AvalRef a : op.in) bytes_.push_back(a->bytes());
    }
    void run(void* const* in, void* const* out, void*) const override {
        for (std::size_t i = 0; i < bytes_.size(); ++i)
            parallel_for(threads, bytes_[i], static_cast<double>(bytes_[i]) / 4, [&](std::int64_t begin, std::int64_t end) {
                std::memcpy(static_cast<char*>(out[i]) + begin, static_cast<const char*>(in[i]) + begin,
                            static_cast<std::size_t>(end - begin));
            });
    }

private:
    std::vector<std::int64_t> bytes_;
};

}  // namespace

bool moves_between_spaces(const Op& op) {
    if (op.prim != &kDevicePut) return false;
    for (std::size_t i = 0; i < op.in.size() && i < op.out.size(); ++i)
        if (op.in[i]->space != op.out[i]->space) return true;
    return false;
}

LibraryCallPtr make_transfer(const Op& op) { return moves_between_spaces(op) ? std::make_shared<Transfer>(op) : nullptr; }

}  // namespace jaxscope::exec
