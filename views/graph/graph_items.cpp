#include "graph/graph_items.h"

#include <QPainter>
#include <QStyleOptionGraphicsItem>

#include "theme/theme.h"

namespace jaxscope::views {
namespace {

using namespace graph_style;

void draw_elided(QPainter& painter, const QRectF& where, const QString& text, const QFont& font, const QColor& colour,
                 Qt::Alignment align = Qt::AlignLeft) {
    painter.setFont(font);
    painter.setPen(colour);
    const QString fitted = QFontMetricsF(font).elidedText(text, Qt::ElideRight, where.width());
    painter.drawText(where, int(align | Qt::AlignVCenter) | Qt::TextSingleLine, fitted);
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
      expanded_(node.expanded) {
    setZValue(expanded_ ? -10 : 10);
    setToolTip(title_ + QStringLiteral("\n") + detail_);
    setAcceptHoverEvents(!expanded_);
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
    if (zoom < kLabelZoom) return;
    const QRectF head(rect_.x() + 12, rect_.y(), rect_.width() - 24, kFrameHeader);
    draw_elided(painter, head.adjusted(0, 0, -head.width() + 14, 0), QStringLiteral("\u25be"), text_font(11), theme()(p.muted));
    draw_elided(painter, head.adjusted(16, 0, 0, 0), title_, text_font(12, true), theme()(p.ink));
}

void NodeItem::paint_box(QPainter& painter, double zoom) const {
    const Palette& p = theme().palette();
    const bool port = is_port(kind_);
    const QColor colour = theme()(port ? p.rule : role_colour(p, role_));
    if (zoom < kLabelZoom / 2) {
        painter.fillRect(rect_, colour);
        return;
    }
    const double radius = port ? rect_.height() / 2 : 6;
    QPen pen(picked_ ? theme()(p.ink) : colour, picked_ ? 2.4 : port ? 1.0 : 1.3);
    if (role_ == Role::Recomputed && !picked_) pen.setDashPattern({3, 2.5});
    painter.setPen(pen);
    painter.setBrush(theme()(p.panel));
    painter.drawRoundedRect(rect_, radius, radius);
    if (!port) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawRoundedRect(QRectF(rect_.x(), rect_.y() + 1, 4, rect_.height() - 2), 2, 2);
    }
    if (zoom < kLabelZoom) return;
    const double inset = port ? 16 : 12;
    const QRectF text = rect_.adjusted(inset, 3, -8, -3);
    const QRectF upper(text.x(), text.y(), text.width() - (expandable_ ? 18 : 0), text.height() / 2);
    draw_elided(painter, upper, title_, text_font(12, true), theme()(p.ink));
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
    if (!on_frame) stem_ = portal.incoming ? QLineF(portal.rect.right(), y, node.x, y) : QLineF(node.right(), y, portal.rect.x, y);
    bounds_ = rect_.united(QRectF(stem_.p1(), stem_.p2()).normalized()).adjusted(-1, -1, 1, 1);
    if (on_frame) bounds_ = rect_.adjusted(-1, -1, 1, 1);
    setToolTip(tip);
    setCursor(Qt::PointingHandCursor);
    setZValue(5);
}

void PortalItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
    const Palette& p = theme().palette();
    const double zoom = zoom_of(option, painter);
    if (zoom < kLabelZoom / 2) return;
    painter->setPen(QPen(theme()(p.edge), 1));
    if (!stem_.isNull()) painter->drawLine(stem_);
    const bool donated = text_.contains(QString::fromUtf8(kDonatedMark));
    painter->setPen(QPen(theme()(donated ? p.donated : p.edge), 1));
    painter->setBrush(theme()(p.panel));
    painter->drawRoundedRect(rect_, rect_.height() / 2, rect_.height() / 2);
    if (zoom >= kLabelZoom)
        draw_elided(*painter, rect_.adjusted(8, 0, -8, 0), text_, text_font(10), theme()(donated ? p.donated_text : p.muted),
                    Qt::AlignHCenter);
}

CrossingItem::CrossingItem(const SplitPicture::Crossing& crossing, QPointF label_at) : crossing_(crossing) {
    const double reach = crossing.arguments ? 20 : std::max(60.0, (crossing.end.x - crossing.begin.x) / 2);
    QPainterPath path(QPointF(crossing.begin.x, crossing.begin.y));
    path.cubicTo(crossing.begin.x + reach, crossing.begin.y, crossing.end.x - reach, crossing.end.y, crossing.end.x - 7, crossing.end.y);
    setPath(path);
    const double width = tag_width(crossing.label);
    label_ = QRectF(label_at.x() - width / 2, label_at.y() - 9, width, 18);
    setZValue(2);
}

QRectF CrossingItem::boundingRect() const { return path().boundingRect().united(label_).adjusted(-8, -8, 8, 8); }

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
    if (zoom_of(option, painter) < kLabelZoom) return;
    painter->setPen(QPen(picked_ ? theme()(p.ink) : colour, picked_ ? 2 : 1));
    painter->setBrush(theme()(p.panel));
    painter->drawRoundedRect(label_, 9, 9);
    draw_elided(*painter, label_.adjusted(6, 0, -6, 0), utf8(crossing_.label), text_font(10, true), theme()(p.residual_text),
                Qt::AlignHCenter);
}

}  // namespace jaxscope::views
