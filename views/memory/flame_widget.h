// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes by source line and the calls that lead there. Comes in: a FlameGraph. Goes out: what was clicked. Never here: whose bytes they are.
#include <QWidget>

#include "picture/flame.h"
#include "selection/selection.h"

namespace jaxscope::views {

/// Calls from the top down, as wide as what they hold. A click selects the largest value of a line, a double click makes it as wide as the
/// window, one on a line above it, or Backspace, goes back. Arrows walk.
class FlameWidget : public QWidget {
    Q_OBJECT
public:
    explicit FlameWidget(Selection* selection, QWidget* parent = nullptr);
    /// `what`: whose bytes, in words; `why_empty`: what is said where there is none.
    void set_graph(FlameGraph graph, const QString& what, const QString& why_empty);
    const FlameGraph& graph() const { return graph_; }
    /// The node that is drawn at a place of the widget; -1: none.
    int node_at(QPointF at) const;
    QRectF rect_of(int node) const;
    int zoomed() const { return zoomed_; }
    QString words(int node) const;
    QSize minimumSizeHint() const override { return {200, 120}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void pick(int node);
    void zoom(int node);
    bool is_picked(const FlameNode& node) const;
    double height() const;
    void scroll_to(double top);
    Selection* selection_;
    FlameGraph graph_;
    QString what_, why_empty_;
    int hovered_ = -1, walked_ = -1, zoomed_ = -1;
    double scrolled_ = 0;
};

}  // namespace jaxscope::views
