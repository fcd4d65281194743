// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_items.h"

#include <QPainter>
#include <QStyleOptionGraphicsItem>
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

using namespace graph_style;

void draw_elided(QPainter& painter, const QRectF& where, const QString& text, const QFont& font, const QColor& colour,
                 Qt::Alignment align = Qt::AlignLeft, Qt::TextElideMode cut = Qt::ElideRight) {
    painter.setFont(font);
    painter.setPen(colour);
    const QString fitted = QFontMetricsF(font).elidedText(text, cut, where.width());
    painter.drawText(where, int(align | Qt::AlignVCenter) | Qt::TextSingleLine, fitted);
}

/// A box with round corners. Nothing is seen through it, however much it is dimmed: a line under it would strike through its letters.
void draw_box(QPainter& painter, const QRectF& rect, double radius, const QPen& pen, const QColor& ground) {
    painter.setBrush(ground);
    if (const double opacity = painter.opacity(); opacity < 1) {
        painter.setOpacity(1);
        painter.setPen(Qt::NoPen);
        painter.drawRoundedRect(rect, radius, radius);
        painter.setOpacity(opacity);
        painter.setBrush(Qt::NoBrush);
    }
    painter.setPen(pen);
    painter.drawRoundedRect(rect, radius, radius);
}

constexpr double kLeastLetters = 9;                   // pixels on the screen
constexpr double kWidestPill = 216, kPillMargin = 6;  // within the gutter between two halves
constexpr int kLargestTag = 12;                       // letters of tags where the picture is small, for which they have room

/// Letters of a size that can be read at this zoom; 0: there is no room for them in `height`.
int letters(int size, double zoom, double height) {
    const int wanted = std::max(size, static_cast<int>(std::ceil(kLeastLetters / zoom)));
    return wanted + 2 <= height ? wanted : 0;
}

double zoom_of(const QStyleOptionGraphicsItem* option, QPainter* painter) {
    return option->levelOfDetailFromTransform(painter->worldTransform());
}

QPainterPath curve(const std::vector<Point>& points) {
    QPainterPath path;
    if (points.empty()) return path;
    path.moveTo(points[0].x, points[0].y);
    for (std::size_t k = 1; k + 2 < points.size(); k += 3)
        path.cubicTo(points[k].x, points[k].y, points[k + 1].x, points[k + 1].y, points[k + 2].x, points[k + 2].y);
    return path;
}

bool is_port(GraphItem::Kind kind) {
    return kind == GraphItem::Kind::Input || kind == GraphItem::Kind::Inputs || kind == GraphItem::Kind::Results;
}

}  // namespace

NodeItem::NodeItem(const VisibleGraph::Node& node, const Rect& rect, int part, int index)
    : title_(utf8(node.title)),
      detail_(utf8(node.detail)),
      kind_(node.kind),
      role_(node.role),
      rect_(to_qt(rect)),
      part_(part),
      index_(index),
      expandable_(node.expandable),
      expanded_(node.expanded),
      head_end_(rect_.right() - 8) {
    if (node.mark.saved_values > 0) {
        mark_ = utf8("saved " + bytes_text(node.mark.saved_bytes));
        if (node.mark.saved_values > 1) mark_ += utf8(" \u00d7" + count_text(node.mark.saved_values));
    }
    if (mark_.isEmpty() && !node.badge.empty()) {
        mark_ = utf8(node.badge);
        badge_ = true;
    }
    setZValue(expanded_ ? -10 : 10);
    setToolTip(title_ + QStringLiteral("\n") + detail_);
    setAcceptHoverEvents(!expanded_);
}

QString NodeItem::words() const {
    QString text = title_ + QStringLiteral(", ") + detail_;
    if (!mark_.isEmpty()) text += QStringLiteral(", ") + mark_;
    if (expandable_) text += expanded_ ? QStringLiteral(", open") : QStringLiteral(", closed");
    return text;
}

QColor NodeItem::map_colour() const {
    const Palette& p = theme().palette();
    return theme()(is_port(kind_) ? p.edge : role_colour(p, role_));
}

QPainterPath NodeItem::shape() const {
    QPainterPath path;
    path.addRect(expanded_ ? QRectF(rect_.x(), rect_.y(), rect_.width(), kFrameHeader) : rect_);
    return path;
}

