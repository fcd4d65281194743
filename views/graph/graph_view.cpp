// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_view.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTabWidget>
#include <QWheelEvent>
#include <algorithm>

#include "graph/accessible_graph.h"
#include "graph/first_window.h"
#include "graph/graph_items.h"
#include "graph/graph_scene.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr double kMinZoom = 0.05, kMaxZoom = 3;
constexpr int kMapWidth = 120, kMapHeight = 84, kMapMargin = 12;
constexpr int kMostMapItems = 3000;   // a map of more is a grey block
constexpr std::size_t kCrowd = 1500;  // items: fewer are painted within a frame's time

}  // namespace

GraphView::GraphView(QWidget* parent) : QGraphicsView(parent) {
    setRenderHint(QPainter::Antialiasing);
    setDragMode(QGraphicsView::ScrollHandDrag);
    setTransformationAnchor(QGraphicsView::AnchorUnderMouse);
    setViewportUpdateMode(QGraphicsView::FullViewportUpdate);
    setOptimizationFlags(QGraphicsView::DontSavePainterState);
    setMouseTracking(true);
    viewport()->setCursor(Qt::ArrowCursor);
    install_accessible_graphs();
}

void GraphView::set_empty_text(const QString& text) {
    empty_text_ = text;
    viewport()->update();
}

std::optional<GraphView::Place> GraphView::chosen_place() const {
    if (start_) return start_;
    if (!moved_) return {};
    return Place{zoom(), mapToScene(viewport()->rect().center())};
}

void GraphView::leave_first_look() {
    start_.reset();
    moved_ = true;
}

void GraphView::zoom_by(double factor) {
    leave_first_look();
    const double wanted = std::clamp(zoom() * factor, kMinZoom, kMaxZoom);
    scale(wanted / zoom(), wanted / zoom());
    Q_EMIT moved();
}

void GraphView::fit() {
    if (scene() == nullptr || scene()->sceneRect().isEmpty()) return;
    leave_first_look();
    fitInView(scene()->sceneRect(), Qt::KeepAspectRatio);
    if (zoom() > 1) resetTransform();
    Q_EMIT moved();
}

void GraphView::first_look(std::optional<double> middle) {
    if (scene() == nullptr) return;
    moved_ = false;
    if (start_) {
        const double kept = std::clamp(start_->zoom, kMinZoom, kMaxZoom);
        resetTransform();
        scale(kept, kept);
        centerOn(start_->middle);
        Q_EMIT moved();
        return;
    }
    const QRectF all = scene()->sceneRect();
    const double whole = std::min(viewport()->width() / all.width(), viewport()->height() / all.height());
    const double wide = viewport()->width() / all.width();
    double wanted = whole > kFullZoom ? std::min(whole, 1.0) : std::clamp(wide, kFullZoom, 1.0);
    QPointF look = all.center();
    if (wide < wanted) {
        // Smaller, with the names alone, where that shows rather more of a half.
        constexpr double kSteps[] = {1, 0.85}, kEnough = 0.5;
        const std::vector<QRectF> boxes = seen_first();
        const double full = wanted;
        double most = -1;
        for (const double step : kSteps) {
            if (most >= kEnough || (step < 1 && !middle)) break;
            const QSizeF size = QSizeF(viewport()->size()) / (full * step);
            const FirstWindow window = first_window(boxes, all, size, middle);
            if (window.seen <= most) continue;
            most = window.seen;
            wanted = full * step;
            look.setX(window.left + size.width() / 2);
        }
    }
    resetTransform();
    scale(wanted, wanted);
    centerOn(look);
    verticalScrollBar()->setValue(verticalScrollBar()->minimum());
    Q_EMIT moved();
}

/// A page that isn't in front has no size of its own as yet: it'll have that of the pages.
std::size_t GraphView::room_for(std::size_t usual) const {
    QSize room = size();
    for (const QWidget* w = parentWidget(); w != nullptr; w = w->parentWidget())
        if (qobject_cast<const QTabWidget*>(w->parentWidget()) != nullptr) {
            room = w->size();
            break;
        }
    return nodes_with_room(usual, room);
}

