// SPDX-License-Identifier: Apache-2.0
#pragma once
// The line that tells something. Comes in: a text, and what can be done about it. Goes out: that it was asked for. Never here: what is told
// (whoever found it words it), dialogues that stop the window.
#include <QFrame>
#include <QTimer>
#include <functional>

class QLabel;
class QPushButton;

namespace jaxscope::views {

/// What went wrong, or what can be done now. It lies over the lower edge of its parent, so that nothing moves under the pointer when it
/// comes or goes.
class NoticeBar : public QFrame {
    Q_OBJECT
public:
    explicit NoticeBar(QWidget* parent);
    /// `button`: what can be done about it, or empty.
    void tell(const QString& text, const QString& button = {}, std::function<void()> act = {});
    /// That something was done, which nobody has to put away.
    void confirm(const QString& text);
    QString text() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void restyle();
    void place();
    QLabel* text_;
    QPushButton* button_;
    std::function<void()> act_;
    QTimer passing_;
};

}  // namespace jaxscope::views
