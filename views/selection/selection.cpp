#include "selection/selection.h"

namespace jaxscope::views {

void Selection::set_correspondence(std::shared_ptr<const Correspondence> correspondence) { correspondence_ = std::move(correspondence); }

void Selection::pick(const Picked& picked) {
    // A view that follows a change moves its own cursor, which would report back here.
    if (telling_) return;
    const Picked complete = correspondence_ ? correspondence_->complete(picked) : picked;
    if (complete == picked_) return;
    picked_ = complete;
    telling_ = true;
    Q_EMIT changed(picked_);
    telling_ = false;
}

}  // namespace jaxscope::views
