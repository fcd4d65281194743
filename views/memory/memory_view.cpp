// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_view.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "base/units.h"
#include "commands/choice_box.h"

namespace jaxscope::views {

MemoryView::MemoryView(Selection* selection, QWidget* parent)
    : QWidget(parent),
      timeline_(new TimelineWidget(selection, false)),
      flame_(new FlameWidget(selection)),
      either_(new QStackedWidget),
      curve_(new QToolButton),
      strips_(new QToolButton),
      lines_(new QToolButton),
      arguments_(new QToolButton),
      whose_(new ChoiceBox),
      hint_(new QLabel),
      making_(this) {
    curve_->setText(tr("Curve"));
    curve_->setToolTip(tr("Bytes alive in each step, by role"));
    strips_->setText(tr("Buffers"));
    strips_->setToolTip(tr("One strip for each buffer, at its place in memory"));
    lines_->setText(tr("Lines"));
    lines_->setToolTip(tr("Bytes by source line and the calls that lead there: a flame graph"));
    arguments_->setText(tr("Arguments"));
    arguments_->setToolTip(tr("Show the memory of arguments, too"));
    whose_->addItems({tr("alive at the peak"), tr("saved for the backward pass")});
    whose_->setAccessibleName(tr("Bytes of what"));
    whose_->setToolTip(tr("Whose bytes the lines show. A click on a step of the curve shows what is alive there"));
    lay_out();
    connect(strips_, &QToolButton::toggled, this,
            [this](bool on) { timeline_->set_mode(on ? TimelineWidget::Mode::Strips : TimelineWidget::Mode::Curve); });
    connect(lines_, &QToolButton::toggled, this, &MemoryView::show_lines);
    connect(arguments_, &QToolButton::toggled, timeline_, &TimelineWidget::show_arguments);
    connect(whose_, QOverload<int>::of(&QComboBox::currentIndexChanged), this, &MemoryView::show_lines);
    connect(timeline_, &TimelineWidget::step_picked, this, [this](int step) {
        step_ = step;
        whose_->setItemText(0, tr("alive in step %1").arg(utf8(count_text(step))));
    });
    show_lines();
}

void MemoryView::lay_out() {
    auto* group = new QButtonGroup(this);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(14, 5, 14, 4);
    for (QToolButton* button : {curve_, strips_, lines_}) {
        group->addButton(button);
        row->addWidget(button);
    }
    row->addSpacing(12);
    row->addWidget(arguments_);
    row->addWidget(whose_);
    row->addStretch();
    row->addWidget(hint_);
    hint_->setMinimumWidth(10);
    for (QToolButton* button : {curve_, strips_, lines_, arguments_}) {
        button->setCheckable(true);
        button->setAccessibleName(button->text());
    }
    curve_->setChecked(true);
    arguments_->setChecked(true);
    either_->addWidget(timeline_);
    either_->addWidget(flame_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(row);
    column->addWidget(either_, 1);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
}

void MemoryView::set_look(ProgramPtr program, const Look& look) {
    if (program == program_ && look.plan == plan_ && look.residuals == residuals_) return;
    if (look.plan != plan_) {
        step_ = -1;
        whose_->setItemText(0, tr("alive at the peak"));
    }
    program_ = std::move(program);
    plan_ = look.plan;
    residuals_ = look.residuals;
    if (lines_->isChecked()) show_lines();
}

/// Made when somebody looks, in the background: a large program has many stacks.
void MemoryView::show_lines() {
    const bool lines = lines_->isChecked();
    either_->setCurrentWidget(lines ? static_cast<QWidget*>(flame_) : timeline_);
    arguments_->setVisible(!lines);
    whose_->setVisible(lines);
    hint_->setText(lines ? tr("A double click widens a line, Backspace goes back")
                         : tr("Ctrl and wheel zooms, dragging moves, a double click shows all"));
    if (!lines) return;
    const bool saved = whose_->currentIndex() == 1;
    const QString what = tr("Bytes by source line, %1").arg(whose_->currentText());
    if (!program_ || (saved ? !residuals_ : !plan_))
        return flame_->set_graph({}, what,
                                 saved ? tr("Nothing is differentiated here, so nothing is saved.") : tr("There is no memory plan."));
    making_.start([this, program = program_, plan = plan_, residuals = residuals_, step = step_, saved, what]() -> std::function<void()> {
        auto made = std::make_shared<FlameGraph>(saved ? flame_of_residuals(*program, *residuals)
                                                       : flame_of_step(*program, *plan, step < 0 ? plan->peak_step : step));
        return [this, made, what, saved] {
            flame_->set_graph(std::move(*made), what, saved ? tr("Nothing is saved.") : tr("Nothing is alive."));
        };
    });
}

}  // namespace jaxscope::views
