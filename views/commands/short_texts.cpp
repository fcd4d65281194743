// SPDX-License-Identifier: Apache-2.0
#include "commands/short_texts.h"

#include <QHelpEvent>
#include <QPainter>
#include <QStyleOptionToolButton>
#include <QStylePainter>
#include <QToolTip>

namespace jaxscope::views {
namespace {

/// What is cut stands above whatever else is said of it.
bool tell_whole(QWidget* of, QEvent* event, const QString& whole, const QString& shown) {
    if (event->type() != QEvent::ToolTip || whole == shown) return false;
    const QString more = of->toolTip();
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), more.isEmpty() ? whole : whole + QLatin1Char('\n') + more, of);
    return true;
}

}  // namespace

QSize ShortLabel::minimumSizeHint() const {
    constexpr int kLeast = 20;
    return {std::min(kLeast, QLabel::minimumSizeHint().width()), QLabel::minimumSizeHint().height()};
}

QString ShortLabel::shown_text() const { return fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width()); }

bool ShortLabel::event(QEvent* event) { return tell_whole(this, event, text(), shown_text()) || QLabel::event(event); }

void ShortLabel::paintEvent(QPaintEvent* event) {
    const QString shown = shown_text();
    if (shown == text()) return QLabel::paintEvent(event);
    QPainter painter(this);
    style()->drawItemText(&painter, contentsRect(), int(alignment()), palette(), isEnabled(), shown, foregroundRole());
}

QString ShortButton::shown_text() const {
    constexpr int kFrameAndArrow = 34;
    return fontMetrics().elidedText(text(), Qt::ElideRight, width() - kFrameAndArrow);
}

bool ShortButton::event(QEvent* event) { return tell_whole(this, event, text(), shown_text()) || QToolButton::event(event); }

void ShortButton::paintEvent(QPaintEvent*) {
    QStylePainter painter(this);
    QStyleOptionToolButton option;
    initStyleOption(&option);
    option.text = shown_text();
    painter.drawComplexControl(QStyle::CC_ToolButton, option);
}

}  // namespace jaxscope::views
