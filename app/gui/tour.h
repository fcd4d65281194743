// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QPointer>
#include <QWidget>
#include <functional>
#include <vector>

class QFrame;
class QLabel;
class QPushButton;

namespace jaxscope::app {

/// Leads through a window: one part after the other stays bright, with a card that says what it is for. Lies over the window that it is
/// shown in, and goes away when it ends. Right and left arrow turn, Escape ends.
class Tour : public QWidget {
    Q_OBJECT
public:
    explicit Tour(QWidget* over);
    /// `show`: brings the part to the front; may be empty.
    void add(QWidget* part, std::function<void()> show, const QString& title, const QString& text);
    void begin();
    void go(int step);
    int step() const { return at_; }
    int steps() const { return static_cast<int>(steps_.size()); }
    QString title() const;
    QRect card() const;
    QRect bright() const;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent*) override {}  // what lies under it isn't clicked by accident
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void place();
    struct Step {
        QPointer<QWidget> part;
        std::function<void()> show;
        QString title, text;
    };
    std::vector<Step> steps_;
    int at_ = 0;
    QFrame* card_;
    QLabel *count_, *title_, *text_;
    QPushButton *back_, *next_, *end_;
};

}  // namespace jaxscope::app
