// SPDX-License-Identifier: Apache-2.0
#include "memory/timeline_widget.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/units.h"
#include "jit/targets.h"
#include "memory/layers.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {
TimelineWidget::TimelineWidget(Selection* selection, bool compact, QWidget* parent)
    : QWidget(parent), selection_(selection), compact_(compact) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Memory over the run"));
    setSizePolicy(QSizePolicy::Expanding, compact ? QSizePolicy::Fixed : QSizePolicy::Expanding);
    connect(selection_, &Selection::changed, this, [this] { update(); });
}

void TimelineWidget::set_plan(std::shared_ptr<const MemoryPlan> plan, std::shared_ptr<const MemoryPlan> as_it_is,
                              std::int64_t measured_peak) {
    if (plan == as_it_is) as_it_is.reset();
    as_it_is_ = std::move(as_it_is);
    as_it_is_peak_ = as_it_is_ ? as_it_is_->planned_peak : 0;
    measured_peak_ = measured_peak;
    if (opened() && plan == above_.front()) return update();  // a run was measured: what is open stays open
    above_.clear();
    show(std::move(plan));
}

void TimelineWidget::show(std::shared_ptr<const MemoryPlan> plan) {
    plan_ = std::move(plan);
    timeline_ = plan_ ? memory_timeline(*plan_) : MemoryTimeline{};
    bands_ = plan_ ? bands_of(*plan_) : std::vector<Band>();
    setAccessibleDescription(plan_ ? figures() : QString());
    before_ = as_it_is_ && !opened() ? memory_timeline(*as_it_is_) : MemoryTimeline{};
    scale_.set_steps(static_cast<int>(timeline_.live.size()));
    hovered_ = -1;
    measure();
}

void TimelineWidget::set_problem(const QString& problem) {
    problem_ = problem;
    setToolTip(problem);
    update();
}

QRectF TimelineWidget::plot() const {
    return compact_ ? QRectF(16, 42, width() - 32, height() - 52) : QRectF(88, 66, width() - 112, height() - 106);
}

double TimelineWidget::x_of(double step) const { return scale_.x_of(step, plot()); }

/// Bytes alive in a step, as they are shown.
std::int64_t TimelineWidget::live(const MemoryTimeline& timeline, std::size_t step) const {
    return timeline.live[step] - (arguments_ ? 0 : timeline.by_role[step][static_cast<std::size_t>(BufferRole::Argument)]);
}

std::int64_t TimelineWidget::top() const {
    std::int64_t most = 1;
    if (mode_ == Mode::Strips && plan_) {
        for (const PlannedBuffer& buffer : plan_->buffers)
            if (strip_shown(buffer)) most = std::max(most, buffer.offset + buffer.bytes - floor_);
        return most;
    }
    for (const MemoryTimeline* timeline : {&timeline_, &before_})
        for (std::size_t s = 0; s < timeline->live.size(); ++s) most = std::max(most, live(*timeline, s));
    return most;
}

double TimelineWidget::y_of(double bytes) const { return plot().bottom() - bytes / static_cast<double>(top_) * plot().height(); }

int TimelineWidget::step_at(double x) const {
    if (timeline_.live.empty() || x < plot().left() || x >= plot().right()) return -1;
    return std::clamp(static_cast<int>(scale_.step_of(x, plot())), 0, static_cast<int>(timeline_.live.size()) - 1);
}

void TimelineWidget::set_mode(Mode mode) {
    mode_ = mode;
    measure();
}

void TimelineWidget::show_arguments(bool shown) {
    arguments_ = shown;
    measure();
}

void TimelineWidget::measure() {
    floor_ = 0;
    if (plan_ && !arguments_) {
        floor_ = std::numeric_limits<std::int64_t>::max();
        for (const PlannedBuffer& buffer : plan_->buffers)
            if (strip_shown(buffer)) floor_ = std::min(floor_, buffer.offset);
    }
    top_ = top();
    update();
}

void TimelineWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& p = theme().palette();
    painter.fillRect(rect(), theme()(compact_ ? p.panel : p.canvas));
    paint_head(painter);
    if (timeline_.live.empty()) {
        painter.setFont(text_font(compact_ ? 12 : 13));
        painter.setPen(theme()(p.muted));
        const QString text = plan_                 ? tr("The program has no steps to run.")
                             : !problem_.isEmpty() ? tr("There is no memory plan: the message says why.")
                                                   : tr("The memory plan is made in the background once a program is open.");
        painter.drawText(plot(), int(Qt::AlignCenter) | Qt::TextWordWrap, text);
        return;
    }
    paint_bands(painter);
    if (!compact_) paint_axis(painter);
    painter.save();
    painter.setClipRect(plot().adjusted(0, -2, 0, 10));
    if (mode_ == Mode::Strips) {
        paint_strips(painter);
    } else {
        paint_areas(painter);
        paint_before(painter);
    }
    paint_marks(painter);
    painter.restore();
    if (mode_ == Mode::Curve) paint_peak(painter);
    if (!hasFocus()) return;
    painter.setPen(theme()(p.known));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

/// Title and figures stand in one line. The figures are what it is about: where both have no room the title is cut first.
TimelineWidget::HeadTexts TimelineWidget::head_texts() const {
    HeadTexts out;
    const int all = width() - 32;
    const QFontMetrics title_metrics(opened() ? text_font(11, true) : head_font()), metrics(text_font(11));
    if (plan_) out.figures = metrics.elidedText(figures(), Qt::ElideRight, all);
    constexpr int kGap = 12, kFewest = 40;
    const int room = all - (out.figures.isEmpty() ? 0 : metrics.horizontalAdvance(out.figures) + kGap);
    const QStringList titles = opened() ? QStringList{tr("Memory in ") + where()} : QStringList{tr("Memory over the run"), tr("Memory")};
    for (const QString& title : titles) {
        out.title = title;
        if (title_metrics.horizontalAdvance(title) <= room) return out;
    }
    out.title = room < kFewest ? QString() : title_metrics.elidedText(titles.back(), Qt::ElideMiddle, room);
    return out;
}

/// What is planned, and what was measured of it.
QString TimelineWidget::figures() const {
    std::string text = plan_->target != nullptr ? std::string("estimated for ") + plan_->target->name + " " : "planned ";
    text += bytes_text(plan_->planned_peak);
    if (opened()) text += " of its own";
    // The curve's own peak says how much is alive; the rest of what is planned lies between buffers.
    if (const std::int64_t alive = plan_->live_peak; !opened() && bytes_text(alive) != bytes_text(plan_->planned_peak))
        text += " (" + bytes_text(plan_->planned_peak - alive) + " of it between buffers)";
    for (const SpaceUse& use : plan_->spaces)
        if (use.space == MemorySpace::Host && !opened()) text += ", up to " + bytes_text(use.peak) + " of it on the host";
    if (measured_peak_ > 0 && !opened()) text += " \u00b7 measured " + bytes_text(measured_peak_);
    if (as_it_is_peak_ > 0 && !opened() && as_it_is_peak_ != plan_->planned_peak) text += " \u00b7 as it is " + bytes_text(as_it_is_peak_);
    return utf8(text);
}

void TimelineWidget::paint_head(QPainter& painter) const {
    const Palette& p = theme().palette();
    painter.setFont(opened() ? text_font(11, true) : head_font());  // names of files keep their letters
    painter.setPen(theme()(p.muted));
    const QRectF head(16, 6, width() - 32, 18);
    const HeadTexts texts = head_texts();
    painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, texts.title);
    if (!plan_) return;
    painter.setFont(text_font(11));
    painter.drawText(head, Qt::AlignRight | Qt::AlignVCenter, texts.figures);
    if (compact_) return;
    double x = 16;
    for (const Layer& layer : kLayers) {
        QColor colour = theme()(p.*layer.colour);
        colour.setAlpha(layer.alpha);
        painter.fillRect(QRectF(x, 30, 12, 12), colour);
        const QString word = QString::fromLatin1(role_name(layer.role));
        painter.setPen(theme()(p.muted));
        painter.drawText(QRectF(x + 18, 27, 120, 18), Qt::AlignLeft | Qt::AlignVCenter, word);
        x += 18 + painter.fontMetrics().horizontalAdvance(word) + 18;
    }
}

