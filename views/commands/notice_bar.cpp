// SPDX-License-Identifier: Apache-2.0
#include "commands/notice_bar.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <algorithm>

#include "theme/theme.h"

namespace jaxscope::views {

NoticeBar::NoticeBar(QWidget* parent) : QFrame(parent), text_(new QLabel), button_(new QPushButton) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 6, 10, 6);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("\u2715"));
    close->setAccessibleName(tr("Dismiss"));
    text_->setTextFormat(Qt::PlainText);
    text_->setWordWrap(true);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(text_, 1);
    row->addWidget(button_);
    row->addWidget(close);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    connect(button_, &QPushButton::clicked, this, [this] {
        hide();
        if (act_) act_();
    });
    passing_.setSingleShot(true);
    connect(&passing_, &QTimer::timeout, this, &QWidget::hide);
    on_theme_change(this, &NoticeBar::restyle);
    restyle();
    hide();
    parent->installEventFilter(this);
}

bool NoticeBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && !isHidden()) place();
    return QFrame::eventFilter(watched, event);
}

/// Wide enough for its text, as far as its parent is.
void NoticeBar::place() {
    constexpr int kMargin = 16, kFoot = 44, kLeast = 320;  // the foot: legends of pictures
    int text = 0;
    for (const QString& line : text_->text().split('\n')) text = std::max(text, text_->fontMetrics().horizontalAdvance(line));
    const int others = button_->isHidden() ? 80 : 100 + button_->sizeHint().width();
    const int room = parentWidget()->width() - 2 * kMargin;
    const int width = std::min(room, std::max(kLeast, text + others));
    layout()->activate();
    const int height = layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width) : sizeHint().height();
    setGeometry((parentWidget()->width() - width) / 2, std::max(0, parentWidget()->height() - height - kFoot), width, height);
    raise();
}

void NoticeBar::tell(const QString& text, const QString& button, std::function<void()> act) {
    text_->setText(text);
    button_->setText(button);
    button_->setVisible(!button.isEmpty());
    act_ = std::move(act);
    passing_.stop();
    show();
    place();
}

void NoticeBar::confirm(const QString& text) {
    constexpr int kToRead = 8000;  // ms
    tell(text);
    passing_.start(kToRead);
}

void NoticeBar::restyle() {
    const Palette& p = theme().palette();
    setStyleSheet(
        QStringLiteral("jaxscope--views--NoticeBar { background: %1; border: 1px solid %2; border-radius: 6px } QLabel { color: %3 }")
            .arg(QLatin1String(p.selected_row), QLatin1String(p.muted), QLatin1String(p.ink)));
}

QString NoticeBar::text() const { return isHidden() ? QString() : text_->text(); }

}  // namespace jaxscope::views
