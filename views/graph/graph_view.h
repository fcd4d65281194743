// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QGraphicsView>
#include <optional>
#include <vector>

#include "graph/kept_picture.h"

namespace jaxscope::views {

/// Shows a GraphScene: the wheel scrolls, Ctrl and wheel zooms, dragging the ground pans; a small map of the whole in the corner, where
/// it hides no node and no line. An empty view says what to do.
class GraphView : public QGraphicsView {
    Q_OBJECT
public:
    explicit GraphView(QWidget* parent = nullptr);
    void set_empty_text(const QString& text);
    void zoom_by(double factor);
    void fit();
    /// 100 %, top of the picture in view, unless the picture fits a view at a readable zoom.
    /// Of a picture that is wider than the view as much as can be seen in whole. `middle`: what to have near the middle.
    void first_look(std::optional<double> middle = {});
    /// What part is in view.
    struct Place {
        double zoom = 1;
        QPointF middle;  ///< of the view, in the scene
    };
    /// Where the user has moved to; nothing: the picture stands as it is shown first.
    std::optional<Place> chosen_place() const;
    /// First looks are at this place until the user moves.
    void start_at(std::optional<Place> place) { start_ = place; }
    bool has_start() const { return start_.has_value(); }
    /// How many nodes a first picture here may have, where a window of usual size has `usual`.
    std::size_t room_for(std::size_t usual) const;
    /// Brings something into view, so that it can be read.
    void bring_into_view(const QRectF& what);
    /// Keeps `scene` point at the same place of the window when the picture changes.
    void keep(QPointF scene_point, QPoint at);
    double zoom() const { return transform().m11(); }
    /// Where the map was painted; empty: there is room for none, or no need.
    QRect map_rect() const { return corner_ < 0 ? QRect() : map_in_corner(corner_); }

Q_SIGNALS:
    void moved();  ///< another part of the picture is in view

protected:
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void drawForeground(QPainter* painter, const QRectF& rect) override;
    void paintEvent(QPaintEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void paint_map(QPainter& painter) const;
    QPixmap draw_map() const;
    QRect map_in_corner(int corner) const;
    bool on_map(const QPoint& at) const;
    mutable int corner_ = -1;  ///< in which the map stands; -1: in none
    bool hides_something(const QRect& map) const;
    /// What a first look is to show in whole.
    std::vector<QRectF> seen_first() const;
    QString empty_text_;
    KeptPicture picture_;
    bool into_kept_ = false;  ///< what is being painted moves with the picture
    std::optional<Place> start_;
    bool moved_ = false;  ///< since the first look
    void leave_first_look();
    struct Map {
        QPixmap pixels;
        quint64 version = 0;
        QRectF of;
    };
    mutable Map map_;
};

}  // namespace jaxscope::views
