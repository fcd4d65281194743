// SPDX-License-Identifier: Apache-2.0
#include "memory/flame_widget.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr double kLine = 22, kFlameHead = 34, kSide = 16;

/// The colour of a name, the same each time: hues between those that mean something elsewhere.
QColor colour_of(const FlameNode& node, const Palette& p) {
    if (node.argument) return theme()(p.known);
    if (node.line == 0 && (node.function == kNoLine || node.function == kNoScope)) return theme()(p.muted);
    std::uint32_t h = 2166136261U;
    for (const char c : node.function) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
    constexpr int kFrom = 18, kHues = 34;  // yellow to orange
    return QColor::fromHsl(kFrom + static_cast<int>(h % kHues), 170, theme().dark() ? 92 : 178);
}

}  // namespace

FlameWidget::FlameWidget(Selection* selection, QWidget* parent) : QWidget(parent), selection_(selection) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Bytes by source line"));
    connect(selection_, &Selection::changed, this, QOverload<>::of(&QWidget::update));
}

void FlameWidget::set_graph(FlameGraph graph, const QString& what, const QString& why_empty) {
    graph_ = std::move(graph);
    what_ = what;
    why_empty_ = why_empty;
    hovered_ = walked_ = zoomed_ = -1;
    scrolled_ = 0;
    update();
}

QString FlameWidget::words(int node) const {
    const FlameNode& n = graph_.nodes[static_cast<std::size_t>(node)];
    std::string text = n.function;
    if (n.line > 0) text += "  " + short_place(n.file, n.line);
    const double share = graph_.bytes > 0 ? 100.0 * static_cast<double>(n.bytes) / static_cast<double>(graph_.bytes) : 0;
    return utf8(text + "\n" + bytes_text(n.bytes)) + QStringLiteral(", %1 %").arg(share, 0, 'f', 1);
}

QRectF FlameWidget::rect_of(int node) const {
    const FlameNode& n = graph_.nodes[static_cast<std::size_t>(node)];
    const FlameNode* top = zoomed_ < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(zoomed_)];
    const double from = top == nullptr ? 0 : static_cast<double>(top->begin);
    const double all = std::max(1.0, static_cast<double>(top == nullptr ? graph_.bytes : top->bytes));
    const double room = width() - 2 * kSide;
    const double left = std::clamp((static_cast<double>(n.begin) - from) / all, 0.0, 1.0);
    const double right = std::clamp((static_cast<double>(n.begin + n.bytes) - from) / all, 0.0, 1.0);
    return {kSide + left * room, kFlameHead + n.depth * kLine - scrolled_, (right - left) * room, kLine - 1};
}

int FlameWidget::node_at(QPointF at) const {
    if (at.y() < kFlameHead) return -1;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
        if (rect_of(static_cast<int>(n)).contains(at)) return static_cast<int>(n);
    return -1;
}

bool FlameWidget::is_picked(const FlameNode& node) const {
    const Picked& picked = selection_->picked();
    return (node.buffer && picked.buffer == node.buffer) || (node.residual && picked.residual == node.residual);
}

void FlameWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Palette& p = theme().palette();
    painter.fillRect(rect(), theme()(p.canvas));
    painter.setFont(head_font());
    painter.setPen(theme()(p.muted));
    const QRectF head(kSide, 8, width() - 2 * kSide, 18);
    painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, what_);
    if (graph_.nodes.empty()) {
        painter.setFont(text_font(13));
        painter.drawText(rect().adjusted(40, 40, -40, -20), int(Qt::AlignCenter) | Qt::TextWordWrap, why_empty_);
        return;
    }
    painter.setFont(text_font(11));
    painter.drawText(head, Qt::AlignRight | Qt::AlignVCenter, utf8(bytes_text(graph_.bytes)));
    painter.setClipRect(QRectF(0, kFlameHead, width(), QWidget::height() - kFlameHead));
    painter.setRenderHint(QPainter::Antialiasing);
    const QFont font = text_font(11);
    const QFontMetrics metrics(font);
    for (std::size_t k = 0; k < graph_.nodes.size(); ++k) {
        const FlameNode& node = graph_.nodes[k];
        const QRectF where = rect_of(static_cast<int>(k));
        constexpr double kSeen = 0.6, kLettered = 34;
        if (where.width() < kSeen || where.bottom() < kFlameHead || where.top() > QWidget::height()) continue;
        QColor ground = colour_of(node, p);
        if (node.line == 0) ground.setAlpha(120);
        painter.setPen(Qt::NoPen);
        painter.setBrush(static_cast<int>(k) == hovered_ ? ground.lighter(112) : ground);
        painter.drawRoundedRect(where.adjusted(0, 0, where.width() > 4 ? -1 : 0, 0), 2, 2);
        if (is_picked(node) || static_cast<int>(k) == walked_) {
            painter.setPen(QPen(theme()(p.ink), 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRoundedRect(where.adjusted(1, 1, -2, -1), 2, 2);
        }
        if (where.width() < kLettered) continue;
        std::string text = node.function;
        if (node.line > 0) text += "  " + short_place(node.file, node.line);
        text += "  " + bytes_text(node.bytes);
        painter.setFont(font);
        painter.setPen(theme()(p.ink));
        painter.drawText(where.adjusted(6, 0, -6, 0), int(Qt::AlignLeft | Qt::AlignVCenter) | Qt::TextSingleLine,
                         metrics.elidedText(utf8(text), Qt::ElideRight, static_cast<int>(where.width()) - 12));
    }
}

double FlameWidget::height() const { return kFlameHead + graph_.depth * kLine + 8; }

void FlameWidget::scroll_to(double top) {
    scrolled_ = std::clamp(top, 0.0, std::max(0.0, height() - QWidget::height()));
    update();
}

void FlameWidget::mouseMoveEvent(QMouseEvent* event) {
    const int node = node_at(event->pos());
    if (node == hovered_) return;
    hovered_ = node;
    node >= 0 ? QToolTip::showText(event->globalPos(), words(node), this) : QToolTip::hideText();
    update();
}

void FlameWidget::mousePressEvent(QMouseEvent* event) {
    const int node = node_at(event->pos());
    if (node < 0) return;
    // What is above what was zoomed to leads back.
    if (zoomed_ >= 0 && graph_.nodes[static_cast<std::size_t>(node)].depth < graph_.nodes[static_cast<std::size_t>(zoomed_)].depth)
        zoom(node);
    pick(node);
}

void FlameWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    const int node = node_at(event->pos());
    zoom(node == zoomed_ ? -1 : node);
}

void FlameWidget::zoom(int node) {
    zoomed_ = node >= 0 && graph_.nodes[static_cast<std::size_t>(node)].parent < 0 &&
                      graph_.nodes[static_cast<std::size_t>(node)].bytes == graph_.bytes
                  ? -1
                  : node;
    update();
}

void FlameWidget::pick(int node) {
    walked_ = node;
    const FlameNode& n = graph_.nodes[static_cast<std::size_t>(node)];
    Picked picked;
    picked.residual = n.residual;
    picked.buffer = n.buffer;
    selection_->pick(picked);
    setAccessibleDescription(words(node));
    const QRectF where = rect_of(node);
    if (where.top() < kFlameHead) scroll_to(scrolled_ - (kFlameHead - where.top()));
    if (where.bottom() > QWidget::height()) scroll_to(scrolled_ + where.bottom() - QWidget::height());
    update();
}

/// Down to the largest below, up to the caller, to the sides along the row.
void FlameWidget::keyPressEvent(QKeyEvent* event) {
    if (graph_.nodes.empty()) return event->ignore();
    const auto at = [&](int node) -> const FlameNode& { return graph_.nodes[static_cast<std::size_t>(node)]; };
    const auto count = static_cast<int>(graph_.nodes.size());
    if (event->key() == Qt::Key_Return) return zoom(walked_);
    if (event->key() == Qt::Key_Backspace) return zoom(zoomed_ < 0 ? -1 : at(zoomed_).parent);
    int to = -1;
    if (walked_ < 0) {
        to = 0;
    } else if (event->key() == Qt::Key_Down) {
        if (walked_ + 1 < count && at(walked_ + 1).parent == walked_) to = walked_ + 1;
    } else if (event->key() == Qt::Key_Up) {
        to = at(walked_).parent;
    } else if (event->key() == Qt::Key_Right) {
        for (int n = walked_ + 1; n < count && to < 0; ++n)
            if (at(n).depth == at(walked_).depth) to = n;
    } else if (event->key() == Qt::Key_Left) {
        for (int n = walked_ - 1; n >= 0 && to < 0; --n)
            if (at(n).depth == at(walked_).depth) to = n;
    } else {
        return event->ignore();
    }
    if (to >= 0) pick(to);
}

void FlameWidget::wheelEvent(QWheelEvent* event) {
    scroll_to(scrolled_ - event->angleDelta().y() / 3.0);
    event->accept();
}

void FlameWidget::leaveEvent(QEvent*) {
    hovered_ = -1;
    update();
}

}  // namespace jaxscope::views