void TimelineWidget::paint_axis(QPainter& painter) const {
    const Palette& p = theme().palette();
    const auto top = static_cast<double>(top_);
    double unit = std::pow(2.0, std::floor(std::log2(std::max(top, 8.0) / 4)));
    if (top / unit > 6) unit *= 2;
    painter.setFont(mono_font(10));
    for (double bytes = 0; bytes <= top; bytes += unit) {
        const double y = y_of(bytes);
        painter.setPen(QPen(theme()(p.rule), 1));
        painter.drawLine(QPointF(plot().left(), y), QPointF(plot().right(), y));
        painter.setPen(theme()(p.muted));
        painter.drawText(QRectF(4, y - 9, plot().left() - 12, 18), Qt::AlignRight | Qt::AlignVCenter,
                         utf8(bytes_text(static_cast<std::int64_t>(bytes))));
    }
    paint_openable(painter);
    painter.setFont(text_font(11));
    painter.setPen(theme()(p.muted));
    const QRectF row(plot().left(), plot().bottom() + 18, plot().width(), 18);
    const QString first = scale_.shows_all() ? tr("start") : utf8("step " + count_text(static_cast<std::int64_t>(scale_.first()))),
                  last = utf8("step " + count_text(static_cast<std::int64_t>(std::ceil(scale_.last()))));
    painter.drawText(row, Qt::AlignLeft, first);
    painter.drawText(row, Qt::AlignRight, last);
    constexpr double kApart = 8;
    paint_names_of_bands(painter, row.left() + painter.fontMetrics().horizontalAdvance(first) + kApart,
                         row.right() - painter.fontMetrics().horizontalAdvance(last) - kApart);
}

/// One column a pixel at most: a column shows the step with the most live bytes among those it stands for.
void TimelineWidget::paint_areas(QPainter& painter) const {
    const int from = static_cast<int>(scale_.first()),
              to = std::min(static_cast<int>(std::ceil(scale_.last())), static_cast<int>(timeline_.live.size()));
    const int steps = to - from;
    const int columns = std::min(steps, std::max(1, static_cast<int>(plot().width())));
    std::vector<int> shown(static_cast<std::size_t>(columns));
    for (int c = 0; c < columns; ++c) {
        const auto first = from + static_cast<std::int64_t>(c) * steps / columns,
                   last = from + static_cast<std::int64_t>(c + 1) * steps / columns;
        shown[static_cast<std::size_t>(c)] =
            static_cast<int>(std::max_element(timeline_.live.begin() + first, timeline_.live.begin() + last) - timeline_.live.begin());
    }
    std::vector<double> ground(shown.size(), 0);
    const Palette& p = theme().palette();
    const double left = x_of(from), width = (x_of(to) - left) / columns;
    for (const Layer& layer : kLayers) {
        if (layer.role == BufferRole::Argument && !arguments_) continue;
        QPolygonF outline;
        for (std::size_t c = 0; c < shown.size(); ++c) {
            const double x = left + static_cast<double>(c) * width;
            outline << QPointF(x, y_of(ground[c])) << QPointF(x + width, y_of(ground[c]));
        }
        QPolygonF back;
        for (std::size_t c = 0; c < shown.size(); ++c) {
            ground[c] += static_cast<double>(timeline_.by_role[static_cast<std::size_t>(shown[c])][static_cast<std::size_t>(layer.role)]);
            const double x = left + static_cast<double>(c) * width;
            back << QPointF(x, y_of(ground[c])) << QPointF(x + width, y_of(ground[c]));
        }
        std::reverse(back.begin(), back.end());
        QColor colour = theme()(p.*layer.colour);
        colour.setAlpha(layer.alpha);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPolygon(outline + back);
    }
    painter.setPen(QPen(theme()(p.ink), 1.2));
    QPolygonF top;
    for (std::size_t c = 0; c < shown.size(); ++c) {
        const double x = left + static_cast<double>(c) * width,
                     y = y_of(static_cast<double>(live(timeline_, static_cast<std::size_t>(shown[c]))));
        top << QPointF(x, y) << QPointF(x + width, y);
    }
    painter.drawPolyline(top);
}

