// SPDX-License-Identifier: Apache-2.0
#include "picture/crossing_routes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/cancel.h"

namespace jaxscope {
namespace {

using namespace graph_style;

constexpr double kClear = 4;   // between a line and what it passes
constexpr double kApart = 1;   // of a line from the room around what it passes
constexpr double kPitch = 5;   // between lines that pass something at one side
constexpr double kStep = 12;   // room in which a line leaves its node for another height: half of what is between neighbours
constexpr double kOver = 60;   // lying over another line is as bad as such a detour
constexpr double kLeast = 20;  // of a curve: how far it stays level
constexpr double kHit = 4000;  // running through something is as bad as such a detour
constexpr std::size_t kMostTried = 60;

/// A cubic curve from `a` to `b`, level at both ends, as its points of control.
std::array<Point, 4> level_curve(const Point& a, const Point& b, double least) {
    const double reach = std::max(least, (b.x - a.x) / 2);
    return {a, {a.x + reach, a.y}, {b.x - reach, b.y}, b};
}

bool runs_through(const Rect& box, const std::array<Point, 4>& curve) {
    if (std::max(curve[0].y, curve[3].y) < box.y || std::min(curve[0].y, curve[3].y) > box.bottom()) return false;
    if (curve[3].x < box.x || curve[0].x > box.right()) return false;
    constexpr int kPieces = 24;
    Point last = curve[0];
    for (int k = 1; k <= kPieces; ++k) {
        const double t = static_cast<double>(k) / kPieces, s = 1 - t;
        const auto at = [&](double Point::*m) {
            return s * s * s * curve[0].*m + 3 * s * s * t * curve[1].*m + 3 * s * t * t * curve[2].*m + t * t * t * curve[3].*m;
        };
        const Point next{at(&Point::x), at(&Point::y)};
        if (std::max(last.x, next.x) >= box.x && std::min(last.x, next.x) <= box.right() && std::max(last.y, next.y) >= box.y &&
            std::min(last.y, next.y) <= box.bottom())
            return true;
        last = next;
    }
    return false;
}

/// What lines of a half had better not run through. The unknown half is seen in a mirror, so that its lines, too, go from a node at the
/// left to a label at the right.
class Half {
public:
    Half(const VisibleGraph& graph, const GraphLayout& layout, double mirror) : mirror_(mirror) {
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
            Rect rect = layout.nodes[n];
            if (graph.nodes[n].expanded) {
                constexpr double kOfLetters = 16;
                rect.y += (kFrameHeader - kOfLetters) / 2;
                rect.h = kOfLetters;
                rect.w = std::min(rect.w, static_cast<double>(graph.nodes[n].title.size()) * kTitleAdvance + 32);
            }
            add(rect);
        }
        for (const Portal& portal : layout.portals) add(portal.rect);
    }

    double seen(double x) const { return mirror_ == 0 ? x : mirror_ - x; }

    /// From `from`, at the side of a node, to a label: where the line changes its height, both ends included. Lines that pass the same
    /// thing lie beside each other, where there is room.
    std::vector<Point> way(const Point& from, const Point& to) {
        std::vector<const Rect*> between;
        for (const Rect& box : boxes_)
            if (box.right() > from.x + kClear + 1 && box.x < to.x) between.push_back(&box);
        std::vector<Point> best{from, to};
        double least = cost(best, between);
        if (least < kHit) return best;
        std::vector<double> heights{from.y};
        for (const Rect* box : between)
            for (const double more : {kApart, kApart + kPitch, kApart + 2 * kPitch})
                heights.insert(heights.end(), {box->y - more, box->bottom() + more});
        const auto length = [&](double y) { return std::abs(y - from.y) + std::abs(y - to.y); };
        std::sort(heights.begin(), heights.end(), [&](double a, double b) { return length(a) < length(b); });
        for (std::size_t k = 0; k < heights.size() && k < kMostTried && length(heights[k]) < least; ++k) {
            std::vector<Point> tried = by_height(from, to, heights[k], between);
            if (const double c = cost(tried, between) + kOver * lines_at(tried); c < least) least = c, best = std::move(tried);
        }
        for (std::size_t k = 1; k < best.size(); ++k)
            if (best[k].y == best[k - 1].y) level_.push_back({best[k - 1], best[k]});
        return best;
    }

private:
    void add(Rect rect) {
        rect = {mirror_ == 0 ? rect.x : mirror_ - rect.right(), rect.y, rect.w, rect.h};
        boxes_.push_back({rect.x - kClear, rect.y - kClear, rect.w + 2 * kClear, rect.h + 2 * kClear});
    }

