#pragma once
#include <QGraphicsItem>

#include "analysis/split_graph.h"

namespace jaxscope::views {

/// Under this zoom labels go; under half of it, outlines; what stays are filled bars.
constexpr double kLabelZoom = 0.4;

/// Stands behind the name of a donated input.
constexpr const char* kDonatedMark = " \u27f2";

class NodeItem : public QGraphicsItem {
public:
    enum { Type = UserType + 1 };
    NodeItem(const VisibleGraph::Node& node, const Rect& rect, int part, int index);
    int type() const override { return Type; }
    QRectF boundingRect() const override { return rect_.adjusted(-3, -3, 3, 3); }
    QPainterPath shape() const override;
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
    void set_picked(bool picked);
    int part() const { return part_; }
    int index() const { return index_; }
    bool expandable() const { return expandable_; }
    QRectF rect() const { return rect_; }
    QColor map_colour() const;
    /// Is the point on the triangle that opens and closes, or on a frame's head?
    bool on_toggle(QPointF scene_point) const;

private:
    void paint_frame(QPainter& painter, double zoom) const;
    void paint_box(QPainter& painter, double zoom) const;
    QString title_, detail_;
    GraphItem::Kind kind_;
    Role role_;
    QRectF rect_;
    int part_, index_;
    bool expandable_, expanded_, picked_ = false;
};

class LineItem : public QGraphicsPathItem {
public:
    enum { Type = UserType + 2 };
    LineItem(const GraphLayout::Line& line, const QString& tip);
    int type() const override { return Type; }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
    std::uint32_t from, to;
};

class PortalItem : public QGraphicsItem {
public:
    enum { Type = UserType + 3 };
    PortalItem(const Portal& portal, const Rect& node, int part, bool on_frame, const QString& tip);
    int type() const override { return Type; }
    QRectF boundingRect() const override { return bounds_; }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
    int part() const { return part_; }
    int target() const { return target_; }
    int node() const { return node_; }

private:
    QString text_;
    QRectF rect_, bounds_;
    QLineF stem_;
    int part_, target_, node_;
};

/// A residual crossing the boundary, with its bytes on a label.
class CrossingItem : public QGraphicsPathItem {
public:
    enum { Type = UserType + 4 };
    CrossingItem(const SplitPicture::Crossing& crossing, QPointF label_at);
    int type() const override { return Type; }
    QRectF boundingRect() const override;
    QPainterPath shape() const override;
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
    const SplitPicture::Crossing& crossing() const { return crossing_; }
    void set_picked(bool picked);

private:
    SplitPicture::Crossing crossing_;
    QRectF label_;
    bool picked_ = false;
};

inline QRectF to_qt(const Rect& r) { return {r.x, r.y, r.w, r.h}; }

}  // namespace jaxscope::views