void TimelineWidget::paint_marks(QPainter& painter) const {
    const Palette& p = theme().palette();
    const std::optional<BufferId>& picked = selection_->picked().buffer;
    if (const int buffer = picked ? buffer_index(*plan_, *picked) : -1; buffer >= 0) {
        const PlannedBuffer& b = plan_->buffers[static_cast<std::size_t>(buffer)];
        const double from = x_of(std::max(b.first_step, 0)), to = x_of(b.last_step + 1);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme()(p.ink));
        painter.drawRect(QRectF(from, plot().bottom() + 3, std::max(2.0, to - from), 4));
    }
    if (hovered_ >= 0) {
        painter.setPen(QPen(theme()(p.ink), 1));
        const double x = x_of(hovered_ + 0.5);
        painter.drawLine(QPointF(x, plot().top()), QPointF(x, plot().bottom()));
    }
}

/// The curve of the program as it is, over the same width: its steps are others, beginning and end are the same.
void TimelineWidget::paint_before(QPainter& painter) const {
    if (before_.live.empty()) return;
    QPolygonF line;
    const double ratio = static_cast<double>(timeline_.live.size()) / static_cast<double>(before_.live.size());
    const double width = x_of(ratio) - x_of(0);
    double x = x_of(0);
    for (std::size_t s = 0; s < before_.live.size(); ++s) {
        const double y = y_of(static_cast<double>(live(before_, s)));
        line << QPointF(x, y) << QPointF(x + width, y);
        x += width;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme()(theme().palette().muted), 1.4, Qt::DashLine));
    painter.drawPolyline(line);
}

void TimelineWidget::paint_peak(QPainter& painter) const {
    const Palette& p = theme().palette();
    const double x = x_of(timeline_.peak_step + 0.5),
                 y = y_of(static_cast<double>(live(timeline_, static_cast<std::size_t>(timeline_.peak_step))));
    if (x < plot().left() || x > plot().right()) return;
    painter.setPen(QPen(theme()(p.unknown), 1.4, Qt::DashLine));
    painter.drawLine(QPointF(x, y), QPointF(x, plot().bottom()));
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme()(p.unknown));
    painter.drawEllipse(QPointF(x, y), 3.5, 3.5);
    const PlannedStep& step = plan_->steps[static_cast<std::size_t>(timeline_.peak_step)];
    std::string text = "at most " + bytes_text(timeline_.peak) + " alive at once \u00b7 " + step.kind.str();
    if (const SourceLoc loc = step.source.loc(); loc.line > 0) text += " at " + short_place(loc.file, loc.line);
    // In a row of its own above the curve, which it would hide.
    const QFont font = text_font(11, true);
    const int width = std::min(QFontMetrics(font).horizontalAdvance(utf8(text)) + 2, static_cast<int>(plot().width()));
    QRectF where(x + 8, plot().top() - 20, width, 16);
    if (where.right() > plot().right()) where.moveRight(std::max(x - 8, plot().left() + width));
    painter.setPen(QPen(theme()(p.unknown), 1, Qt::DotLine));
    painter.drawLine(QPointF(x, y), QPointF(x, where.center().y()));
    painter.setFont(font);
    painter.setPen(theme()(p.unknown_text));
    painter.drawText(where, Qt::AlignLeft | Qt::AlignVCenter, painter.fontMetrics().elidedText(utf8(text), Qt::ElideRight, width));
}