    /// Level at `height` until nothing stands between it and the label any more.
    static std::vector<Point> by_height(const Point& from, const Point& to, double height, const std::vector<const Rect*>& between) {
        std::vector<Point> way{from};
        if (height != from.y) way.push_back({from.x + kStep, height});
        double until = way.back().x;
        for (const Rect* box : between)
            if (box->bottom() > std::min(height, to.y) && box->y < std::max(height, to.y)) until = std::max(until, box->right());
        until = std::min(until, to.x - kStep);
        if (until > way.back().x) way.push_back({until, height});
        way.push_back(to);
        return way;
    }

    static double cost(const std::vector<Point>& way, const std::vector<const Rect*>& between) {
        double out = 0;
        for (std::size_t k = 1; k < way.size(); ++k) {
            const std::array<Point, 4> curve = level_curve(way[k - 1], way[k], 0);
            out += std::abs(way[k].y - way[k - 1].y);
            for (const Rect* box : between) out += runs_through(*box, curve) ? kHit : 0;
        }
        return out;
    }

    /// How many lines lie where this one would.
    double lines_at(const std::vector<Point>& way) const {
        double out = 0;
        for (std::size_t k = 1; k < way.size(); ++k)
            for (const auto& [begin, end] : level_)
                out += way[k].y == way[k - 1].y && std::abs(begin.y - way[k].y) < kPitch - 1 && begin.x < way[k].x && end.x > way[k - 1].x;
        return out;
    }

    double mirror_;
    std::vector<Rect> boxes_;                     ///< with the room that lines leave
    std::vector<std::pair<Point, Point>> level_;  ///< parts of lines that pass something
};

void append(std::vector<Point>& points, const Point& next) {
    const Point last = points.back();
    // Of a short piece the levels would overlap into a loop.
    const std::array<Point, 4> curve = level_curve(last, next, std::min(kLeast, std::abs(next.x - last.x)));
    points.insert(points.end(), curve.begin() + 1, curve.end());
}

void route_one(SplitPicture::Crossing& crossing, double boundary, Half& known, Half& unknown) {
    constexpr double kArrow = 6;
    const double label = pill_width(crossing.label) / 2;
    const Point in{boundary - label, crossing.label_y}, out{boundary + label, crossing.label_y};
    std::vector<Point> way{in};
    if (!crossing.from_boundary()) way = known.way(crossing.begin, in);
    std::vector<Point> back = unknown.way({unknown.seen(crossing.end.x - kArrow), crossing.end.y}, {unknown.seen(out.x), out.y});
    for (auto at = back.rbegin(); at != back.rend(); ++at) way.push_back({unknown.seen(at->x), at->y});
    crossing.points = {way.front()};
    for (std::size_t k = 1; k < way.size(); ++k) append(crossing.points, way[k]);
}

}  // namespace

void place_labels(std::vector<SplitPicture::Crossing>& crossings) {
    constexpr double kOfLabels = kTagHeight + 1;
    std::vector<SplitPicture::Crossing*> order;
    for (auto& crossing : crossings) order.push_back(&crossing);
    std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->begin.y + a->end.y < b->begin.y + b->end.y; });
    double free_from = -1e9;
    for (auto* crossing : order) {
        crossing->label_y = std::max((crossing->begin.y + crossing->end.y) / 2, free_from);
        free_from = crossing->label_y + kOfLabels;
    }
}

void route_crossings(SplitPicture& picture) {
    Half known(picture.known, picture.known_layout, 0), unknown(picture.unknown, picture.unknown_layout, 2 * picture.width);
    for (auto& crossing : picture.crossings) {
        check_cancelled();
        route_one(crossing, picture.boundary, known, unknown);
    }
}

}  // namespace jaxscope
