// SPDX-License-Identifier: Apache-2.0
// One strip for each buffer: from the step that makes it to the last that reads it, at its place in the arena.
#include <QPainter>

#include "base/units.h"
#include "memory/layers.h"
#include "memory/timeline_widget.h"

namespace jaxscope::views {

bool TimelineWidget::strip_shown(const PlannedBuffer& buffer) const {
    if (buffer.offset < 0 || buffer.alias_of || buffer.role == BufferRole::Constant) return false;
    return arguments_ || buffer.role != BufferRole::Argument;
}

QRectF TimelineWidget::strip_of(int buffer) const {
    const PlannedBuffer& b = plan_->buffers[static_cast<std::size_t>(buffer)];
    const double left = x_of(std::max(b.first_step, 0)), right = x_of(b.last_step + 1);
    const double top = y_of(static_cast<double>(b.offset - floor_ + b.bytes)), bottom = y_of(static_cast<double>(b.offset - floor_));
    return {left, top, std::max(right - left, 1.0), std::max(bottom - top, 0.5)};
}

int TimelineWidget::strip_at(QPointF at) const {
    for (std::size_t b = 0; plan_ && b < plan_->buffers.size(); ++b)
        if (strip_shown(plan_->buffers[b]) && strip_of(static_cast<int>(b)).contains(at)) return static_cast<int>(b);
    return -1;
}

void TimelineWidget::paint_strips(QPainter& painter) const {
    const Palette& p = theme().palette();
    const int picked = selection_->picked().buffer ? buffer_index(*plan_, *selection_->picked().buffer) : -1;
    painter.setFont(mono_font(10));
    for (std::size_t b = 0; b < plan_->buffers.size(); ++b) {
        const PlannedBuffer& buffer = plan_->buffers[b];
        if (!strip_shown(buffer)) continue;
        const QRectF where = strip_of(static_cast<int>(b));
        if (where.right() < plot().left() || where.left() > plot().right()) continue;
        for (const Layer& layer : kLayers) {
            if (layer.role != buffer.role) continue;
            QColor colour = theme()(p.*layer.colour);
            colour.setAlpha(layer.alpha);
            painter.fillRect(where, colour);
        }
        constexpr double kLined = 4, kLettered = 13, kRoom = 60;
        if (where.height() >= kLined) {
            painter.setPen(QPen(theme()(p.panel), 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(where);
        }
        const QRectF text = where & plot();
        if (text.height() >= kLettered && text.width() >= kRoom) {
            painter.setPen(theme()(p.ink));
            const QString name = utf8(to_text(buffer.aval) + " " + bytes_text(buffer.bytes));
            painter.drawText(text.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                             painter.fontMetrics().elidedText(name, Qt::ElideRight, static_cast<int>(text.width()) - 8));
        }
        if (static_cast<int>(b) != picked) continue;
        painter.setPen(QPen(theme()(p.ink), 2.4));
        painter.drawRect(where);
    }
}

}  // namespace jaxscope::views
