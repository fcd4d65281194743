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
#include "commands/short_texts.h"
#include "theme/theme.h"

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
      open_(new QToolButton),
      back_(new QToolButton),
      by_(new ChoiceBox),
      whose_(new ChoiceBox),
      hint_(new ShortLabel),
      making_(this) {
    curve_->setText(tr("Curve"));
    curve_->setToolTip(tr("Bytes alive in each step, by role"));
    strips_->setText(tr("Buffers"));
    strips_->setToolTip(tr("One strip for each buffer, at its place in memory"));
    lines_->setText(tr("Lines"));
    lines_->setToolTip(tr("Bytes by source line and the calls that lead there, by scope, type or role: a flame graph"));
    arguments_->setText(tr("Arguments"));
    arguments_->setToolTip(tr("Show the memory of arguments, too"));
    open_->setText(tr("Open the loop"));
    open_->setToolTip(tr("Shows one iteration of the loop, or the branch, that was clicked in the picture (a double click does, too)"));
    back_->setText(tr("Back to the run"));
    back_->setToolTip(tr("Shows the whole run again"));
    by_->addItems({tr("by line"), tr("by scope"), tr("by type"), tr("by role")});
    by_->setAccessibleName(tr("Bytes by what"));
    by_->setToolTip(tr("What bytes are put together by: the lines and calls that made them, name scopes, types, or roles"));
    whose_->addItems({tr("alive at the peak"), tr("saved for the backward pass")});
    whose_->setAccessibleName(tr("Bytes of what"));
    whose_->setToolTip(tr("Whose bytes the lines show. A click on a step of the curve shows what is alive there"));
    lay_out();
    connect(strips_, &QToolButton::toggled, this,
            [this](bool on) { timeline_->set_mode(on ? TimelineWidget::Mode::Strips : TimelineWidget::Mode::Curve); });
    connect(lines_, &QToolButton::toggled, this, &MemoryView::show_lines);
    connect(arguments_, &QToolButton::toggled, timeline_, &TimelineWidget::show_arguments);
    connect(whose_, QOverload<int>::of(&QComboBox::currentIndexChanged), this, &MemoryView::show_lines);
    connect(by_, QOverload<int>::of(&QComboBox::currentIndexChanged), this, &MemoryView::show_lines);
    connect(timeline_, &TimelineWidget::step_picked, this, [this](const std::shared_ptr<const MemoryPlan>& plan, int step) {
        clicked_ = plan;
        step_ = step;
        whose_->setItemText(0, (timeline_->opened() ? tr("alive in step %1 inside") : tr("alive in step %1")).arg(utf8(count_text(step))));
        tell_what_opens();
    });
    connect(open_, &QToolButton::clicked, this, [this] { timeline_->open(step_); });
    connect(back_, &QToolButton::clicked, timeline_, &TimelineWidget::close);
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
    row->addWidget(by_);
    row->addWidget(whose_);
    row->addSpacing(6);
    row->addWidget(open_);
    row->addWidget(back_);
    row->addSpacing(12);
    row->addStretch();
    row->addWidget(hint_);
    for (QToolButton* button : {curve_, strips_, lines_, arguments_}) button->setCheckable(true);
    for (QToolButton* button : {open_, back_}) button->setProperty("lettered", true);
    for (QToolButton* button : {curve_, strips_, lines_, arguments_, open_, back_}) button->setAccessibleName(button->text());
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
    if (program == program_ && look.plan == plan_ && look.residuals == residuals_ && look.split == split_) return;
    if (look.plan != plan_) {
        clicked_ = look.plan;
        step_ = -1;
        whose_->setItemText(0, tr("alive at the peak"));
    }
    program_ = std::move(program);
    plan_ = look.plan;
    residuals_ = look.residuals;
    split_ = look.split;
    tell_what_opens();
    if (lines_->isChecked()) show_lines();
}

void MemoryView::tell_what_opens() {
    const bool picture = !lines_->isChecked();
    open_->setVisible(picture && timeline_->can_open_any());
    open_->setEnabled(clicked_ == timeline_->shown() && timeline_->can_open(step_));
    back_->setVisible(picture && timeline_->opened());
    hint_->setText(!picture                    ? tr("A double click widens a line, Backspace goes back")
                   : timeline_->opened()       ? QString()
                   : timeline_->can_open_any() ? tr("A double click opens a loop, else it shows all")
                                               : tr("Ctrl and wheel zooms, dragging moves, a double click shows all"));
}

/// Made when somebody looks, in the background: a large program has many stacks.
void MemoryView::show_lines() {
    const bool lines = lines_->isChecked();
    either_->setCurrentWidget(lines ? static_cast<QWidget*>(flame_) : timeline_);
    arguments_->setVisible(!lines);
    whose_->setVisible(lines);
    by_->setVisible(lines);
    tell_what_opens();
    if (!lines) return;
    const bool saved = whose_->currentIndex() == 1;
    const auto by = static_cast<FlameBy>(by_->currentIndex());
    const QStringList names{tr("Bytes by source line, %1"), tr("Bytes by scope, %1"), tr("Bytes by type, %1"), tr("Bytes by role, %1")};
    const QString what = names[by_->currentIndex()].arg(whose_->currentText());
    flame_->setAccessibleName(what);
    if (!program_ || (saved ? !residuals_ : !clicked_))
        return flame_->set_graph({}, what,
                                 saved ? tr("Nothing is differentiated here, so nothing is saved.") : tr("There is no memory plan."));
    making_.start([this, program = program_, plan = clicked_, residuals = residuals_, split = split_, step = step_, by, saved,
                   what]() -> std::function<void()> {
        auto made = std::make_shared<FlameGraph>(saved ? flame_of_residuals(*program, *residuals, by, split ? split->known.get() : nullptr)
                                                       : flame_of_step(*program, *plan, step < 0 ? plan->peak_step : step, by));
        return [this, made, what, saved] {
            flame_->set_graph(std::move(*made), what, saved ? tr("Nothing is saved.") : tr("Nothing is alive."));
        };
    });
}

}  // namespace jaxscope::views
