// SPDX-License-Identifier: Apache-2.0
#include "command_palette.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPointer>
#include <QVBoxLayout>

#include "theme/theme.h"

namespace jaxscope::app {

CommandPalette::CommandPalette(Find find, FindMore find_more, QWidget* parent)
    : QDialog(parent, Qt::Popup), find_(std::move(find)), find_more_(std::move(find_more)), line_(new QLineEdit), list_(new QListWidget) {
    setAttribute(Qt::WA_DeleteOnClose);
    constexpr int kWidth = 560, kHeight = 380, kFromTop = 60;
    resize(kWidth, kHeight);
    move(parent->mapToGlobal(QPoint((parent->width() - kWidth) / 2, kFromTop)));
    line_->setPlaceholderText(tr("A command, policy, residual, argument or equation"));
    line_->setFont(views::text_font(13));
    list_->setFont(views::text_font(12));
    line_->setAccessibleName(tr("Command"));
    list_->setAccessibleName(tr("What fits"));
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setTextElideMode(Qt::ElideMiddle);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(line_);
    column->addWidget(list_);
    line_->installEventFilter(this);
    connect(line_, &QLineEdit::textChanged, this, &CommandPalette::show_matches);
    connect(line_, &QLineEdit::returnPressed, this, &CommandPalette::act);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::act);
    show_matches();
    line_->setFocus();
}

void CommandPalette::show_matches() {
    const QString text = line_->text().trimmed();
    shown_.clear();
    list_->clear();
    add(find_(text));
    if (text.isEmpty()) return;
    find_more_(text, [here = QPointer<CommandPalette>(this), text](const std::vector<Entry>& entries) {
        if (here && here->line_->text().trimmed() == text) here->add(entries);
    });
}

void CommandPalette::add(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
        shown_.push_back(entry);
        list_->addItem(entry.kind + QStringLiteral("   ") + entry.text);
    }
    if (list_->currentRow() < 0 && !shown_.empty()) list_->setCurrentRow(0);
}

void CommandPalette::act() {
    const int row = list_->currentRow();
    if (row < 0 || static_cast<std::size_t>(row) >= shown_.size()) return;
    const auto chosen = shown_[static_cast<std::size_t>(row)].act;
    close();
    chosen();
}

/// The arrows move through the list while the line keeps the focus.
bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == line_ && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Up || key == Qt::Key_Down) {
            const int row = list_->currentRow() + (key == Qt::Key_Down ? 1 : -1);
            if (row >= 0 && row < list_->count()) list_->setCurrentRow(row);
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

}  // namespace jaxscope::app
