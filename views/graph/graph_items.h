// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QGraphicsItem>

#include "picture/split_graph.h"

namespace jaxscope::views {

/// Labels are never drawn smaller than they can be read: under `kFullZoom` a node has room for its name alone, in larger letters; under
/// `kLabelZoom` labels go, under `kBarZoom` outlines, and what stays are filled bars.
constexpr double kFullZoom = 0.75, kLabelZoom = 0.28, kBarZoom = 0.2;

/// Stands behind the name of a donated input.
constexpr const char* kDonatedMark = " \u27f2";

class NodeItem : public QGraphicsItem {
public:
    enum { Type = UserType + 1 };
    NodeItem(const VisibleGraph::Node& node, const Rect& rect, int part, int index);
    int type() const override { return Type; }
    QRectF boundingRect() const override { return rect_.adjusted(-3, -3, 3, 20); }
    /// What it is and makes, and what of it is saved, in one line.
    QString words() const;
    /// "saved 2.00 MiB", or empty.
    const QString& mark() const { return mark_; }
    QPainterPath shape() const override;
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
    void set_picked(bool picked);
    int part() const { return part_; }
    int index() const { return index_; }
    bool expandable() const { return expandable_; }
    bool is_frame() const { return expanded_; }
    QRectF rect() const { return rect_; }
    /// Where the mark of what is saved stands: on the edge that leaves the node; of a frame in its head.
    QRectF mark_rect() const;
    /// A frame's head ends before a tag that stands in it.
    void keep_clear(const Rect& tag);
    QColor map_colour() const;
    /// Is the point on the triangle that opens and closes, or on a frame's head?
    bool on_toggle(QPointF scene_point) const;

private:
    void paint_frame(QPainter& painter, double zoom) const;
    void paint_box(QPainter& painter, double zoom) const;
    void paint_mark(QPainter& painter, double zoom) const;
    QString title_, detail_, mark_;
    bool badge_ = false;  ///< `mark_` is no mark of what is saved
    GraphItem::Kind kind_;
    Role role_;
    QRectF rect_;
    int part_, index_;
    bool expandable_, expanded_, picked_ = false;
    double head_end_;
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

/// Under a donated input, and under the results that take its memory: the same tag, which leads to the other end.
class TieItem : public QGraphicsItem {
public:
    enum { Type = UserType + 5 };
    TieItem(const Rect& node, int index, int target, const QString& text, const QString& tip);
    int type() const override { return Type; }
    QRectF boundingRect() const override { return rect_.adjusted(-1, -1, 1, 1); }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
    int node() const { return node_; }
    int target() const { return target_; }
    QString text() const { return text_; }

private:
    QString text_;
    QRectF rect_;
    int node_, target_;
};

/// A residual crossing the boundary, with its bytes on a label.
class CrossingItem : public QGraphicsPathItem {
public:
    enum { Type = UserType + 4 };
    /// `added`: it isn't there in the program as it is.
    CrossingItem(const SplitPicture::Crossing& crossing, QPointF label_at, bool added);
    int type() const override { return Type; }
    QRectF boundingRect() const override;
    QPainterPath shape() const override;
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
    const SplitPicture::Crossing& crossing() const { return crossing_; }
    QRectF pill_at(double zoom) const;
    void set_picked(bool picked);

private:
    SplitPicture::Crossing crossing_;
    QRectF label_;
    bool picked_ = false;
};

/// Does something of an item stand in a part of the scene? Its bounding rectangle does: of a line that is a large one.
bool covers(const QGraphicsItem& item, const QRectF& area, double zoom);

inline QRectF to_qt(const Rect& r) { return {r.x, r.y, r.w, r.h}; }

}  // namespace jaxscope::views
