// SPDX-License-Identifier: Apache-2.0
#pragma once
// The window. Comes in: files, keys, what was dropped. Goes out: what the views show, each of its part of the session's Look. Never here:
// facts, work that takes long, drawing.
#include <QFileSystemWatcher>
#include <QMainWindow>
#include <QTemporaryDir>
#include <QTimer>
#include <functional>

#include "background/background.h"
#include "command_palette.h"
#include "commands/notice_bar.h"
#include "compare/budget_box.h"
#include "compare/policy_plot.h"
#include "compare/side_by_side.h"
#include "donation/donation_view.h"
#include "graph/program_view.h"
#include "inspector/inspector.h"
#include "memory/memory_view.h"
#include "models/buffer_model.h"
#include "models/donation_model.h"
#include "models/residual_model.h"
#include "outline/outline_panel.h"
#include "page/page_view.h"
#include "report/compare/diff_report.h"
#include "session/session.h"
#include "sharding/sharding_view.h"
#include "source/source_view.h"
#include "split/split_view.h"
#include "start_page.h"
#include "tables/table_panel.h"
#include "text/jaxpr_view.h"
#include "topbar/top_bar.h"
#include "transform/transform_view.h"
#include "workspace.h"

namespace jaxscope::app {
class CaptureDialog;
}
class QMenu;
class QMenuBar;
class QSplitter;
class QStackedWidget;
class QTabWidget;

namespace jaxscope::app {

/// The window: choices on top, outline at the left, pictures in the middle over the tables, answers at the right.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;
    void open(const QString& file);
    /// "program", "split", "memory", "lines", "donated", "source", "jaxpr", "transforms", "sharding"; of the tables: "residuals",
    /// "donation", "buffers", "policies"
    void show_tab(const QString& name);
    void set_dark(bool dark);

    views::Session* session() { return &session_; }
    views::Selection* selection() { return &selection_; }
    views::ProgramView* program_view() { return program_; }
    views::SplitView* split_view() { return split_; }
    views::TopBar* top_bar() { return top_; }
    views::Inspector* inspector() { return inspector_; }
    views::TablePanel* residual_table() { return residual_table_; }
    views::TablePanel* donation_table() { return donation_table_; }
    views::TablePanel* buffer_table() { return buffer_table_; }
    views::OutlinePanel* outline() { return outline_; }
    views::DonationView* donation_view() { return donation_view_; }
    views::MemoryView* memory_view() { return memory_; }
    views::SourceView* source_view() { return source_; }
    views::JaxprView* text_view() { return text_; }
    views::TransformView* transform_view() { return transforms_; }
    views::ShardingView* sharding_view() { return sharding_; }
    views::PolicyModel* policies() { return policies_; }
    views::TablePanel* policy_table() { return policy_table_; }
    views::PolicyPlot* policy_plot() { return policy_plot_; }
    views::BudgetBox* budget() { return budget_; }
    views::NoticeBar* notice() { return notice_; }
    QStringList recent_files() const;
    /// What the palette offers at once for a text: commands first, then policies, residuals, arguments.
    std::vector<CommandPalette::Entry> entries_for(const QString& text);
    /// Equations that fit a text, looked for in the background: `found` gets them when they are there, unless another text was asked for.
    void find_entries(const QString& text, std::function<void(std::vector<CommandPalette::Entry>)> found);
    /// Writes the picture in front (PNG, SVG or PDF, by the file's name). False: the notice says why.
    bool export_picture(const QString& file);
    void copy_picture();
    /// The table in front, as it is sorted and filtered: CSV, TSV or HTML by the file's name. False: the notice says why.
    bool export_table(const QString& file);
    void copy_table();
    views::TablePanel* front_table() const;
    views::TimelineWidget* strip() const { return strip_; }
    /// Opens a jaxpr's text from the clipboard.
    void paste_program();
    /// A jaxpr, as text.
    void open_text(const QByteArray& text);
    StartPage* start_page() { return start_; }
    /// Asks what of which Python file is to be captured, and opens what was. `target` (FILE.py:NAME) begins at once; `watch`: and captures
    /// it again whenever the file is saved.
    void capture(const QString& target = {}, bool watch = false);
    CaptureDialog* capture_dialog() { return capture_; }
    /// A Python file (or FILE.py:NAME) can't be opened: the window asks what of it is to be captured. False: it is none.
    bool asks_to_capture(const QString& file);
    /// A page that says what differs: from another program or a report; from the program as it is, with the choices made here.
    void compare_with(const QString& file);
    void compare_with_as_it_is();
    /// Any two ways to look at the program that is open.
    void compare_choices(const Choices& first, const QString& first_name, const Choices& second, const QString& second_name);
    /// The row of the policies that is selected (the right button selects, the left one applies) with what is chosen.
    void compare_row();
    views::SideBySide* side_by_side() const { return side_by_side_; }
    /// A page with what XLA's own texts say, by the equations of the program that is open.
    void read_xla(const QStringList& paths);
    /// "Compare", "XLA": in front, made where it isn't there.
    views::PageView* page(const QString& name);
    bool making_page() const { return making_page_.busy(); }
    QString making_;  ///< the page that is being made
    /// What of the window outlives it.
    OpenProgram state() const;
    void open_again(const OpenProgram& kept);
    bool nothing_open() const { return !again_ && !session_.program() && !session_.busy(); }
    QString program_name() const;
    void keep_layout();
    /// Of several in one window the keys mean the one in front.
    void set_in_front(bool in_front);
    /// Its menus: those of the window that it is in, where it isn't one itself.
    QMenuBar* menu_bar() const { return menu_bar_; }
    QMenu* respect_menu() const { return respect_; }
    void take_tour();
    bool searching() const { return search_.busy() || palette_search_.busy(); }

Q_SIGNALS:
    void state_changed();                        ///< of what `state` tells
    void text_wanted(const QByteArray& text);    ///< a new one, for a jaxpr that was pasted
    void tabs_wanted(const QStringList& files);  ///< a new one, for them or empty
    void files_wanted(const QStringList& files);
    void tab_close_wanted();
    void next_tab_wanted(int step);
    void workspace_wanted(bool save);
    void last_wanted();
    void quit_wanted();

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void build();
    void add_actions();
    QAction* add_action(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> act);
    QMenu* add_menu(const QString& title);
    void add_file_actions();
    void add_tab_actions(QMenu* file);
    void add_graph_actions();
    static void offer(QWidget* where, const QList<QAction*>& actions, bool apart = false);
    void offer_everywhere(const QList<QAction*>& of_selection);
    void add_help_actions();
    void tell_focus(const QString& what);
    void add_edit_actions();
    void add_view_actions();
    void fill_recent(QMenu* menu);
    void show_program();
    void show_stages();
    void show_policies();
    void show_strip();
    void share_height();
    static constexpr const char* kMoved = "moved";  ///< a property of a splitter: somebody moved it
    void build_compare();
    void ask_xla(const QString& target);
    void tell_asking();
    void tell_fitting();
    void add_mark_actions(QMenu* edit);
    void copy_marks();
    void donate_leaf(int input, bool donate);
    void fill_respect();
    void choose_respect();
    void tell_marks();
    void explain_selection();
    void ask_for_file();
    void ask_what_to_compare();
    void ask_for_xla_texts();
    /// `then`: what is to be shown beside the page.
    void make_page(const QString& name, const QString& doing, std::function<QString()> make, std::function<void()> then = {});
    struct Compared {
        ComparedSide a, b;
        std::shared_ptr<const ProgramDiff> diff;
    };
    QWidget* with_graphs(views::PageView* page);
    void forget_comparison();
    bool has_own_state() const;
    void open_apart(const QString& file);
    void make_comparison(const QString& doing, std::function<std::pair<ComparedSide, ComparedSide>()> sides);
    void show_compared(const std::shared_ptr<const Compared>& compared);
    void find_next(int step);
    void go_to_found(int step);
    void show_help();
    void show_about();
    void show_preferences();
    void show_again();
    void tell_state();
    void ask_for_export();
    void ask_for_table_export();
    void remember_file();
    void build_capture();
    void tell_what_changed();
    void file_changed();
    void reload();
    void tell_problems(const QMap<QString, QString>& problems);
    void tell_policy_problem(const QString& problem, const QString& entered, const QString& applied);
    void reveal_equation(const EqnPath& path);
    void select_row(const QString& table, const Picked& picked);
    void restore_state();
    void select_again(const OpenProgram& kept);
    const VisibleGraph::Node* picked_group() const;

