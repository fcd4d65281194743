// SPDX-License-Identifier: Apache-2.0
// The menu bar: every action of the window, with its shortcut.
#include <QAction>
#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QMenuBar>
#include <QTabWidget>
#include <QTreeWidget>
#include <algorithm>

#include "base/units.h"
#include "capture_dialog.h"
#include "main_window.h"
#include "picture_export.h"
#include "preferences.h"
#include "report/fit/fit_report.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

QAction* MainWindow::add_action(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> act) {
    QAction* action = menu->addAction(text);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, [act = std::move(act)] { act(); });
    addAction(action);  // the palette's list
    return action;
}

void MainWindow::add_actions() {
    add_file_actions();
    add_edit_actions();
    add_view_actions();
    add_graph_actions();
    QMenu* run = add_menu(tr("&Run"));
    add_action(run, tr("Run or stop"), QKeySequence(QStringLiteral("Ctrl+R")),
               [this] { session_.running() ? session_.stop_run() : session_.run(); });
    run->addSeparator();
    add_action(run, tr("Ask XLA about the policies (TPU v5p, which needn't be there)"), {}, [this] { ask_xla(QStringLiteral("tpu:v5p")); });
    add_action(run, tr("Ask XLA about the policies (this machine's CPU)"), {}, [this] { ask_xla(QStringLiteral("cpu")); });
    add_help_actions();
    const auto enable = [this] {
        for (QAction* action : of_selection_) action->setEnabled(!selection_.picked().empty());
    };
    connect(&selection_, &Selection::changed, this, enable);
    enable();
}

QMenu* MainWindow::add_menu(const QString& title) {
    menus_.push_back(menu_bar_->addMenu(title));
    return menus_.back();
}

void MainWindow::add_file_actions() {
    QMenu* file = add_menu(tr("&File"));
    add_action(file, tr("Open"), QKeySequence::Open, [this] { ask_for_file(); });
    add_action(file, tr("Capture a Python program"), QKeySequence::New, [this] { capture(); });
    add_action(file, tr("Paste a jaxpr"), QKeySequence(QStringLiteral("Ctrl+Shift+V")), [this] { paste_program(); });
    add_action(file, tr("What XLA wrote: dumps, an out-of-memory message"), {}, [this] { ask_for_xla_texts(); });
    QMenu* recent = file->addMenu(tr("Open recent"));
    connect(recent, &QMenu::aboutToShow, this, [this, recent] { fill_recent(recent); });
    add_action(file, tr("Reload the file"), QKeySequence(Qt::Key_F5), [this] { reload(); });
    file->addSeparator();
    add_action(file, tr("Compare with another program or report"), QKeySequence(QStringLiteral("Ctrl+D")),
               [this] { ask_what_to_compare(); });
    add_action(file, tr("Compare with the program as it is"), QKeySequence(QStringLiteral("Ctrl+Shift+D")),
               [this] { compare_with_as_it_is(); });
    QAction* row = add_action(file, tr("Compare the selected policy with what is chosen"), {}, [this] { compare_row(); });
    offer(policy_table_->table(), {row});
    file->addSeparator();
    of_pictures_ = {add_action(file, tr("Export the picture"), QKeySequence(QStringLiteral("Ctrl+E")), [this] { ask_for_export(); }),
                    add_action(file, tr("Copy the picture"), QKeySequence(QStringLiteral("Ctrl+Shift+C")), [this] { copy_picture(); })};
    of_tables_ = {
        add_action(file, tr("Export the table"), QKeySequence(QStringLiteral("Ctrl+Shift+E")), [this] { ask_for_table_export(); }),
        add_action(file, tr("Copy the table"), {}, [this] { copy_table(); })};
    file->addSeparator();
    add_tab_actions(file);
    file->addSeparator();
    add_action(file, tr("Quit"), QKeySequence::Quit, [this] { isWindow() ? static_cast<void>(close()) : Q_EMIT quit_wanted(); });
}

/// Several programs at once, and what is kept of them.
void MainWindow::add_tab_actions(QMenu* file) {
    add_action(file, tr("New tab"), QKeySequence(QStringLiteral("Ctrl+T")), [this] { Q_EMIT tabs_wanted({}); });
    add_action(file, tr("Close the tab"), QKeySequence(QStringLiteral("Ctrl+W")), [this] { Q_EMIT tab_close_wanted(); });
    add_action(file, tr("Next tab"), QKeySequence(QStringLiteral("Ctrl+PgDown")), [this] { Q_EMIT next_tab_wanted(1); });
    add_action(file, tr("Tab before"), QKeySequence(QStringLiteral("Ctrl+PgUp")), [this] { Q_EMIT next_tab_wanted(-1); });
    file->addSeparator();
    add_action(file, tr("Open what was open last"), {}, [this] { Q_EMIT last_wanted(); });
    add_action(file, tr("Open a workspace"), {}, [this] { Q_EMIT workspace_wanted(false); });
    add_action(file, tr("Save the workspace"), QKeySequence(QStringLiteral("Ctrl+Shift+S")), [this] { Q_EMIT workspace_wanted(true); });
}

