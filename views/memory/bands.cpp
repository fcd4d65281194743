// SPDX-License-Identifier: Apache-2.0
// Which part of a run is the forward pass and which the backward one: the grounds behind the curve, in the colours of the two halves.
#include <QPainter>
#include <algorithm>

#include "memory/timeline_widget.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

enum class Pass { Neither, Forward, Backward };

/// What JAX transposed is backward, and so is what is computed again for it.
Pass pass_of(const PlannedStep& step) {
    const NameStack& stack = step.source->name_stack;
    if (stack.has_transform(stack_names::kTranspose) || stack.has_scope(stack_names::kRematted)) return Pass::Backward;
    return stack.has_transform(stack_names::kJvp) ? Pass::Forward : Pass::Neither;
}

}  // namespace

/// Steps of neither pass between two of one (copies, what a jit hands in) belong to it. Of what stands alone in the other pass (zeros that
/// a schedule makes early) nothing is said: stripes would say less than the two grounds do.
std::vector<TimelineWidget::Band> TimelineWidget::bands_of(const MemoryPlan& plan) {
    std::vector<Band> bands;
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
        const Pass pass = pass_of(plan.steps[static_cast<std::size_t>(s)]);
        if (pass == Pass::Neither) continue;
        const bool backward = pass == Pass::Backward;
        if (bands.empty() || bands.back().backward != backward)
            bands.push_back({s, s + 1, backward});
        else
            bands.back().last = s + 1;
    }
    constexpr int kShort = 40;  // of so many parts of the run
    const int least = static_cast<int>(plan.steps.size()) / kShort;
    bands.erase(std::remove_if(bands.begin(), bands.end(), [&](const Band& b) { return b.last - b.first <= least; }), bands.end());
    return bands;
}

void TimelineWidget::paint_bands(QPainter& painter) const {
    const Palette& p = theme().palette();
    for (const Band& band : bands_) {
        const double from = std::max(x_of(band.first), plot().left()), to = std::min(x_of(band.last), plot().right());
        if (to > from)
            painter.fillRect(QRectF(from, plot().top(), to - from, plot().height()),
                             theme()(band.backward ? p.unknown_canvas : p.known_canvas));
    }
}

/// Under the longest one of each pass, between `from` and `to`, where there is room.
void TimelineWidget::paint_names_of_bands(QPainter& painter, double from, double to) const {
    const Palette& p = theme().palette();
    for (const bool backward : {false, true}) {
        double left = 0, right = 0;
        for (const Band& band : bands_) {
            const double begin = std::max(x_of(band.first), from), end = std::min(x_of(band.last), to);
            if (band.backward == backward && end - begin > right - left) left = begin, right = end;
        }
        const QString name = backward ? tr("backward") : tr("forward");
        if (painter.fontMetrics().horizontalAdvance(name) + 8 > right - left) continue;
        painter.setPen(theme()(backward ? p.unknown_text : p.known_text));
        painter.drawText(QRectF(left, plot().bottom() + 18, right - left, 18), int(Qt::AlignHCenter | Qt::AlignTop), name);
    }
}

}  // namespace jaxscope::views