void NodeItem::keep_clear(const Rect& tag) {
    if (tag.y < rect_.y() + kFrameHeader) head_end_ = std::min(head_end_, tag.x - 6);
}

void NodeItem::set_picked(bool picked) {
    picked_ = picked;
    update();
}

bool NodeItem::on_toggle(QPointF point) const {
    if (!expandable_) return false;
    if (expanded_) return QRectF(rect_.x(), rect_.y(), 30, kFrameHeader).contains(point);
    return QRectF(rect_.right() - 28, rect_.y(), 28, rect_.height()).contains(point);
}

void NodeItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
    const double zoom = zoom_of(option, painter);
    if (expanded_)
        paint_frame(*painter, zoom);
    else
        paint_box(*painter, zoom);
    if (!mark_.isEmpty()) paint_mark(*painter, zoom);
}

QRectF NodeItem::mark_rect() const {
    const double width = QFontMetricsF(text_font(kLargestTag, true)).horizontalAdvance(mark_) + 14;
    if (expanded_) return {head_end_ - width, rect_.y() + 6, width, 16};
    return {rect_.center().x() - width / 2, rect_.bottom() + 3, width, 16};
}

/// A pill in the colour of what is saved; from afar a bar.
void NodeItem::paint_mark(QPainter& painter, double zoom) const {
    const Palette& p = theme().palette();
    const QRectF where = mark_rect();
    const int size = letters(10, zoom, where.height());
    if (size == 0) {
        painter.fillRect(QRectF(rect_.x(), rect_.bottom() + 1, rect_.width(), 5), theme()(badge_ ? p.ink : p.residual));
        return;
    }
    draw_box(painter, where, 8, QPen(theme()(badge_ ? p.ink : p.residual), 1.2), theme()(badge_ ? p.selected_row : p.panel));
    draw_elided(painter, where.adjusted(4, 0, -4, 0), mark_, text_font(size, true), theme()(badge_ ? p.ink : p.residual_text),
                Qt::AlignHCenter);
}

void NodeItem::paint_frame(QPainter& painter, double zoom) const {
    const Palette& p = theme().palette();
    QPen pen(picked_ ? theme()(p.ink) : theme()(p.rule), picked_ ? 2.4 : 1.2);
    if (role_ == Role::Recomputed) pen.setColor(theme()(p.recomputed)), pen.setStyle(Qt::DashLine);
    QColor ground = theme()(p.panel);
    ground.setAlpha(110);
    painter.setPen(pen);
    painter.setBrush(ground);
    painter.drawRoundedRect(rect_, 8, 8);
    const int size = letters(12, zoom, kFrameHeader);
    if (size == 0) return;
    const double end = mark_.isEmpty() ? head_end_ - 4 : mark_rect().left() - 6;
    const QRectF head(rect_.x() + 12, rect_.y(), end - rect_.x() - 12, kFrameHeader);
    draw_elided(painter, head.adjusted(0, 0, -head.width() + 14, 0), QStringLiteral("\u25be"), text_font(11), theme()(p.muted));
    draw_elided(painter, head.adjusted(16, 0, 0, 0), title_, text_font(size, true), theme()(p.ink));
}

void NodeItem::paint_box(QPainter& painter, double zoom) const {
    const Palette& p = theme().palette();
    const bool port = is_port(kind_);
    const QColor colour = theme()(port ? p.rule : role_colour(p, role_));
    if (zoom < kBarZoom) {
        painter.fillRect(rect_, colour);
        return;
    }
    const double radius = port ? rect_.height() / 2 : 6;
    QPen pen(picked_ ? theme()(p.ink) : colour, picked_ ? 2.4 : port ? 1.0 : 1.3);
    if (role_ == Role::Recomputed && !picked_) pen.setDashPattern({3, 2.5});
    draw_box(painter, rect_, radius, pen, theme()(p.panel));
    if (!port) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawRoundedRect(QRectF(rect_.x(), rect_.y() + 1, 4, rect_.height() - 2), 2, 2);
    }
    if (zoom < kLabelZoom) return;
    const double inset = port ? 16 : 12;
    const Qt::TextElideMode cut = port ? Qt::ElideMiddle : Qt::ElideRight;  // of an argument's path the end says which leaf it is
    const QRectF text = rect_.adjusted(inset, 3, -8, -3);
    if (zoom < kFullZoom) {
        if (const int size = letters(12, zoom, rect_.height()); size > 0)
            draw_elided(painter, rect_.adjusted(inset, 0, -6, 0), title_, text_font(size, true), theme()(p.ink), Qt::AlignLeft, cut);
        return;
    }
    const QRectF upper(text.x(), text.y(), text.width() - (expandable_ ? 18 : 0), text.height() / 2);
    draw_elided(painter, upper, title_, text_font(12, true), theme()(p.ink), Qt::AlignLeft, cut);
    draw_elided(painter, QRectF(text.x(), text.center().y(), text.width(), text.height() / 2), detail_, mono_font(11), theme()(p.muted));
    if (expandable_)
        draw_elided(painter, QRectF(rect_.right() - 20, text.y(), 14, text.height() / 2), QStringLiteral("\u25b8"), text_font(11),
                    theme()(p.muted));
}

