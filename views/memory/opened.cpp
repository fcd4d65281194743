// SPDX-License-Identifier: Apache-2.0
// Inside of a step: one iteration of a loop or one branch, shown as the run is.
#include <QPainter>
#include <algorithm>

#include "base/units.h"
#include "memory/timeline_widget.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {

bool TimelineWidget::can_open(int step) const {
    if (!plan_ || step < 0 || static_cast<std::size_t>(step) >= plan_->steps.size()) return false;
    const auto& inside = plan_->steps[static_cast<std::size_t>(step)].inside;
    return inside && !inside->steps.empty();
}

bool TimelineWidget::can_open_any() const {
    for (int step = 0; plan_ && step < static_cast<int>(plan_->steps.size()); ++step)
        if (can_open(step)) return true;
    return false;
}

void TimelineWidget::open(int step) {
    if (!can_open(step)) return;
    above_.push_back(plan_);
    show(open_step(*plan_, step));
    Q_EMIT step_picked(plan_, timeline_.peak_step);
}

void TimelineWidget::close() {
    if (!opened()) return;
    const std::shared_ptr<const MemoryPlan> whole = above_.front();
    above_.clear();
    show(whole);
    Q_EMIT step_picked(plan_, timeline_.peak_step);
}

QString TimelineWidget::where() const {
    if (!opened()) return {};
    const PlannedStep& step = above_.back()->steps[static_cast<std::size_t>(plan_->opened.back())];
    const std::string kind = step.kind.str();
    QString text = step.iterations > 0 ? tr("one of %1 iterations of %2").arg(utf8(count_text(step.iterations)), utf8(kind))
                                       : tr("the part of %1 that needs most").arg(utf8(kind));
    if (const SourceLoc loc = step.source.loc(); loc.line > 0) text += tr(" at %1").arg(utf8(short_place(loc.file, loc.line)));
    return text;
}

/// A small arrow under each step that can be opened; where they would touch, under the first.
void TimelineWidget::paint_openable(QPainter& painter) const {
    constexpr double kHalf = 4, kApart = 10;
    double last = -kApart;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme()(theme().palette().muted));
    for (int step = 0; step < static_cast<int>(plan_->steps.size()); ++step) {
        const double x = x_of(step + 0.5), y = plot().bottom() + 10;
        if (x < plot().left() || x > plot().right() || x - last < kApart || !can_open(step)) continue;
        painter.drawPolygon(QPolygonF({{x - kHalf, y}, {x + kHalf, y}, {x, y + kHalf + 1}}));
        last = x;
    }
}

}  // namespace jaxscope::views
