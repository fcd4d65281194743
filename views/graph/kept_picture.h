// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QPixmap>
#include <QTransform>
#include <functional>

namespace jaxscope::views {

/// What a view of a crowded scene has painted, as pixels: while the picture moves, only the strips that come into view are painted. At
/// another zoom, and when something in the picture changes, it is painted anew.
class KeptPicture {
public:
    /// Paints a part of the view.
    using Paint = std::function<void(QPainter& painter, const QRect& part)>;
    /// The view's pixels. `place`: from the scene to the view; `version`: another one after every change of the scene.
    const QPixmap& pixels(QSize size, const QTransform& place, quint64 version, const Paint& paint);
    void forget() { pixels_ = {}; }

private:
    QPixmap pixels_;
    QTransform place_;
    quint64 version_ = 0;
};

}  // namespace jaxscope::views
