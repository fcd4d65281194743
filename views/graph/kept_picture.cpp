// SPDX-License-Identifier: Apache-2.0
#include "graph/kept_picture.h"

#include <QPainter>
#include <QRegion>
#include <cmath>

namespace jaxscope::views {
namespace {

/// By how much `now` shows the same further to the right and further down; false: it shows it otherwise.
bool moved(const QTransform& before, const QTransform& now, QPoint& by) {
    if (before.m11() != now.m11() || before.m22() != now.m22() || before.m12() != now.m12() || before.m21() != now.m21()) return false;
    const QPointF way(now.dx() - before.dx(), now.dy() - before.dy());
    by = way.toPoint();
    return std::abs(way.x() - by.x()) < 1e-6 && std::abs(way.y() - by.y()) < 1e-6;
}

}  // namespace

const QPixmap& KeptPicture::pixels(QSize size, const QTransform& place, quint64 version, const Paint& paint) {
    QPoint by;
    QRegion missing(QRect({}, size));
    if (pixels_.size() != size) {
        pixels_ = QPixmap(size);
    } else if (version == version_ && moved(place_, place, by)) {
        const bool any_left = std::abs(by.x()) < size.width() && std::abs(by.y()) < size.height();
        if (any_left) missing = {};
        if (any_left && !by.isNull()) pixels_.scroll(by.x(), by.y(), pixels_.rect(), &missing);
    }
    place_ = place;
    version_ = version;
    if (missing.isEmpty()) return pixels_;
    QPainter painter(&pixels_);
    for (const QRect& part : missing) paint(painter, part);
    return pixels_;
}

}  // namespace jaxscope::views