void MainWindow::add_edit_actions() {
    QMenu* edit = add_menu(tr("&Edit"));
    add_action(edit, tr("Undo choice"), QKeySequence::Undo, [this] { session_.undo(); });
    add_action(edit, tr("Redo choice"), QKeySequence(QStringLiteral("Ctrl+Shift+Z")), [this] { session_.redo(); });
    edit->addSeparator();
    add_action(edit, tr("Find"), QKeySequence::Find, [this] {
        top_->search()->setFocus();
        top_->search()->selectAll();
    });
    add_action(edit, tr("Next found"), QKeySequence(Qt::Key_F3), [this] { find_next(1); });
    add_action(edit, tr("Previous found"), QKeySequence(QStringLiteral("Shift+F3")), [this] { find_next(-1); });
    add_action(edit, tr("Find a command, policy, residual, argument or equation"), QKeySequence(QStringLiteral("Ctrl+K")), [this] {
        (new CommandPalette([this](const QString& text) { return entries_for(text); },
                            [this](const QString& text, auto found) { find_entries(text, std::move(found)); }, this))
            ->show();
    });
    edit->addSeparator();
    add_mark_actions(edit);
    edit->addSeparator();
    QAction* differentiated = add_action(edit, tr("Differentiate it"), {}, [this] { top_->differentiate(!session_.choices().as_step); });
    differentiated->setCheckable(true);
    connect(edit, &QMenu::aboutToShow, this, [this, differentiated] { differentiated->setChecked(session_.choices().as_step); });
    respect_ = edit->addMenu(tr("Differentiate with respect to"));
    connect(respect_, &QMenu::aboutToShow, this, &MainWindow::fill_respect);
    edit->addSeparator();
    add_action(edit, tr("Select nothing"), QKeySequence(Qt::Key_Escape), [this] {
        selection_.clear();
        program_->focus(ProgramView::Focus::Everything);
        if (const auto plan = session_.current().plan) buffers_->show_step(plan, plan->peak_step);
    });
    edit->addSeparator();
    add_action(edit, tr("Preferences"), QKeySequence(QStringLiteral("Ctrl+,")), [this] { show_preferences(); });
}

/// What is selected, saved or not by the user's own word; in the menus of the pictures and of the residuals, too.
void MainWindow::add_mark_actions(QMenu* edit) {
    const auto mark = [&](const QString& text, const char* keys, HandVerdict verdict) {
        QAction* action = add_action(edit, text, QKeySequence(QString::fromLatin1(keys)),
                                     [this, verdict] { session_.mark(selection_.picked(), verdict); });
        of_selection_.push_back(action);
        for (QWidget* where : std::initializer_list<QWidget*>{residual_table_->table(), split_->view(), program_->view()})
            offer(where, {action});
    };
    mark(tr("Save it (by hand)"), "Alt+Shift+S", HandVerdict::Save);
    mark(tr("Recompute it (by hand)"), "Alt+Shift+R", HandVerdict::Recompute);
    mark(tr("Offload it (by hand)"), "Alt+Shift+O", HandVerdict::Offload);
    add_action(edit, tr("Copy the Python of what was marked"), QKeySequence(QStringLiteral("Alt+Shift+C")), [this] { copy_marks(); });
}

void MainWindow::donate_leaf(int input, bool donate) {
    Choices choices = session_.choices();
    std::vector<int>& kept = choices.kept_back;
    kept.erase(std::remove(kept.begin(), kept.end(), input), kept.end());
    if (!donate) kept.insert(std::lower_bound(kept.begin(), kept.end(), input), input);
    session_.choose(choices);
}

/// The arguments of what is differentiated, or would be: of a program without a gradient its own.
void MainWindow::fill_respect() {
    respect_->clear();
    const Look& look = session_.current();
    if (!session_.program() || !look.residuals) {
        respect_->addAction(tr("Nothing is differentiated here"))->setEnabled(false);
        return;
    }
    const ResidualReport& report = *look.residuals;
    const Program& program = *session_.program();
    const std::vector<Sym>& names = report.region ? program.regions[static_cast<std::size_t>(*report.region)].arg_names : program.arg_names;
    for (std::size_t a = 0; a < names.size(); ++a) {
        QAction* action = respect_->addAction(utf8(names[a].str()));
        action->setCheckable(true);
        action->setChecked(std::find(report.wrt.begin(), report.wrt.end(), static_cast<int>(a)) != report.wrt.end());
        connect(action, &QAction::toggled, this, &MainWindow::choose_respect);
    }
}

