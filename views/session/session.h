// SPDX-License-Identifier: Apache-2.0
#pragma once
// The window's only way to the Inspection. Comes in: files and choices. Goes out: stages, as they are ready, on the window's thread.
// Never here: widgets, and work on the window's thread.
#include <QMap>
#include <QObject>
#include <QString>
#include <functional>

#include "analysis/correspondence.h"
#include "analysis/fit/hand_marks.h"
#include "analysis/inspection.h"
#include "asking/xla_policies.h"
#include "background/background.h"
#include "picture/saved_values.h"
#include "report/explain_text.h"
#include "session/run_apart.h"

namespace jaxscope::views {

/// An error as the window tells it.
QString in_words(const std::exception& e);

/// What is known of one inspection so far: stages appear one after the other. Immutable once handed out.
struct Look {
    std::shared_ptr<const Inspection> inspection;
    std::shared_ptr<const ResidualReport> residuals;
    std::shared_ptr<const SplitReport> split;
    std::shared_ptr<const DonationReport> donation;
    std::shared_ptr<const MemoryPlan> plan;
    std::shared_ptr<const Step> step;                         ///< of which the plan is
    std::shared_ptr<const Step> gradient;                     ///< of a program planned as it is, which may be differentiated; comes late
    std::shared_ptr<const RunReport> run;                     ///< once it was asked for
    std::shared_ptr<const std::vector<LineTime>> line_times;  ///< of `run`
    std::shared_ptr<const Correspondence> correspondence;
    std::optional<PolicyPlaces> places;                     ///< of policies; once they are known
    std::shared_ptr<const std::vector<SavedValue>> saved;   ///< the residuals, as the captured program knows them
    std::shared_ptr<const std::vector<TriedPolicy>> tried;  ///< comes last, when all else is done
    QMap<QString, QString> problems;                        ///< stage -> why it can't be had
    bool done = false;
    QString refused;  ///< why what was chosen means nothing in this program; empty: it does
    double seconds = 0;

    /// Are residuals and split those of a gradient that is neither in the program nor asked for?
    bool only_would_differentiate() const { return inspection && !inspection->region() && !inspection->choices().as_step; }

    KnownStages stages() const {
        return {residuals.get(), split.get(), donation.get(), plan.get(), run.get(), tried.get(), step.get(), gradient.get()};
    }
};

/// One open program and its inspections: the program as it is, and the one with the choices made in the window. All work is done on one
/// thread in the background, a new choice cancels what is being computed for the last one; signals come on the thread of this object.
class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(QObject* parent = nullptr);
    ~Session() override;

    /// What was chosen for a program, oldest first; the first one as `plain`, of a program that was just opened.
    using History = std::function<std::vector<Choices>(const Program& program, const Choices& plain)>;
    /// `history`: with choices of an earlier day.
    void open(const QString& file, History history = {});
    void open(ProgramPtr program);
    /// Reads the file again: of the program that is open, choices and their history stay as far as they mean something in what is read.
    void reload(const QString& file);
    /// To choose what is chosen already does nothing: there is nothing to undo.
    void choose(const Choices& choices);
    /// Plans for this device instead of this machine (null), the program as it is too: an estimate, which can't be run.
    void choose_target(const TargetDevice* target);
    /// Marks what is picked by hand, a choice like any other: what is saved now stays marked. What Python can't name is told by `failed`.
    void mark(const Picked& picked, HandVerdict verdict);
    /// How many values the mark is about that is being chosen now; none: what is chosen is no mark.
    const MarkReach& reach() const { return reach_; }
    void undo();
    /// Goes forward again to what was undone; a new choice forgets it.
    void redo();
    /// Compiles and runs what is looked at, on the JIT, in a process of its own; the result is in `current().run`, or why there is none in
    /// its problems.
    void run();
    /// Has it been looked at, and is there a plan to run?
    bool can_run() const { return current_.done && current_.plan != nullptr && current_.plan->target == nullptr && too_large().isEmpty(); }
    /// What is planned needs more memory than this machine has: how much; empty: it doesn't.
    QString too_large() const;
    void stop_run();
    bool running() const { return executing_ != nullptr; }
    bool can_undo() const { return history_.size() > 1; }
    bool can_redo() const { return !undone_.empty(); }

