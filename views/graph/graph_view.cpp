#include "graph/graph_view.h"

#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>

#include "graph/graph_items.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr double kMinZoom = 0.05, kMaxZoom = 3;
constexpr int kMapWidth = 120, kMapHeight = 84, kMapMargin = 12;
constexpr int kMostMapItems = 3000;  // a map of more is a grey block

}  // namespace

GraphView::GraphView(QWidget* parent) : QGraphicsView(parent) {
    setRenderHint(QPainter::Antialiasing);
    setDragMode(QGraphicsView::ScrollHandDrag);
    setTransformationAnchor(QGraphicsView::AnchorUnderMouse);
    setViewportUpdateMode(QGraphicsView::FullViewportUpdate);
    setOptimizationFlags(QGraphicsView::DontSavePainterState);
    setMouseTracking(true);
    viewport()->setCursor(Qt::ArrowCursor);
}

void GraphView::set_empty_text(const QString& text) {
    empty_text_ = text;
    viewport()->update();
}

void GraphView::zoom_by(double factor) {
    const double wanted = std::clamp(zoom() * factor, kMinZoom, kMaxZoom);
    scale(wanted / zoom(), wanted / zoom());
    Q_EMIT moved();
}

void GraphView::fit() {
    if (scene() == nullptr || scene()->sceneRect().isEmpty()) return;
    fitInView(scene()->sceneRect(), Qt::KeepAspectRatio);
    if (zoom() > 1) resetTransform();
    Q_EMIT moved();
}

void GraphView::first_look(std::optional<double> middle) {
    if (scene() == nullptr) return;
    const QRectF all = scene()->sceneRect();
    const double whole = std::min(viewport()->width() / all.width(), viewport()->height() / all.height());
    const double wide = viewport()->width() / all.width();
    resetTransform();
    const double wanted = whole > 0.75 ? std::min(whole, 1.0) : std::clamp(wide, 0.6, 1.0);
    scale(wanted, wanted);
    centerOn(wide < wanted && middle ? QPointF(*middle, all.center().y()) : all.center());
    verticalScrollBar()->setValue(verticalScrollBar()->minimum());
    Q_EMIT moved();
}

void GraphView::keep(QPointF scene_point, QPoint at) {
    const QPoint now = mapFromScene(scene_point);
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() + now.x() - at.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() + now.y() - at.y());
}

void GraphView::wheelEvent(QWheelEvent* event) {
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

QRect GraphView::map_rect() const {
    return {viewport()->width() - kMapWidth - kMapMargin, viewport()->height() - kMapHeight - kMapMargin, kMapWidth, kMapHeight};
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && map_rect().contains(event->pos()) && scene() != nullptr && !scene()->items().isEmpty())
        return mouseMoveEvent(event);
    QGraphicsView::mousePressEvent(event);
    viewport()->setCursor(Qt::ArrowCursor);
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
    if ((event->buttons() & Qt::LeftButton) != 0 && map_rect().contains(event->pos()) && scene() != nullptr) {
        const QRectF all = scene()->sceneRect();
        const QPointF part = event->pos() - map_rect().topLeft();
        return centerOn(all.x() + part.x() / kMapWidth * all.width(), all.y() + part.y() / kMapHeight * all.height());
    }
    QGraphicsView::mouseMoveEvent(event);
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

/// What stands still while the picture moves is painted in the viewport's own coordinates.
void GraphView::drawForeground(QPainter* painter, const QRectF&) {
    painter->save();
    painter->resetTransform();
    if (scene() == nullptr || scene()->items().isEmpty()) {
        painter->setFont(text_font(13));
        painter->setPen(theme()(theme().palette().muted));
        painter->drawText(viewport()->rect().adjusted(60, 40, -60, -40), int(Qt::AlignCenter) | Qt::TextWordWrap, empty_text_);
    } else {
        paint_legend(*painter);
        paint_map(*painter);
    }
    painter->restore();
}

void GraphView::paint_map(QPainter& painter) const {
    const QRectF all = scene()->sceneRect();
    const QRectF seen = mapToScene(viewport()->rect()).boundingRect();
    if (seen.contains(all.adjusted(20, 20, -20, -20))) return;
    const Palette& p = theme().palette();
    const QRect map = map_rect();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme()(p.rule));
    painter.setBrush(theme()(p.panel));
    painter.drawRect(map.adjusted(-3, -3, 3, 3));
    const auto place = [&](const QRectF& r) {
        return QRectF(map.x() + (r.x() - all.x()) / all.width() * kMapWidth, map.y() + (r.y() - all.y()) / all.height() * kMapHeight,
                      std::max(1.5, r.width() / all.width() * kMapWidth), std::max(1.0, r.height() / all.height() * kMapHeight));
    };
    const QList<QGraphicsItem*> items = scene()->items();
    int painted = 0;
    for (QGraphicsItem* item : items) {
        if (item->type() != NodeItem::Type || item->zValue() < 0) continue;
        painter.fillRect(place(static_cast<NodeItem*>(item)->rect()), static_cast<NodeItem*>(item)->map_colour());
        if (++painted > kMostMapItems) break;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme()(p.ink), 1));
    painter.drawRect(place(seen & all));
}

void GraphView::paint_legend(QPainter& painter) const {
    const Palette& p = theme().palette();
    struct Entry {
        const char* colour;
        QString word;
        bool dashed, line;
    };
    std::vector<Entry> entries{
        {p.known, tr("forward"), false, false}, {p.unknown, tr("backward"), false, false}, {p.recomputed, tr("recomputed"), true, false}};
    if (split_legend_) entries.push_back({p.residual, tr("residual"), false, true});
    painter.setFont(text_font(11));
    const QFontMetrics metrics(text_font(11));
    int width = 10;
    for (const Entry& e : entries) width += 24 + metrics.horizontalAdvance(e.word) + 16;
    const QRect ground(12, viewport()->height() - 36, width, 24);
    QColor colour = theme()(p.panel);
    colour.setAlpha(245);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawRoundedRect(ground, 6, 6);
    int x = ground.x() + 10;
    for (const Entry& e : entries) {
        QPen pen(theme()(e.colour), e.line ? 3 : 1.5);
        if (e.dashed) pen.setDashPattern({3, 2});
        painter.setPen(pen);
        painter.setBrush(Qt::NoBrush);
        if (e.line)
            painter.drawLine(x, ground.center().y() + 1, x + 16, ground.center().y() + 1);
        else
            painter.drawRoundedRect(QRect(x, ground.y() + 7, 16, 11), 3, 3);
        painter.setPen(theme()(p.muted));
        painter.drawText(QRect(x + 22, ground.y(), 200, ground.height()), Qt::AlignVCenter | Qt::AlignLeft, e.word);
        x += 24 + metrics.horizontalAdvance(e.word) + 16;
    }
}

}  // namespace jaxscope::views
