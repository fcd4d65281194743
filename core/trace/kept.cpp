// SPDX-License-Identifier: Apache-2.0
#include "trace/kept.h"

namespace jaxscope::jax::detail {

KeptHandle::KeptHandle(const KeptHandle& o) noexcept : kept_(o.kept_) {
    if (kept_) kept_->refs.fetch_add(1);
}
KeptHandle::~KeptHandle() {
    if (kept_ && kept_->refs.fetch_sub(1) == 1) delete kept_;
}

}  // namespace jaxscope::jax::detail
