// SPDX-License-Identifier: Apache-2.0
#include "commands/notice_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

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
    connect(theme_changes(), &ThemeChanges::changed, this, &NoticeBar::restyle);
    restyle();
    hide();
}

void NoticeBar::tell(const QString& text, const QString& button, std::function<void()> act) {
    text_->setText(text);
    button_->setText(button);
    button_->setVisible(!button.isEmpty());
    act_ = std::move(act);
    show();
}

void NoticeBar::restyle() {
    const Palette& p = theme().palette();
    setStyleSheet(QStringLiteral("jaxscope--views--NoticeBar { background: %1; border-bottom: 1px solid %2 } QLabel { color: %3 }")
                      .arg(QLatin1String(p.selected_row), QLatin1String(p.rule), QLatin1String(p.ink)));
}

QString NoticeBar::text() const { return isHidden() ? QString() : text_->text(); }

}  // namespace jaxscope::views