    ProgramPtr program() const { return program_; }
    const QString& file() const { return file_; }  ///< that it was read from; empty: from none
    const Look& as_it_is() const { return as_it_is_; }
    const Look& current() const { return current_; }
    const Choices& choices() const;
    const std::vector<Choices>& history() const { return history_; }
    const std::vector<Choices>& undone() const { return undone_; }  ///< the next to be done again is the last
    void set_undone(std::vector<Choices> undone);                   ///< of an earlier day
    /// Are the figures of `current` those of `choices`? Not while it is being inspected.
    bool shows_choices() const { return current_.inspection && current_.inspection->choices() == choices(); }
    bool busy() const { return busy_; }

    /// Tries the standard policies and the program's own names, once for each program and region.
    void compare();
    bool comparing() const { return comparing_.busy(); }
    const std::vector<PolicyRow>& compared() const { return compared_; }
    /// Asks XLA's own compiler about the same policies; the words stand in `compared` when all were compiled.
    void ask_xla(const XlaQuestion& question);
    void stop_asking_xla();
    bool asking_xla() const { return asking_.busy(); }
    /// Looks for the cheapest values to save so that the peak is within so many bytes; `fitted` tells what was found, which is a row of
    /// `compared` then.
    void fit(std::int64_t budget);
    void stop_fitting();
    bool fitting() const { return fitting_.busy(); }
    /// What a row of a budget chooses; null: it is none.
    const Choices* fitted_choices(const QString& row) const;
    /// The row of the budget that these choices come of; empty: of none.
    QString fitted_row(const Choices& choices) const;
    /// Do they come of a budget that they don't meet?
    bool misses_budget(const Choices& choices) const;

Q_SIGNALS:
    void opened();  ///< a new program; stages follow
    void open_failed(QString message);
    void updated();                   ///< `current` or `as_it_is` has more than before
    void busy_changed(QString what);  ///< empty: nothing is being computed
    void choices_changed();
    void running_changed();
    void compared_changed();
    void asking_changed();
    void fitting_changed();
    void fitted(const jaxscope::BudgetFit& fit);
    void failed(QString message);  ///< of what was asked for in the background

private:
    void read(const QString& file, bool again, History history);
    void take(ProgramPtr program, std::vector<Choices> history);
    void inspect();
    void cancel_all();
    /// What the choices are told against: the program as it is, differentiated if they are.
    Choices plain() const;
    bool is_plain() const { return choices() == plain(); }
    void receive_fit(const BudgetFit& fit, const Choices& plain);
    void forget_compared();
    void compare_region(int region);
    void take_compared(std::vector<PolicyRow> rows);
    void receive_run(const std::shared_ptr<Inspection>& of, const std::shared_ptr<const ApartRun>& run, const QString& problem);
    void set_busy(const QString& what);
    void refuse(const QString& why);
    void receive(int generation, bool base, const Look& look);

    BackgroundThread worker_;
    std::shared_ptr<Mailbox> mailbox_;
    ProgramPtr program_;
    QString file_;                           ///< it was read from; empty: from none
    std::vector<Choices> history_, undone_;  ///< the last one of `undone_` is the next to be done again
    Look as_it_is_, current_;
    std::shared_ptr<Inspection> running_, following_;  ///< what is being computed, and what after it
    std::shared_ptr<Inspection> executing_;            ///< what is being run
    std::shared_ptr<CancelToken> reading_;             ///< of the file that is being opened
    MarkReach reach_;
    int generation_ = 0;
    bool busy_ = false;
    std::shared_ptr<const Inspection> other_target_;  ///< of the program as it is, planned for another device: stages to share
    Latest comparing_, asking_, marking_, fitting_;
    struct Fitted {
        PolicyRow row;
        Choices choices;
        bool fits = true;
    };
    const Fitted* find_fitted(const Choices& choices) const;
    std::vector<Fitted> fitted_;  ///< of the program and region that are looked at
    std::vector<PolicyRow> compared_;
    int compared_region_ = Choices::kAuto;
};

}  // namespace jaxscope::views