void TimelineWidget::mouseMoveEvent(QMouseEvent* event) {
    if (pressed_ && (event->buttons() & Qt::LeftButton) != 0) {
        const double steps = (pressed_->x() - event->x()) / plot().width() * (scale_.last() - scale_.first());
        dragged_ += std::abs(pressed_->x() - event->x());
        pressed_ = event->pos();
        scale_.move(steps);
        return update();
    }
    const int step = step_at(event->x());
    if (const int strip = mode_ == Mode::Strips ? strip_at(event->pos()) : -1; strip >= 0) {
        const PlannedBuffer& b = plan_->buffers[static_cast<std::size_t>(strip)];
        std::string text = to_text(b.aval) + ", " + bytes_text(b.bytes) + "\n" + role_name(b.role);
        if (!b.primitive.empty()) text += " of " + b.primitive.str();
        if (const SourceLoc loc = b.source.loc(); loc.line > 0) text += "\n" + short_place(loc.file, loc.line);
        QToolTip::showText(event->globalPos(), utf8(text), this);
    } else if (step != hovered_) {
        QToolTip::showText(event->globalPos(), words_of(step));
    }
    if (step == hovered_) return;
    hovered_ = step;
    update();
}

QString TimelineWidget::words_of(int step) const {
    if (step < 0) return {};
    const PlannedStep& here = plan_->steps[static_cast<std::size_t>(step)];
    std::string text =
        "step " + count_text(step) + ": " + here.kind.str() + "\n" + bytes_text(timeline_.live[static_cast<std::size_t>(step)]) + " alive";
    if (const SourceLoc loc = here.source.loc(); loc.line > 0) text += "\n" + short_place(loc.file, loc.line);
    if (!compact_ && can_open(step)) text += "\nA double click shows what is inside";
    return utf8(text);
}

void TimelineWidget::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::RightButton) return pick(event->pos());  // its menu is about what is under the pointer
    pressed_ = event->pos();
    dragged_ = 0;
}

/// A press that didn't drag picks.
void TimelineWidget::mouseReleaseEvent(QMouseEvent* event) {
    constexpr double kStill = 4;
    if (pressed_ && dragged_ < kStill) pick(event->pos());
    pressed_.reset();
}

void TimelineWidget::pick(QPointF at) {
    if (const int step = step_at(at.x()); step >= 0) pick_step(step, mode_ == Mode::Strips ? strip_at(at) : -1);
}

void TimelineWidget::pick_step(int step, int strip) {
    const PlannedStep& here = plan_->steps[static_cast<std::size_t>(step)];
    Picked picked;
    if (strip >= 0)
        picked.buffer = id_of(*plan_, strip);
    else if (!here.writes.empty())
        picked.buffer = id_of(*plan_, here.writes.front());
    selection_->pick(picked);
    Q_EMIT step_picked(plan_, step);
}

void TimelineWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (const int step = step_at(event->x()); !compact_ && can_open(step)) return open(step);
    scale_.show_all();
    update();
}

void TimelineWidget::wheelEvent(QWheelEvent* event) {
    if (timeline_.live.empty()) return event->ignore();
    if ((event->modifiers() & Qt::ControlModifier) != 0) {
        scale_.zoom(std::pow(1.0015, event->angleDelta().y()), scale_.step_of(event->position().x(), plot()));
    } else {
        const QPoint turned = event->angleDelta();
        const int delta = turned.x() != 0 ? turned.x() : turned.y();
        scale_.move(-delta / 1200.0 * (scale_.last() - scale_.first()));
    }
    event->accept();
    update();
}

/// Arrows walk from step to step, beginning at the peak.
void TimelineWidget::keyPressEvent(QKeyEvent* event) {
    if (!plan_ || timeline_.live.empty()) return event->ignore();
    const int last = static_cast<int>(plan_->steps.size()) - 1, from = hovered_ >= 0 ? hovered_ : plan_->peak_step;
    switch (event->key()) {
        case Qt::Key_Left:
            hovered_ = std::max(from - 1, 0);
            break;
        case Qt::Key_Right:
            hovered_ = std::min(from + 1, last);
            break;
        case Qt::Key_Home:
            hovered_ = 0;
            break;
        case Qt::Key_End:
            hovered_ = last;
            break;
        case Qt::Key_Return:
            return compact_ || !can_open(from) ? event->ignore() : open(from);
        case Qt::Key_Backspace:
            return close();
        default:
            return QWidget::keyPressEvent(event);
    }
    setAccessibleDescription(words_of(hovered_));
    pick_step(hovered_, -1);
    update();
}

void TimelineWidget::leaveEvent(QEvent*) {
    hovered_ = -1;
    update();
}

}  // namespace jaxscope::views
