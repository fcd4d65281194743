// SPDX-License-Identifier: Apache-2.0
#include "tour.h"

#include <QEvent>
#include <QFrame>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

namespace {

constexpr int kCardWidth = 340, kGap = 12, kRound = 6;

}  // namespace

Tour::Tour(QWidget* over)
    : QWidget(over),
      card_(new QFrame(this)),
      count_(new QLabel),
      title_(new QLabel),
      text_(new QLabel),
      back_(new QPushButton(tr("Back"))),
      next_(new QPushButton),
      end_(new QPushButton(tr("End the tour"))) {
    setAttribute(Qt::WA_DeleteOnClose);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Tour of the window"));
    over->installEventFilter(this);
    const Palette& p = theme().palette();
    card_->setStyleSheet(
        QStringLiteral("QFrame { background: %1; border: 1px solid %2; border-radius: 8px; } QLabel { border: none; color: %3; }")
            .arg(QLatin1String(p.panel), QLatin1String(p.rule), QLatin1String(p.ink)));
    card_->setFixedWidth(kCardWidth);
    count_->setFont(head_font());
    title_->setFont(text_font(15, true));
    text_->setWordWrap(true);
    next_->setObjectName(QStringLiteral("primary"));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(end_);
    buttons->addStretch();
    buttons->addWidget(back_);
    buttons->addWidget(next_);
    auto* column = new QVBoxLayout(card_);
    column->setContentsMargins(18, 14, 18, 14);
    column->setSpacing(8);
    column->addWidget(count_);
    column->addWidget(title_);
    column->addWidget(text_);
    column->addSpacing(4);
    column->addLayout(buttons);
    connect(back_, &QPushButton::clicked, this, [this] { go(at_ - 1); });
    connect(next_, &QPushButton::clicked, this, [this] { go(at_ + 1); });
    connect(end_, &QPushButton::clicked, this, &QWidget::close);
}

void Tour::add(QWidget* part, std::function<void()> show, const QString& title, const QString& text) {
    steps_.push_back({part, std::move(show), title, text});
}

void Tour::begin() {
    setGeometry(parentWidget()->rect());
    show();
    raise();
    go(0);
    setFocus();
}

void Tour::go(int step) {
    if (step >= steps()) {
        close();
        return;
    }
    at_ = std::max(step, 0);
    const Step& here = steps_[static_cast<std::size_t>(at_)];
    if (here.show) here.show();
    count_->setText(tr("%1 of %2").arg(at_ + 1).arg(steps()));
    title_->setText(here.title);
    text_->setText(here.text);
    setAccessibleDescription(here.title + QStringLiteral(". ") + here.text);
    back_->setEnabled(at_ > 0);
    next_->setText(at_ + 1 == steps() ? tr("Done") : tr("Next"));
    place();
}

QString Tour::title() const { return title_->text(); }
QRect Tour::card() const { return card_->geometry(); }

QRect Tour::bright() const {
    const QWidget* part = steps_[static_cast<std::size_t>(at_)].part;
    if (part == nullptr || !part->isVisible()) return {};
    return QRect(part->mapTo(parentWidget(), QPoint()), part->size()).adjusted(-3, -3, 3, 3) & rect();
}

/// Beside the bright part, on the side that has room; over it where none has.
void Tour::place() {
    card_->layout()->activate();
    constexpr int kBorder = 4;  // the frame's, at both ends
    const QSize size(kCardWidth, card_->layout()->heightForWidth(kCardWidth - kBorder) + kBorder);
    const QRect part = bright();
    const QRect room = rect().adjusted(kGap, kGap, -kGap, -kGap);
    const int x = std::clamp(part.center().x() - size.width() / 2, room.left(), std::max(room.left(), room.right() - size.width()));
    const int y = std::clamp(part.center().y() - size.height() / 2, room.top(), std::max(room.top(), room.bottom() - size.height()));
    QRect where;
    const QRect places[] = {{{part.left() - kGap - size.width(), y}, size},
                            {{part.right() + kGap, y}, size},
                            {{x, part.bottom() + kGap}, size},
                            {{x, part.top() - kGap - size.height()}, size},
                            {{x, y}, size}};
    for (const QRect& place : places) {
        where = place;
        if (room.contains(place) && !place.intersects(part)) break;
    }
    card_->setGeometry(where);
    card_->show();
    update();
}

void Tour::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath shade, hole;
    shade.addRect(rect());
    if (const QRect part = bright(); !part.isEmpty()) hole.addRoundedRect(part, kRound, kRound);
    painter.fillPath(shade.subtracted(hole), QColor(0, 0, 0, theme().dark() ? 150 : 110));
    painter.setPen(QPen(theme()(theme().palette().known), 2));
    painter.drawPath(hole);
}

/// Its keys mean the tour, whatever they are shortcuts of.
bool Tour::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride) event->accept();
    return QWidget::event(event);
}

void Tour::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Right:
        case Qt::Key_Return:
            return go(at_ + 1);
        case Qt::Key_Left:
            return go(at_ - 1);
        case Qt::Key_Escape:
            close();
            return;
        default:
            QWidget::keyPressEvent(event);
    }
}

/// The window changes its size, or what is in it is laid out anew.
bool Tour::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) {
        setGeometry(parentWidget()->rect());
        if (!steps_.empty()) place();
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace jaxscope::app