void MainWindow::choose_respect() {
    Choices choices = session_.choices();
    choices.wrt_all = false;
    choices.wrt.emplace();
    const QList<QAction*> arguments = respect_->actions();
    for (int a = 0; a < arguments.size(); ++a)
        if (arguments[a]->isChecked()) choices.wrt->push_back(a);
    if (choices.wrt->empty()) return notice_->tell(tr("With respect to nothing there is no gradient: the choice stays as it was."));
    choices.as_step = true;
    session_.choose(choices);
}

/// The figures stand everywhere else; here is what to write.
void MainWindow::copy_marks() {
    const auto inspection = session_.current().inspection;
    if (!inspection || !session_.choices().by_hand)
        return notice_->tell(tr("Nothing was marked by hand: select a value and choose Save it, Recompute it or Offload it."));
    const std::optional<ByHandReport> report = by_hand_report(*inspection);
    QGuiApplication::clipboard()->setText(utf8(report->python));
    const QString names = report->saved.size() == 1 ? tr("one name") : tr("%1 names").arg(report->saved.size());
    const QString where = utf8(report->where);
    const QString policy =
        where.startsWith(QLatin1String("in ")) ? tr("their policy %1").arg(where) : tr("a checkpoint with their policy %1").arg(where);
    notice_->tell(tr("The Python is on the clipboard, made for this program: %1, and %2.").arg(names, policy));
}

void MainWindow::tell_marks() {
    const Choices& choices = session_.choices();
    if (!choices.by_hand) {
        if (!told_marks_.isEmpty() && notice_->text() == told_marks_) notice_->hide();  // it was undone
        return;
    }
    const auto offloaded = std::count_if(choices.by_hand->begin(), choices.by_hand->end(), [](const HandMark& m) { return m.offload; });
    const auto lines = [](std::ptrdiff_t count) {
        return count == 1 ? tr("what one line makes is") : tr("what %1 lines make is").arg(count);
    };
    const QString budget = session_.fitted_row(choices);
    told_marks_ = tr("%1: %2 saved%3, all else is computed again.")
                      .arg(budget.isEmpty() ? tr("Chosen by hand") : tr("For a %1").arg(budget),
                           lines(static_cast<std::ptrdiff_t>(choices.by_hand->size()) - offloaded),
                           offloaded > 0 ? tr(", %1 offloaded").arg(lines(offloaded)) : QString());
    if (const MarkReach& reach = session_.reach(); reach.values > 1)
        told_marks_ += tr(" This mark is about %1 values, %2: one line makes them all.")
                           .arg(utf8(count_text(reach.values)), utf8(bytes_text(reach.bytes)));
    if (session_.misses_budget(choices)) told_marks_ += tr(" It doesn't fit: of what was tried it is the nearest.");
    notice_->tell(told_marks_, tr("Copy the Python"), [this] { copy_marks(); });
}