std::vector<QRectF> GraphView::seen_first() const {
    constexpr double kHeadWidth = 220, kHead = 40;  // of a frame: its name counts as much as a node
    std::vector<QRectF> boxes;
    for (const QGraphicsItem* item : scene()->items(Qt::AscendingOrder)) {
        if (!item->isVisible()) continue;
        if (item->type() == PortalItem::Type) boxes.push_back(item->sceneBoundingRect());
        if (item->type() != NodeItem::Type) continue;
        const auto* node = static_cast<const NodeItem*>(item);
        QRectF box = node->rect();
        if (node->is_frame()) box.setSize({std::min(box.width(), kHeadWidth), kHead});
        boxes.push_back(box);
    }
    return boxes;
}

void GraphView::bring_into_view(const QRectF& what) {
    if (scene() == nullptr) return;
    leave_first_look();
    if (zoom() < kFullZoom) {
        resetTransform();
        Q_EMIT moved();
    }
    const QRectF seen = mapToScene(viewport()->rect()).boundingRect();
    if (seen.contains(what)) return;
    // Of a frame that is larger than the view its head.
    QRectF part = what;
    part.setWidth(std::min(part.width(), seen.width() * 0.9));
    part.setHeight(std::min(part.height(), seen.height() * 0.9));
    centerOn(part.center());
}

void GraphView::keep(QPointF scene_point, QPoint at) {
    const QPoint now = mapFromScene(scene_point);
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() + now.x() - at.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() + now.y() - at.y());
}

void GraphView::wheelEvent(QWheelEvent* event) {
    leave_first_look();
    if ((event->modifiers() & Qt::ControlModifier) == 0) return QGraphicsView::wheelEvent(event);
    zoom_by(std::pow(1.0015, event->angleDelta().y()));
    event->accept();
}

void GraphView::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            return zoom_by(1.2);
        case Qt::Key_Minus:
            return zoom_by(1 / 1.2);
        case Qt::Key_0:
            return resetTransform();
        case Qt::Key_F:
            return fit();
        default:
            return QGraphicsView::keyPressEvent(event);
    }
}

/// Lower right, lower left, upper right, upper left.
QRect GraphView::map_in_corner(int corner) const {
    const bool left = corner % 2 == 1, top = corner >= 2;
    return {left ? kMapMargin : viewport()->width() - kMapWidth - kMapMargin,
            top ? kMapMargin : viewport()->height() - kMapHeight - kMapMargin, kMapWidth, kMapHeight};
}

bool GraphView::on_map(const QPoint& at) const {
    return corner_ >= 0 && map_rect().contains(at) && scene() != nullptr && !scene()->items().isEmpty();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    leave_first_look();
    if (event->button() == Qt::LeftButton && on_map(event->pos())) return mouseMoveEvent(event);
    QGraphicsView::mousePressEvent(event);
    viewport()->setCursor(Qt::ArrowCursor);
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
    if ((event->buttons() & Qt::LeftButton) != 0 && on_map(event->pos())) {
        const QRectF all = scene()->sceneRect();
        const QPointF part = event->pos() - map_rect().topLeft();
        return centerOn(all.x() + part.x() / kMapWidth * all.width(), all.y() + part.y() / kMapHeight * all.height());
    }
    QGraphicsView::mouseMoveEvent(event);
}

bool GraphView::viewportEvent(QEvent* event) {
    auto* graph = qobject_cast<GraphScene*>(scene());
    if (graph != nullptr && (event->type() == QEvent::Leave || event->type() == QEvent::Hide)) graph->pointer_left();
    return QGraphicsView::viewportEvent(event);
}

void GraphView::scrollContentsBy(int dx, int dy) {
    QGraphicsView::scrollContentsBy(dx, dy);
    viewport()->update();
    Q_EMIT moved();
}

void GraphView::resizeEvent(QResizeEvent* event) {
    QGraphicsView::resizeEvent(event);
    Q_EMIT moved();
}

void GraphView::paintEvent(QPaintEvent* event) {
    const auto* graph = qobject_cast<const GraphScene*>(scene());
    if (graph == nullptr || graph->crowd() < kCrowd || devicePixelRatioF() != 1) {
        picture_.forget();
        return QGraphicsView::paintEvent(event);
    }
    const auto paint = [this](QPainter& painter, const QRect& part) {
        painter.setRenderHints(renderHints());
        into_kept_ = true;
        render(&painter, part, part, Qt::IgnoreAspectRatio);
        into_kept_ = false;
    };
    QPainter painter(viewport());
    painter.setClipRegion(event->region());
    painter.drawPixmap(0, 0, picture_.pixels(viewport()->size(), viewportTransform(), graph->version(), paint));
    drawForeground(&painter, {});
}