LineItem::LineItem(const GraphLayout::Line& line, const QString& tip)
    : QGraphicsPathItem(curve(line.points)), from(line.from), to(line.to) {
    QPen pen(theme()(theme().palette().edge), edge_width(line.bytes));
    pen.setCapStyle(Qt::FlatCap);
    setPen(pen);
    setToolTip(tip);
    setZValue(0);
}

void LineItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    painter->setPen(pen());
    painter->setBrush(Qt::NoBrush);
    painter->drawPath(path());
}

PortalItem::PortalItem(const Portal& portal, const Rect& node, int part, bool on_frame, const QString& tip)
    : text_(utf8(portal.text)),
      rect_(to_qt(portal.rect)),
      part_(part),
      target_(portal.targets.empty() ? -1 : static_cast<int>(portal.targets[0])),
      node_(static_cast<int>(portal.node)) {
    const double y = portal.rect.cy();
    if (!on_frame) stem_ = portal.at_left ? QLineF(portal.rect.right(), y, node.x, y) : QLineF(node.right(), y, portal.rect.x, y);
    bounds_ = rect_.united(QRectF(stem_.p1(), stem_.p2()).normalized()).adjusted(-1, -1, 1, 1);
    if (on_frame) bounds_ = rect_.adjusted(-1, -1, 1, 1);
    setToolTip(tip);
    setCursor(Qt::PointingHandCursor);
    setZValue(5);
}

void PortalItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
    const Palette& p = theme().palette();
    const double zoom = zoom_of(option, painter);
    if (zoom < kBarZoom) return;
    painter->setPen(QPen(theme()(p.edge), 1));
    if (!stem_.isNull()) painter->drawLine(stem_);
    const bool donated = text_.contains(QString::fromUtf8(kDonatedMark));
    draw_box(*painter, rect_, rect_.height() / 2, QPen(theme()(donated ? p.donated : p.edge), 1), theme()(p.panel));
    if (const int size = letters(10, zoom, rect_.height()); size > 0)
        draw_elided(*painter, rect_.adjusted(8, 0, -8, 0), text_, text_font(size), theme()(donated ? p.donated_text : p.muted),
                    Qt::AlignHCenter);
}

TieItem::TieItem(const Rect& node, int index, int target, const QString& text, const QString& tip)
    : text_(text), node_(index), target_(target) {
    const double width = QFontMetricsF(text_font(kLargestTag, true)).horizontalAdvance(text) + 16;
    rect_ = QRectF(node.cx() - width / 2, node.y - 22, width, 17);
    setToolTip(tip);
    setCursor(Qt::PointingHandCursor);
    setZValue(12);
}

void TieItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
    const Palette& p = theme().palette();
    const int size = letters(10, zoom_of(option, painter), rect_.height());
    if (size == 0) return painter->fillRect(rect_, theme()(p.donated));
    draw_box(*painter, rect_, 8.5, QPen(theme()(p.donated), 1.2), theme()(p.panel));
    draw_elided(*painter, rect_.adjusted(4, 0, -4, 0), text_, text_font(size, true), theme()(p.donated_text), Qt::AlignHCenter);
}

CrossingItem::CrossingItem(const SplitPicture::Crossing& crossing, QPointF label_at, bool added) : crossing_(crossing) {
    if (added) crossing_.label = "+ " + crossing_.label;
    setPath(curve(crossing.points));
    const double width = pill_width(crossing_.label);
    label_ = QRectF(label_at.x() - width / 2, label_at.y() - 9, width, 18);
    setZValue(2);
}

