// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices, and the peak. Comes in: a session. Goes out: choices, made in the session; texts that are no policy. Never here: what a
// choice does, and any figure that the session doesn't hold.
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTimer>
#include <QToolButton>
#include <QWidget>

#include "session/session.h"

namespace jaxscope::views {

/// Title, the choices (region, policy, donation), search, and the peak, which stands in the corner at all times. Whatever it says, its
/// boxes stay where they are: what has no room is cut, and told in whole by a tool tip.
class TopBar : public QWidget {
    Q_OBJECT
public:
    explicit TopBar(Session* session, QWidget* parent = nullptr);
    QComboBox* policy_box() const { return policy_; }
    /// As if it had been chosen in the policy box.
    void choose_policy(int index);
    /// As if it had been typed there and entered, `differentiated`: of the program's gradient even where that is no program's own. What is
    /// no policy changes nothing: the box shows what applies, and the text is told of.
    void enter_policy(const QString& text, bool differentiated = false);
    /// What would be chosen by that: with it the region, the donation and the device that are chosen now. Throws Error for what is no
    /// policy.
    Choices choices_under(const QString& policy) const;
    /// What applies, in the box's words: "as it is", "around: dots_saveable".
    QString applied_policy() const;
    /// Puts a text into the box to be corrected; nothing is chosen yet.
    void edit_policy(const QString& text);
    /// What residuals speak of, and what is planned.
    QComboBox* region_box() const { return region_; }
    /// Plans and runs the program's gradient, or the program as it was captured: under no policy then.
    void differentiate(bool on);
    QToolButton* run_button() const { return run_; }
    QLineEdit* search() const { return search_; }
    /// For which device peaks are told: this machine, or one that they are estimated for.
    QToolButton* target_button() const { return target_; }
    QString peak_text() const { return peak_->text(); }
    QString difference_text() const { return difference_; }
    QString measured_text() const { return measured_; }
    /// Which of the found equations is shown: "3 of 18"; empty: nothing was looked for.
    void show_found(const QString& text);
    QString found_text() const { return found_head_->text(); }
    QString busy_text() const { return busy_->text(); }
    void restyle();

Q_SIGNALS:
    /// `entered` was no policy; `applied` still is.
    void policy_problem(const QString& problem, const QString& entered, const QString& applied);

private:
    void fill();          ///< from a newly opened program
    void show_choices();  ///< from the session's choices, without choosing again
    void show_peak();
    void show_run();
    void tell_work();
    void show_policy();  ///< that applies; whatever was being typed goes
    void fill_regions(const Program& program);
    void fill_policies(const PolicyPlaces& places);
    void show_places();
    void choose_region();
    void choose_donation();
    void build_targets();
    void show_target();
    void lay_out();
    QWidget* titled(const QString& title, QWidget* box);

    Session* session_;
    QLabel *title_, *subtitle_, *busy_, *peak_, *difference_label_, *measured_label_;
    QString difference_, measured_;  ///< in whole
    QString looking_, work_;         ///< what the session looks at; what is told to be at work
    QElapsedTimer since_;
    QTimer each_second_;
    QComboBox *region_, *policy_;
    QToolButton *donate_, *undo_, *redo_, *run_, *target_;
    QMenu* donate_menu_;
    QLineEdit* search_;
    std::vector<QLabel*> heads_;
    QLabel *policy_head_ = nullptr, *found_head_ = nullptr;
    PolicyPlaces offered_;
    bool filling_ = false;
};

}  // namespace jaxscope::views
