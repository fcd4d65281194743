// SPDX-License-Identifier: Apache-2.0
#pragma once
// The line that tells something. Comes in: a text, and what can be done about it. Goes out: that it was asked for. Never here: what is told
// (whoever found it words it), dialogues that stop the window.
#include <QFrame>
#include <functional>

class QLabel;
class QPushButton;

namespace jaxscope::views {

/// One line under the top bar: what went wrong, or what can be done now. The window goes on behind it.
class NoticeBar : public QFrame {
    Q_OBJECT
public:
    explicit NoticeBar(QWidget* parent = nullptr);
    /// `button`: what can be done about it, or empty.
    void tell(const QString& text, const QString& button = {}, std::function<void()> act = {});
    QString text() const;

private:
    void restyle();
    QLabel* text_;
    QPushButton* button_;
    std::function<void()> act_;
};

}  // namespace jaxscope::views
