// SPDX-License-Identifier: Apache-2.0
#include "selection/selection.h"

namespace jaxscope::views {

void Selection::set_correspondence(std::shared_ptr<const Correspondence> correspondence, std::uint64_t derivation) {
    if (correspondence == correspondence_ && derivation == derivation_) return;
    correspondence_ = std::move(correspondence);
    const Picked kept = derivation == derivation_ ? picked_ : picked_.without_derived();
    derivation_ = derivation;
    take(correspondence_ && !kept.empty() ? correspondence_->complete(kept) : kept);
}

void Selection::pick(const Picked& picked) {
    // A view that follows a change moves its own cursor, which would report back here.
    if (telling_) return;
    take(correspondence_ ? correspondence_->complete(picked) : picked);
}

void Selection::take(const Picked& picked) {
    if (picked == picked_) return;
    picked_ = picked;
    telling_ = true;
    Q_EMIT changed(picked_);
    telling_ = false;
}

}  // namespace jaxscope::views