/// What stands still while the picture moves is painted in the viewport's own coordinates.
void GraphView::drawForeground(QPainter* painter, const QRectF&) {
    if (into_kept_) return;
    painter->save();
    painter->resetTransform();
    if (scene() == nullptr || scene()->items().isEmpty()) {
        painter->setFont(text_font(13));
        painter->setPen(theme()(theme().palette().muted));
        painter->drawText(viewport()->rect().adjusted(60, 40, -60, -40), int(Qt::AlignCenter) | Qt::TextWordWrap, empty_text_);
    } else {
        paint_map(*painter);
    }
    painter->restore();
}

bool GraphView::hides_something(const QRect& map) const {
    constexpr int kClear = 6;  // beside the map
    const QRectF area = mapToScene(map.adjusted(-kClear, -kClear, kClear, kClear)).boundingRect();
    const auto* graph = qobject_cast<const GraphScene*>(scene());
    if (graph != nullptr && graph->boundary() && area.left() <= *graph->boundary() && area.right() >= *graph->boundary()) return true;
    const QList<QGraphicsItem*> near = scene()->items(area, Qt::IntersectsItemBoundingRect);
    return std::any_of(near.begin(), near.end(),
                       [&](const QGraphicsItem* item) { return item->isVisible() && covers(*item, area, zoom()); });
}

/// A part of the picture, on its map.
static QRectF part_on_map(const QRectF& part, const QRectF& all) {
    return {(part.x() - all.x()) / all.width() * kMapWidth, (part.y() - all.y()) / all.height() * kMapHeight,
            std::max(1.5, part.width() / all.width() * kMapWidth), std::max(1.0, part.height() / all.height() * kMapHeight)};
}

QPixmap GraphView::draw_map() const {
    QPixmap pixels(QSize(kMapWidth, kMapHeight) * devicePixelRatioF());
    pixels.setDevicePixelRatio(devicePixelRatioF());
    pixels.fill(theme()(theme().palette().panel));
    QPainter painter(&pixels);
    int painted = 0;
    for (const QGraphicsItem* item : scene()->items()) {
        if (item->type() != NodeItem::Type || static_cast<const NodeItem*>(item)->is_frame()) continue;
        const auto* node = static_cast<const NodeItem*>(item);
        painter.fillRect(part_on_map(node->rect(), scene()->sceneRect()), node->map_colour());
        if (++painted > kMostMapItems) break;
    }
    return pixels;
}

void GraphView::paint_map(QPainter& painter) const {
    const QRectF all = scene()->sceneRect();
    const QRectF seen = mapToScene(viewport()->rect()).boundingRect();
    if (seen.contains(all.adjusted(20, 20, -20, -20))) {
        corner_ = -1;
        return;
    }
    const Palette& p = theme().palette();
    constexpr int kCorners = 4;
    // It stays under the pointer that drags it.
    const bool dragged = QApplication::mouseButtons() != Qt::NoButton && on_map(viewport()->mapFromGlobal(QCursor::pos()));
    if (!dragged) {
        corner_ = 0;
        while (corner_ < kCorners && hides_something(map_in_corner(corner_))) ++corner_;
        if (corner_ == kCorners) corner_ = -1;
    }
    if (corner_ < 0) return;
    const QRect map = map_rect();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme()(p.rule));
    painter.setBrush(theme()(p.panel));
    painter.drawRect(map.adjusted(-3, -3, 3, 3));
    const auto* graph = qobject_cast<const GraphScene*>(scene());
    if (graph == nullptr || map_.version != graph->version() || map_.of != all)
        map_ = {draw_map(), graph == nullptr ? 0 : graph->version(), all};
    painter.drawPixmap(map.topLeft(), map_.pixels);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme()(p.ink), 1));
    painter.drawRect(part_on_map(seen & all, all).translated(map.topLeft()));
}

}  // namespace jaxscope::views
