// SPDX-License-Identifier: Apache-2.0
#include "compare/policy_plot.h"

#include <QHelpEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr double kRadius = 5, kReach = 10;
constexpr double kMarked = kRadius + 9;  // how far the mark of what applies reaches, with some room

struct Range {
    double low = 0, high = 1;
};

/// Of the figures of all rows, with room at both ends.
template <class Figure>
Range range_of(const std::vector<PolicyRow>& rows, const Figure& figure) {
    double low = 1e300, high = -1e300;
    for (const PolicyRow& row : rows) {
        const std::optional<double> at = figure(row);
        if (!row.planned_peak || !at) continue;
        low = std::min(low, *at);
        high = std::max(high, *at);
    }
    if (low > high) return {};
    const double room = std::max((high - low) * 0.12, high > 0 ? high * 0.01 : 1);
    return {std::max(0.0, low - room), high + room};
}

std::optional<double> peak_of(const PolicyRow& row) { return row.planned_peak; }

}  // namespace

PolicyPlot::PolicyPlot(PolicyModel* model, QWidget* parent) : QWidget(parent), model_(model) {
    setMouseTracking(true);
    against_ = new QToolButton(this);
    against_->setPopupMode(QToolButton::InstantPopup);
    against_->setAccessibleName(tr("What the peaks are drawn against"));
    auto* menu = new QMenu(against_);
    menu->addAction(tr("Recomputed"), this, [this] { set_axis(Axis::Work); });
    menu->addAction(tr("Time"), this, [this] { set_axis(Axis::Time); });
    against_->setMenu(menu);
    connect(model_, &QAbstractItemModel::modelReset, this, [this] { set_against(), update(); });
    on_theme_change(this, [this] { restyle(); });
    restyle();
    set_axis(Axis::Work);
}

void PolicyPlot::restyle() {
    against_->setFont(head_font());
    against_->setStyleSheet(head_menu_style());
    set_against();
}

void PolicyPlot::set_axis(Axis axis) {
    axis_ = axis;
    setAccessibleName(axis == Axis::Work ? tr("Planned peak against recomputed work, per policy")
                                         : tr("Planned peak against time, per policy"));
    set_against();
    update();
}

/// Time can be chosen once something was measured.
void PolicyPlot::set_against() {
    const auto measured = [](const PolicyRow& row) { return row.run_median.has_value(); };
    const bool any = std::any_of(model_->rows().begin(), model_->rows().end(), measured);
    QAction* time = against_->menu()->actions().back();
    time->setEnabled(any);
    time->setText(any ? tr("Time") : tr("Time: run a policy first"));
    if (!any) axis_ = Axis::Work;
    against_->setText(axis_ == Axis::Work ? tr("Recomputed") : tr("Time"));
    against_->setVisible(!model_->rows().empty());
    against_->adjustSize();
    against_->move(width() - against_->width() - 16, height() - against_->height());
}

void PolicyPlot::resizeEvent(QResizeEvent*) { set_against(); }

std::optional<double> PolicyPlot::across(const PolicyRow& row) const {
    return axis_ == Axis::Work ? std::optional(row.recomputed_flops) : row.run_median;
}

QString PolicyPlot::across_text(double figure) const { return utf8(axis_ == Axis::Work ? flops_text(figure) : seconds_text(figure)); }

QRectF PolicyPlot::plot() const { return QRectF(rect()).adjusted(84, 26, -16, -40); }

std::optional<QPointF> PolicyPlot::point_of(int row) const {
    const PolicyRow& at = model_->rows()[static_cast<std::size_t>(row)];
    const std::optional<double> figure = across(at), peak = peak_of(at);
    if (!peak || !figure) return {};
    const Range x = range_of(model_->rows(), [this](const PolicyRow&r) { return across(r); }), y = range_of(model_->rows(), peak_of);
    return QPointF(plot().left() + (*figure - x.low) / (x.high - x.low) * plot().width(),
                   plot().bottom() - (*peak - y.low) / (y.high - y.low) * plot().height());
}

int PolicyPlot::row_at(QPointF where) const {
    int nearest = -1;
    double best = kReach;
    for (int r = 0; r < model_->rowCount(); ++r) {
        const std::optional<QPointF> point = point_of(r);
        const double distance = point ? std::hypot(point->x() - where.x(), point->y() - where.y()) : best;
        if (distance < best) best = distance, nearest = r;
    }
    return nearest;
}

void PolicyPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& p = theme().palette();
    painter.fillRect(rect(), theme()(p.panel));
    if (model_->rowCount() == 0) return;
    paint_axes(painter);
    for (int r = 0; r < model_->rowCount(); ++r) {
        const std::optional<QPointF> at = point_of(r);
        if (!at) continue;
        const bool measured = model_->rows()[static_cast<std::size_t>(r)].run_median.has_value();
        painter.setPen(QPen(theme()(p.residual), 1.6));
        painter.setBrush(theme()(measured ? p.residual : p.panel));
        painter.drawEllipse(*at, kRadius, kRadius);
        if (r != model_->applied()) continue;
        painter.setPen(QPen(theme()(p.ink), 2.4));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(*at, kRadius + 3, kRadius + 3);
    }
    paint_labels(painter);
}