/// To the pane itself, the largest that takes it, rather than to the buttons over it: arrows walk there at once.
static void give_keyboard(const QWidget& page) {
    QWidget* largest = nullptr;
    for (QWidget* pane : page.findChildren<QWidget*>()) {
        if (!pane->isVisible() || (pane->focusPolicy() & Qt::TabFocus) == 0) continue;
        if (largest == nullptr || pane->width() * pane->height() > largest->width() * largest->height()) largest = pane;
    }
    if (largest != nullptr) largest->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::add_view_actions() {
    QMenu* view = add_menu(tr("&View"));
    const auto go_to = [this](const char* name) {
        return [this, name = QString::fromLatin1(name)] {
            show_tab(name);
            give_keyboard(*(name == QLatin1String("policies") ? tables_ : pictures_)->currentWidget());
        };
    };
    add_action(view, tr("Program"), QKeySequence(QStringLiteral("Alt+1")), go_to("program"));
    add_action(view, tr("Split"), QKeySequence(QStringLiteral("Alt+2")), go_to("split"));
    add_action(view, tr("Memory"), QKeySequence(QStringLiteral("Alt+3")), go_to("memory"));
    add_action(view, tr("Donated"), QKeySequence(QStringLiteral("Alt+4")), go_to("donated"));
    add_action(view, tr("Source"), QKeySequence(QStringLiteral("Alt+5")), go_to("source"));
    add_action(view, tr("Jaxpr"), QKeySequence(QStringLiteral("Alt+7")), go_to("jaxpr"));
    add_action(view, tr("Transforms"), QKeySequence(QStringLiteral("Alt+8")), go_to("transforms"));
    add_action(view, tr("Sharding over several devices"), QKeySequence(QStringLiteral("Alt+9")), go_to("sharding"));
    add_action(view, tr("Policies"), QKeySequence(QStringLiteral("Alt+6")), go_to("policies"));
    view->addSeparator();
    const auto picture = [this] { return pictures_->currentWidget() == split_ ? split_->view() : program_->view(); };
    add_action(view, tr("Zoom in"), QKeySequence(QStringLiteral("Ctrl+=")), [picture] { picture()->zoom_by(1.25); });
    add_action(view, tr("Zoom out"), QKeySequence(QStringLiteral("Ctrl+-")), [picture] { picture()->zoom_by(0.8); });
    add_action(view, tr("Fit the picture"), QKeySequence(QStringLiteral("Ctrl+0")), [picture] { picture()->fit(); });
    add_action(view, tr("Collapse all"), QKeySequence(QStringLiteral("Ctrl+L")), [this] { program_->collapse_all(); });
    view->addSeparator();
    add_action(view, tr("Outline"), QKeySequence(QStringLiteral("Ctrl+B")), [this] { outline_->setVisible(!outline_->isVisible()); });
    add_action(view, tr("Inspector"), QKeySequence(QStringLiteral("Ctrl+I")), [this] { inspector_->setVisible(!inspector_->isVisible()); });
    add_action(view, tr("Dark or light"), QKeySequence(QStringLiteral("Ctrl+Shift+L")), [this] {
        set_dark(!theme().dark());
        keep_theme(theme().dark() ? ThemeChoice::Dark : ThemeChoice::Light);
    });
}

/// Of the graph of the program; in its own menu and under the right button, too.
void MainWindow::add_graph_actions() {
    QMenu* graph = add_menu(tr("&Graph"));
    const auto add = [&](const QString& text, const char* keys, std::function<void()> act) {
        QAction* action = add_action(graph, text, QKeySequence(QString::fromLatin1(keys)), std::move(act));
        program_->view()->addAction(action);
        return action;
    };
    const auto add_of_selection = [&](const QString& text, const char* keys, std::function<void()> act) {
        of_selection_.push_back(add(text, keys, std::move(act)));
        return of_selection_.back();
    };
    using Focus = ProgramView::Focus;
    const auto focus = [this](Focus how) { return [this, how] { program_->focus(how); }; };
    add_of_selection(tr("What it is made of"), "Alt+Up", focus(Focus::MadeOf));
    add_of_selection(tr("What is made of it"), "Alt+Down", focus(Focus::MadeFrom));
    add_of_selection(tr("The way from what was selected before"), "Alt+Shift+P", focus(Focus::Path));
    add_of_selection(tr("It alone, with its neighbours"), "Alt+Shift+I", focus(Focus::Alone));
    add_of_selection(tr("Hide it"), "Alt+Shift+H", [this] { program_->hide_picked(); });
    add(tr("Show everything"), "Alt+Shift+A", focus(Focus::Everything));
    add_of_selection(tr("Open or close it"), "Alt+Return", [this] { program_->toggle_picked(); });
    QAction* in_source = add_of_selection(tr("Show it in the source"), "Alt+Shift+L", [this] { show_tab("source"); });
    QAction* what_it_is = add_of_selection(tr("Copy what it is"), "", [this] {
        const Explanation& words = inspector_->explanation();
        QGuiApplication::clipboard()->setText(utf8(words.title + "\n" + words.subtitle));
        notice_->confirm(tr("Its name and type are on the clipboard."));
    });
    offer_everywhere({in_source, what_it_is});
    graph->addSeparator();
    const std::pair<QString, Grouping> ways[] = {{tr("Group as the program suggests"), Grouping::Auto},
                                                 {tr("Group by name scope"), Grouping::Scope},
                                                 {tr("Group by function of the source"), Grouping::Function},
                                                 {tr("Group by nested jaxpr alone"), Grouping::Flat}};
    for (const auto& [text, grouping] : ways)
        add_action(graph, text, {}, [this, grouping = grouping] {
            show_tab("program");
            program_->set_grouping(grouping);
        });
}

/// In the menu under the right button, after a line where another kind of thing begins.
void MainWindow::offer(QWidget* where, const QList<QAction*>& actions, bool apart) {
    if (apart && !where->actions().isEmpty()) {
        auto* line = new QAction(where);
        line->setSeparator(true);
        where->addAction(line);
    }
    where->addActions(actions);
    where->setContextMenuPolicy(Qt::ActionsContextMenu);
}

/// The right button has a menu wherever something can be selected, and one for the picture or the table as a whole.
void MainWindow::offer_everywhere(const QList<QAction*>& of_selection) {
    QWidget* const selecting[] = {split_->view(),         timeline_,        residual_table_->table(), donation_table_->table(),
                                  buffer_table_->table(), outline_->tree(), outline_->lines()};
    for (QWidget* where : selecting) offer(where, of_selection, true);
    for (QWidget* picture : std::initializer_list<QWidget*>{program_->view(), split_->view(), timeline_})
        offer(picture, of_pictures_, true);
    for (const TablePanel* table : {residual_table_, donation_table_, buffer_table_, policy_table_})
        offer(table->table(), of_tables_, true);
}

void MainWindow::fill_recent(QMenu* menu) {
    menu->clear();
    for (const QString& file : recent_files()) menu->addAction(file, this, [this, file] { open_apart(file); });
    if (menu->isEmpty()) menu->addAction(tr("No file was opened yet"))->setEnabled(false);
}

void MainWindow::ask_for_file() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Open a capture"), {}, tr("Programs (*.jaxscope *.jaxpr *.txt);;All files (*)"));
    if (!file.isEmpty()) open_apart(file);
}

