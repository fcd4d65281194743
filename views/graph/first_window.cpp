// SPDX-License-Identifier: Apache-2.0
#include "graph/first_window.h"

#include <algorithm>
#include <cmath>

namespace jaxscope::views {
namespace {

constexpr double kMargin = 12;       // beside a box at the window's edge
constexpr std::size_t kMost = 400;   // boxes at the top: of more the first ones tell enough
constexpr double kFromMiddle = 0.3;  // of the window: how far the boundary may stand from its middle
constexpr double kCutCosts = 0.5;    // of a box's worth
constexpr double kEnough = 0.7;      // of the best: a program is read from the left
constexpr double kFarCosts = 0.1;    // a boundary that stands as far from the middle as it may

/// How much of what boxes are worth is seen in whole between two places, less what is cut there: 1 is all of it.
double share_seen(const std::vector<QRectF>& boxes, double left, double right) {
    double sum = 0, all = 0;
    for (const QRectF& box : boxes) {
        const double worth = box.width() * box.height();
        all += worth;
        if (box.right() <= left || box.left() >= right) continue;
        sum += box.left() >= left && box.right() <= right ? worth : -kCutCosts * worth;
    }
    return all > 0 ? sum / all : 1;
}

}  // namespace

FirstWindow first_window(const std::vector<QRectF>& boxes, const QRectF& all, const QSizeF& window, std::optional<double> middle) {
    const double width = window.width(), last = std::max(all.left(), all.right() - width);
    double least = all.left(), most = last;
    if (middle) {
        least = std::clamp(*middle - (0.5 + kFromMiddle) * width, all.left(), last);
        most = std::clamp(*middle - (0.5 - kFromMiddle) * width, all.left(), last);
    }
    std::vector<QRectF> halves[2];
    std::vector<double> places{least, most};
    if (middle) places.push_back(std::clamp(*middle - width / 2, least, most));
    for (const QRectF& box : boxes) {
        if (box.top() >= all.top() + window.height() || halves[0].size() + halves[1].size() >= kMost) continue;
        halves[middle && box.center().x() > *middle ? 1 : 0].push_back(box);
        for (const double left : {box.left() - kMargin, box.right() + kMargin - width}) places.push_back(std::clamp(left, least, most));
    }
    std::sort(places.begin(), places.end());
    const auto value = [&](double left) {
        const double first = share_seen(halves[0], left, left + width);
        if (!middle) return first;
        // Of both halves something is to be seen.
        const double second = share_seen(halves[1], left, left + width), far = (left + width / 2 - *middle) / (kFromMiddle * width);
        return first + second + std::min(first, second) - kFarCosts * far * far;
    };
    double best = value(places.front()), at = places.front();
    for (const double left : places)
        if (const double v = value(left); v > best) best = v, at = left;
    if (!middle) at = *std::find_if(places.begin(), places.end(), [&](double left) { return value(left) >= kEnough * best; });
    const double first = share_seen(halves[0], at, at + width), second = share_seen(halves[1], at, at + width);
    return {at, middle ? std::min(first, second) : first};
}

std::size_t nodes_with_room(std::size_t usual, const QSize& room) {
    constexpr double kUsualRoom = 1100.0 * 700, kMostTimes = 4;  // more at once is no first look
    const double times = static_cast<double>(room.width()) * room.height() / kUsualRoom;
    return static_cast<std::size_t>(static_cast<double>(usual) * std::clamp(times, 1.0, kMostTimes));
}

}  // namespace jaxscope::views
