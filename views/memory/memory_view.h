// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "background/background.h"
#include "memory/flame_widget.h"
#include "memory/timeline_widget.h"
#include "session/session.h"

class QComboBox;
class QLabel;
class QStackedWidget;
class QToolButton;

namespace jaxscope::views {

/// The Memory tab: the timeline, or bytes by lines of source, scopes, types or roles; and over it what of it is shown.
class MemoryView : public QWidget {
    Q_OBJECT
public:
    explicit MemoryView(Selection* selection, QWidget* parent = nullptr);
    /// What lines of source hold; the timeline has its own plan.
    void set_look(ProgramPtr program, const Look& look);
    TimelineWidget* timeline() const { return timeline_; }
    FlameWidget* flame() const { return flame_; }
    QToolButton* curve_button() const { return curve_; }
    QToolButton* strips_button() const { return strips_; }
    QToolButton* lines_button() const { return lines_; }
    QToolButton* arguments_button() const { return arguments_; }
    /// Opens the loop that was clicked in the timeline, and leads back.
    QToolButton* open_button() const { return open_; }
    QToolButton* back_button() const { return back_; }
    /// Whose bytes lines of source show, and what else these can be put together by.
    QComboBox* whose() const { return whose_; }
    QComboBox* by() const { return by_; }
    bool busy() const { return making_.busy(); }

private:
    void lay_out();
    void show_lines();
    TimelineWidget* timeline_;
    FlameWidget* flame_;
    QStackedWidget* either_;
    void tell_what_opens();
    QToolButton *curve_, *strips_, *lines_, *arguments_, *open_, *back_;
    QComboBox *by_, *whose_;
    QLabel* hint_;
    ProgramPtr program_;
    std::shared_ptr<const MemoryPlan> plan_;
    std::shared_ptr<const ResidualReport> residuals_;
    std::shared_ptr<const SplitReport> split_;
    std::shared_ptr<const MemoryPlan> clicked_;  ///< whose step was clicked: `plan_`, or what was opened of it
    int step_ = -1;                              ///< that was clicked in the timeline; -1: the peak's
    Latest making_;
};

}  // namespace jaxscope::views