/// Choices and what is watched aren't given up for another program: it comes in a tab of its own, where there are tabs.
bool MainWindow::has_own_state() const { return !isWindow() && (session_.can_undo() || (capture_ && capture_->watching())); }

void MainWindow::open_apart(const QString& file) { has_own_state() ? Q_EMIT tabs_wanted({file}) : open(file); }

void MainWindow::paste_program() {
    const QByteArray text = QGuiApplication::clipboard()->text().toUtf8();
    if (text.trimmed().isEmpty())
        return notice_->tell(tr("There is no text on the clipboard. Copy what print(jax.make_jaxpr(f)(x)) wrote."));
    has_own_state() ? Q_EMIT text_wanted(text) : open_text(text);
}

void MainWindow::open_text(const QByteArray& text) {
    QFile file(pasted_.filePath(QStringLiteral("pasted.jaxpr")));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) return notice_->tell(file.errorString());
    file.close();
    open(file.fileName());
}

void MainWindow::ask_for_export() {
    const QString file = QFileDialog::getSaveFileName(this, tr("Export the picture"), QStringLiteral("jaxscope.png"),
                                                      tr("Pictures (*.png *.svg *.pdf *.html)"));
    if (!file.isEmpty()) export_picture(file);
}

TablePanel* MainWindow::front_table() const {
    QWidget* front = tables_->currentWidget();
    auto* table = qobject_cast<TablePanel*>(front);
    return table != nullptr ? table : front->findChild<TablePanel*>();
}

void MainWindow::ask_for_table_export() {
    const QString file =
        QFileDialog::getSaveFileName(this, tr("Export the table"), QStringLiteral("jaxscope.csv"), tr("Tables (*.csv *.tsv *.html)"));
    if (!file.isEmpty()) export_table(file);
}

bool MainWindow::export_table(const QString& file) {
    const TablePanel* table = front_table();
    const QString problem = write_table(*table->table()->model(), table->table()->accessibleName(), file);
    problem.isEmpty() ? notice_->confirm(tr("The table is in %1.").arg(file)) : notice_->tell(problem);
    return problem.isEmpty();
}

void MainWindow::copy_table() {
    const TablePanel* table = front_table();
    QGuiApplication::clipboard()->setText(table_as_text(*table->table()->model(), '\t'));
    notice_->confirm(tr("The table of %1 is on the clipboard, with tabs between its columns.").arg(table->table()->accessibleName()));
}

bool MainWindow::export_picture(const QString& file) {
    // A page is text; with graphs beside it, it is a picture like the others.
    const auto* page = qobject_cast<PageView*>(pictures_->currentWidget());
    const bool as_text = page != nullptr && file.endsWith(QLatin1String(".html"), Qt::CaseInsensitive);
    const QString problem = as_text ? write_html(page->body(), file) : write_picture(picture_of(*pictures_->currentWidget()), file);
    problem.isEmpty() ? notice_->confirm(tr("The picture is in %1.").arg(file)) : notice_->tell(problem);
    return problem.isEmpty();
}

void MainWindow::copy_picture() {
    QGuiApplication::clipboard()->setImage(as_image(picture_of(*pictures_->currentWidget())));
    notice_->confirm(tr("The picture is on the clipboard."));
}

}  // namespace jaxscope::app
