// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QRectF>
#include <QSize>
#include <optional>
#include <vector>

namespace jaxscope::views {

struct FirstWindow {
    double left = 0;  ///< its edge
    double seen = 0;  ///< how much of what stands at the top is in it in whole, less what is cut; of two halves the one that is seen less
};

/// Where the first window on a picture begins that is wider than the window: at the left, as long as most of what stands at the top is in
/// it, and where nothing is cut that needn't be.
///
/// `boxes`   what is to be seen in whole: nodes, heads of frames, tags.
/// `all`     the picture; `window`: how much of it is seen, at its top.
/// `middle`  what has to stay near the window's middle (the boundary of a split).
FirstWindow first_window(const std::vector<QRectF>& boxes, const QRectF& all, const QSizeF& window, std::optional<double> middle);

/// How many nodes a first picture may have: `usual` in a window of usual size, more where there is more room.
std::size_t nodes_with_room(std::size_t usual, const QSize& room);

}  // namespace jaxscope::views