void PolicyPlot::paint_axes(QPainter& painter) const {
    const Palette& p = theme().palette();
    painter.setPen(theme()(p.rule));
    painter.drawLine(plot().bottomLeft(), plot().bottomRight());
    painter.drawLine(plot().bottomLeft(), plot().topLeft());
    const Range x = range_of(model_->rows(), [this](const PolicyRow&r) { return across(r); }), y = range_of(model_->rows(), peak_of);
    painter.setFont(mono_font(10));
    painter.setPen(theme()(p.muted));
    const auto width_of = [&](double figure) { return painter.fontMetrics().horizontalAdvance(across_text(figure)); };
    constexpr int kBetween = 8;
    const bool both_ends = width_of(x.low) + kBetween + width_of(x.high) <= plot().width();
    for (const double part : {0.0, 0.5, 1.0}) {
        const double bytes = y.low + part * (y.high - y.low), figure = x.low + part * (x.high - x.low);
        const double at_y = plot().bottom() - part * plot().height(), at_x = plot().left() + part * plot().width();
        painter.drawText(QRectF(0, at_y - 8, plot().left() - kMarked, 16), Qt::AlignRight | Qt::AlignVCenter,
                         utf8(bytes_text(static_cast<std::int64_t>(bytes))));
        constexpr double kOfLabel = 90;
        if (part == 0.5 && plot().width() < 3 * kOfLabel) continue;  // the ends' labels need the room
        if (part == 0.0 && !both_ends) continue;                     // where it begins is no surprise
        const int side = part == 0.0 ? Qt::AlignLeft : part == 1.0 ? Qt::AlignRight : Qt::AlignHCenter;
        const double room = 120;
        const double from = part == 0.0 ? at_x : part == 1.0 ? at_x - room : at_x - room / 2;
        painter.drawText(QRectF(from, plot().bottom() + 3, room, 14), side | Qt::AlignVCenter, across_text(figure));
    }
    painter.setFont(head_font());
    painter.drawText(QRectF(8, 4, width() - 16, 16), Qt::AlignLeft | Qt::AlignVCenter,
                     model_->headerData(PolicyModel::Peak, Qt::Horizontal, Qt::DisplayRole).toString());
}

/// Names beside their points, each where no other one stands.
void PolicyPlot::paint_labels(QPainter& painter) const {
    const Palette& p = theme().palette();
    painter.setFont(text_font(10));
    const QFontMetricsF metrics(painter.font());
    std::vector<QRectF> taken;
    for (int r = 0; r < model_->rowCount(); ++r)
        if (const auto at = point_of(r)) taken.push_back(QRectF(at->x() - 7, at->y() - 7, 14, 14));
    for (int r = 0; r < model_->rowCount(); ++r) {
        const std::optional<QPointF> at = point_of(r);
        if (!at) continue;
        const PolicyRow& row = model_->rows()[static_cast<std::size_t>(r)];
        QString text = model_->words(r);
        if (row.run_median) text += QStringLiteral(", ") + utf8(seconds_text(*row.run_median));
        text = metrics.elidedText(text, Qt::ElideRight, 170);
        const double w = metrics.horizontalAdvance(text) + 2, h = metrics.height();
        const QPointF places[] = {{at->x() + 10, at->y() - h / 2},
                                  {at->x() - 10 - w, at->y() - h / 2},
                                  {at->x() - w / 2, at->y() - 10 - h},
                                  {at->x() - w / 2, at->y() + 10}};
        for (const QPointF& place : places) {
            const QRectF box(place, QSizeF(w, h));
            const bool inside =
                box.left() >= plot().left() && box.right() <= width() - 2 && box.top() >= 18 && box.bottom() <= plot().bottom();
            if (!inside || std::any_of(taken.begin(), taken.end(), [&](const QRectF& other) { return other.intersects(box); })) continue;
            painter.setPen(theme()(r == model_->applied() ? p.ink : p.muted));
            painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, text);
            taken.push_back(box);
            break;
        }
    }
}

void PolicyPlot::mousePressEvent(QMouseEvent* event) {
    if (const int row = row_at(event->pos()); row >= 0) Q_EMIT row_clicked(row);
}

bool PolicyPlot::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = row_at(help->pos());
    if (row < 0) return QWidget::event(event);
    const PolicyRow& at = model_->rows()[static_cast<std::size_t>(row)];
    QToolTip::showText(help->globalPos(),
                       model_->words(row) + QStringLiteral("\n") +
                           utf8(bytes_text(at.planned_peak.value_or(0)) + " planned, " + flops_text(at.recomputed_flops) + " recomputed"),
                       this);
    return true;
}

}  // namespace jaxscope::views
