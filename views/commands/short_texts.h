// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts that end in dots where there is no room for them, instead of in half a letter; pointing at them shows them in whole.
#include <QLabel>
#include <QToolButton>

namespace jaxscope::views {

/// A label of one line. `text()` is all of it.
class ShortLabel : public QLabel {
public:
    using QLabel::QLabel;
    QSize minimumSizeHint() const override;
    /// What is painted.
    QString shown_text() const;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
};

/// A button with a menu, of whose text the same holds.
class ShortButton : public QToolButton {
public:
    using QToolButton::QToolButton;
    QString shown_text() const;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace jaxscope::views
