// SPDX-License-Identifier: Apache-2.0
#include "commands/choice_box.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>

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

void ChoiceBox::paintEvent(QPaintEvent* event) {
    QComboBox::paintEvent(event);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme()(theme().palette().muted), 1.4));
    const QPointF tip(width() - 11.5, height() / 2.0 + 2);
    painter.drawPolyline(QVector<QPointF>{tip + QPointF(-3.5, -3.5), tip, tip + QPointF(3.5, -3.5)});
}

}  // namespace jaxscope::views
