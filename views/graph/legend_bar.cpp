// SPDX-License-Identifier: Apache-2.0
#include "graph/legend_bar.h"

#include <QPainter>
#include <vector>

#include "theme/theme.h"

namespace jaxscope::views {
namespace {

enum class Shape { Box, Dashed, Line, Ring };

struct Entry {
    const char* colour;
    QString word;
    Shape shape;
};

void paint_shape(QPainter& painter, const QRect& where, const Entry& entry) {
    QPen pen(theme()(entry.colour), entry.shape == Shape::Line ? 3 : 1.5);
    if (entry.shape == Shape::Dashed) pen.setDashPattern({3, 2});
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    if (entry.shape == Shape::Line)
        painter.drawLine(where.left(), where.center().y() + 1, where.right(), where.center().y() + 1);
    else if (entry.shape == Shape::Ring)
        painter.drawText(where, Qt::AlignCenter, QStringLiteral("\u27f2"));
    else
        painter.drawRoundedRect(where, 3, 3);
}

}  // namespace

LegendBar::LegendBar(bool split, QWidget* parent) : QWidget(parent), split_(split) {
    setFixedHeight(26);
    setAccessibleName(tr("Legend"));
}

void LegendBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& p = theme().palette();
    painter.fillRect(rect(), theme()(p.panel));
    painter.setPen(theme()(p.rule));
    painter.drawLine(0, 0, width(), 0);
    std::vector<Entry> entries{{p.known, tr("forward"), Shape::Box},
                               {p.unknown, tr("backward"), Shape::Box},
                               {p.recomputed, tr("recomputed"), Shape::Dashed},
                               {p.residual, split_ ? tr("saved, by bytes") : tr("saved"), Shape::Line}};
    if (!split_) entries.push_back({p.donated, tr("donated"), Shape::Ring});
    painter.setFont(text_font(11));
    int x = 14;
    for (const Entry& entry : entries) {
        if (x + 30 + painter.fontMetrics().horizontalAdvance(entry.word) > width()) break;  // half a word says nothing
        paint_shape(painter, {x, height() / 2 - 5, 16, 11}, entry);
        painter.setPen(theme()(p.muted));
        painter.drawText(QRect(x + 22, 0, 200, height()), Qt::AlignVCenter | Qt::AlignLeft, entry.word);
        x += 40 + painter.fontMetrics().horizontalAdvance(entry.word);
    }
}

}  // namespace jaxscope::views
