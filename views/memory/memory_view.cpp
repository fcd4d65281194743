// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_view.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

namespace jaxscope::views {

MemoryView::MemoryView(Selection* selection, QWidget* parent)
    : QWidget(parent),
      timeline_(new TimelineWidget(selection, false)),
      curve_(new QToolButton),
      strips_(new QToolButton),
      arguments_(new QToolButton) {
    curve_->setText(tr("Curve"));
    curve_->setToolTip(tr("Bytes alive in each step, by role"));
    strips_->setText(tr("Buffers"));
    strips_->setToolTip(tr("One strip for each buffer, at its place in memory"));
    arguments_->setText(tr("Arguments"));
    arguments_->setToolTip(tr("Show the memory of arguments, too"));
    auto* either = new QButtonGroup(this);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(14, 5, 14, 4);
    for (QToolButton* button : {curve_, strips_}) {
        either->addButton(button);
        row->addWidget(button);
    }
    row->addSpacing(12);
    row->addWidget(arguments_);
    row->addStretch();
    row->addWidget(new QLabel(tr("Ctrl and wheel zooms, dragging moves, a double click shows all")));
    for (QToolButton* button : {curve_, strips_, arguments_}) {
        button->setCheckable(true);
        button->setAccessibleName(button->text());
    }
    curve_->setChecked(true);
    arguments_->setChecked(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(row);
    column->addWidget(timeline_, 1);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    connect(strips_, &QToolButton::toggled, this,
            [this](bool on) { timeline_->set_mode(on ? TimelineWidget::Mode::Strips : TimelineWidget::Mode::Curve); });
    connect(arguments_, &QToolButton::toggled, timeline_, &TimelineWidget::show_arguments);
}

}  // namespace jaxscope::views
