#include "command_palette.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

#include "theme/theme.h"

namespace jaxscope::app {

CommandPalette::CommandPalette(Find find, QWidget* parent)
    : QDialog(parent, Qt::Popup), find_(std::move(find)), line_(new QLineEdit), list_(new QListWidget) {
    setAttribute(Qt::WA_DeleteOnClose);
    constexpr int kWidth = 560, kHeight = 380, kFromTop = 60;
    resize(kWidth, kHeight);
    move(parent->mapToGlobal(QPoint((parent->width() - kWidth) / 2, kFromTop)));
    line_->setPlaceholderText(tr("A command, policy, residual, argument or equation"));
    line_->setFont(views::text_font(13));
    list_->setFont(views::text_font(12));
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
    shown_ = find_(line_->text().trimmed());
    list_->clear();
    for (const Entry& entry : shown_) list_->addItem(entry.kind + QStringLiteral("   ") + entry.text);
    list_->setCurrentRow(shown_.empty() ? -1 : 0);
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
