// SPDX-License-Identifier: Apache-2.0
#include "commands/choice_box.h"

#include <QAbstractItemView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>
#include <QScrollBar>
#include <QStylePainter>
#include <algorithm>

#include "theme/theme.h"

namespace jaxscope::views {

QSize ChoiceBox::sizeHint() const {
    constexpr int kArrow = 16;  // which the style doesn't know of
    return QComboBox::sizeHint() + QSize(kArrow, 0);
}

bool ChoiceBox::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride && lineEdit() != nullptr && !lineEdit()->isUndoAvailable() &&
        static_cast<QKeyEvent*>(event)->matches(QKeySequence::Undo)) {
        event->ignore();
        return true;
    }
    return QComboBox::event(event);
}

QString ChoiceBox::shown_text() const {
    QStyleOptionComboBox option;
    initStyleOption(&option);
    const int room = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this).width();
    return fontMetrics().elidedText(currentText(), Qt::ElideRight, room);
}

void ChoiceBox::showPopup() {
    constexpr int kFrame = 24, kMost = 640;
    const int wanted = view()->sizeHintForColumn(0) + kFrame + view()->verticalScrollBar()->sizeHint().width();
    view()->setMinimumWidth(std::min(wanted, kMost));
    QComboBox::showPopup();
}

void ChoiceBox::paintEvent(QPaintEvent*) {
    QStylePainter painter(this);
    QStyleOptionComboBox option;
    initStyleOption(&option);
    painter.drawComplexControl(QStyle::CC_ComboBox, option);
    if (!isEditable()) option.currentText = shown_text();
    painter.drawControl(QStyle::CE_ComboBoxLabel, option);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme()(theme().palette().muted), 1.4));
    const QPointF tip(width() - 11.5, height() / 2.0 + 2);
    painter.drawPolyline(QVector<QPointF>{tip + QPointF(-3.5, -3.5), tip, tip + QPointF(3.5, -3.5)});
}

}  // namespace jaxscope::views
