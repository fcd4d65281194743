#pragma once
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>
#include <QWidget>

#include "session/session.h"

namespace jaxscope::views {

/// Title, the choices (region, policy, donation), search, and the peak, which stands in the corner at all times.
class TopBar : public QWidget {
    Q_OBJECT
public:
    explicit TopBar(Session* session, QWidget* parent = nullptr);
    QComboBox* policy_box() const { return policy_; }
    /// As if it had been chosen in the policy box.
    void choose_policy(int index);
    QToolButton* run_button() const { return run_; }
    QLineEdit* search() const { return search_; }
    QString peak_text() const { return peak_->text(); }
    QString difference_text() const { return difference_->text(); }
    void restyle();

Q_SIGNALS:
    void policy_problem(const QString& text);

private:
    void fill();          ///< from a newly opened program
    void show_choices();  ///< from the session's choices, without choosing again
    void show_peak();
    void choose();
    QWidget* titled(const QString& title, QWidget* box) const;

    Session* session_;
    QLabel *title_, *subtitle_, *busy_, *peak_, *difference_;
    QComboBox *region_, *policy_;
    QToolButton *donate_, *undo_, *run_;
    QMenu* donate_menu_;
    QLineEdit* search_;
    std::vector<QLabel*> heads_;
    bool filling_ = false;
};

}  // namespace jaxscope::views
