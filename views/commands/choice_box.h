// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QComboBox>

namespace jaxscope::views {

/// A styled combo box has no arrow of its own in the colours of the theme: this one draws it. What it has no room for ends in dots, and
/// stands in whole in its list.
class ChoiceBox : public QComboBox {
public:
    using QComboBox::QComboBox;
    QSize sizeHint() const override;
    void showPopup() override;
    /// What is painted of the current text; of an editable box the editor paints it.
    QString shown_text() const;

protected:
    /// The editor in it takes Ctrl+Z for its own, even where nothing was typed: then it means the last choice, as anywhere else.
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace jaxscope::views