QRectF CrossingItem::boundingRect() const {
    const double more = std::max(0.0, kWidestPill - label_.width()) / 2;
    return path().boundingRect().united(label_.adjusted(-more, 0, more, 0)).adjusted(-8, -8, 8, 8);
}

/// As wide as its letters need at this zoom: small pictures have large ones.
QRectF CrossingItem::pill_at(double zoom) const {
    const QFontMetricsF metrics(text_font(letters(10, zoom, label_.height()), true));
    const double needed = std::min(metrics.horizontalAdvance(utf8(crossing_.label)) + 2 * kPillMargin + 1, kWidestPill);
    const double more = std::max(0.0, needed - label_.width()) / 2;
    return label_.adjusted(-more, 0, more, 0);
}

QPainterPath CrossingItem::shape() const {
    QPainterPathStroker stroker;
    stroker.setWidth(10);
    QPainterPath outline = stroker.createStroke(path());
    outline.addRect(label_);
    return outline;
}

void CrossingItem::set_picked(bool picked) {
    picked_ = picked;
    setZValue(picked ? 4 : 2);
    update();
}

void CrossingItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
    const Palette& p = theme().palette();
    const QColor colour = theme()(p.residual);
    const double width = edge_width(crossing_.bytes);
    painter->setBrush(Qt::NoBrush);
    if (picked_) {
        painter->setPen(QPen(theme()(p.ink), width + 2.4, Qt::SolidLine, Qt::FlatCap));
        painter->drawPath(path());
    }
    painter->setPen(QPen(colour, width, Qt::SolidLine, Qt::FlatCap));
    painter->drawPath(path());
    painter->setPen(Qt::NoPen);
    painter->setBrush(colour);
    const QPointF tip(crossing_.end.x, crossing_.end.y);
    const double half = 3.5 + width / 3;
    painter->drawPolygon(QPolygonF({tip, tip + QPointF(-8, half), tip + QPointF(-8, -half)}));
    const int size = letters(10, zoom_of(option, painter), label_.height());
    if (size == 0) return;
    const QRectF pill = pill_at(zoom_of(option, painter));
    // The pill weighs what its line weighs.
    draw_box(*painter, pill, 9, QPen(picked_ ? theme()(p.ink) : colour, picked_ ? 2.4 : 0.8 + width / 3), theme()(p.panel));
    draw_elided(*painter, pill.adjusted(kPillMargin, 0, -kPillMargin, 0), utf8(crossing_.label), text_font(size, true),
                theme()(p.residual_text), Qt::AlignHCenter);
}

static bool passes(const QPainterPath& path, const QRectF& area) {
    const QLineF edges[] = {{area.topLeft(), area.topRight()},
                            {area.topRight(), area.bottomRight()},
                            {area.bottomRight(), area.bottomLeft()},
                            {area.bottomLeft(), area.topLeft()}};
    for (const QPolygonF& polygon : path.toSubpathPolygons())
        for (int k = 0; k + 1 < polygon.size(); ++k) {
            const QLineF piece(polygon[k], polygon[k + 1]);
            if (area.contains(piece.p1()) || area.contains(piece.p2())) return true;
            if (std::any_of(std::begin(edges), std::end(edges),
                            [&](const QLineF& edge) { return piece.intersects(edge, nullptr) == QLineF::BoundedIntersection; }))
                return true;
        }
    return false;
}

bool covers(const QGraphicsItem& item, const QRectF& area, double zoom) {
    if (item.type() == LineItem::Type) return passes(static_cast<const LineItem&>(item).path(), area);
    if (item.type() == CrossingItem::Type) {
        const auto& crossing = static_cast<const CrossingItem&>(item);
        return crossing.pill_at(zoom).intersects(area) || passes(crossing.path(), area);
    }
    if (item.type() != NodeItem::Type) return item.sceneBoundingRect().intersects(area);
    const auto& node = static_cast<const NodeItem&>(item);
    if (!node.mark().isEmpty() && node.mark_rect().intersects(area)) return true;
    if (!node.is_frame()) return node.rect().intersects(area);
    return node.rect().intersects(area) && !node.rect().adjusted(0, kFrameHeader, 0, 0).contains(area);  // its ground hides nothing
}

}  // namespace jaxscope::views
