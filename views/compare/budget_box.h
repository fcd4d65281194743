// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QLineEdit>
#include <QPushButton>
#include <QWidget>

#include "session/session.h"

namespace jaxscope::views {

/// Asks for a budget of memory, and looks for what to save so that the step fits it.
class BudgetBox : public QWidget {
    Q_OBJECT
public:
    explicit BudgetBox(Session* session, QWidget* parent = nullptr);
    QLineEdit* line() const { return line_; }
    QPushButton* button() const { return button_; }
    void look();

Q_SIGNALS:
    void refused(const QString& problem);  ///< what was typed is no size

private:
    void show_state();
    Session* session_;
    QLineEdit* line_;
    QPushButton* button_;
};

/// What a search found, in one sentence.
QString words(const BudgetFit& fit, const Program& program);

}  // namespace jaxscope::views