    QMenuBar* menu_bar_;
    std::vector<QMenu*> menus_;
    std::vector<QAction*> of_selection_;  ///< what can be done with what is selected, and with nothing else
    QList<QAction*> of_pictures_, of_tables_;
    QMenu* respect_ = nullptr;          ///< what is differentiated with respect to
    std::optional<OpenProgram> again_;  ///< what is to be opened as it was, until it is
    QStringList lost_;                  ///< of its choices, what its program has no longer
    views::Session session_;
    views::Selection selection_;
    views::TopBar* top_;
    views::OutlinePanel* outline_;
    views::ProgramView* program_;
    StartPage* start_;
    QStackedWidget* first_page_;  ///< the start page, or the program
    views::SplitView* split_;
    views::MemoryView* memory_;
    views::TimelineWidget *timeline_, *strip_;
    views::DonationView* donation_view_;
    views::SourceView* source_;
    views::JaxprView* text_;
    views::TransformView* transforms_;
    views::ShardingView* sharding_;
    views::Inspector* inspector_;
    views::ResidualModel* residuals_;
    views::DonationModel* donations_;
    views::BufferModel* buffers_;
    views::PolicyModel* policies_;
    views::TablePanel *residual_table_, *donation_table_, *buffer_table_, *policy_table_;
    QMap<QString, views::PageView*> pages_;
    QMap<QString, QWidget*> page_tabs_;          ///< what holds them
    views::SideBySide* side_by_side_ = nullptr;  ///< once something was compared
    views::PolicyPlot* policy_plot_;
    views::BudgetBox* budget_;
    QSplitter* compare_;  ///< table and plot
    QTabWidget *pictures_, *tables_;
    QSplitter *across_, *down_;
    views::NoticeBar* notice_;
    QFileSystemWatcher watcher_;
    QTimer changed_;                    ///< writers write in several steps: told once they are done
    QTimer explain_;                    ///< what changes in several steps is explained once
    QString file_, opened_;             ///< what was asked to be opened last; what is open
    CaptureDialog* capture_ = nullptr;  ///< made when it is first asked for
    struct Figures {
        std::int64_t saved = 0, peak = 0;
    };
    std::optional<Figures> before_;  ///< of what was open when its file was captured again
    QTemporaryDir pasted_;           ///< jaxprs from the clipboard: no recent files
    QString compared_target_;        ///< of the policies' figures; empty: this machine
    QString asked_target_;           ///< whose compiler was asked last
    QString told_problems_;          ///< of the stages of what is shown
    QString found_text_, told_found_, focus_text_, told_marks_;
    std::vector<EqnPath> found_;
    int found_at_ = -1;
    views::Latest search_, palette_search_, making_page_;
};

}  // namespace jaxscope::app
