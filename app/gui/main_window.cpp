#include "main_window.h"

#include <QAction>
#include <QDialog>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QMimeData>
#include <QSettings>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "analysis/find.h"
#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      top_(new TopBar(&session_)),
      outline_(new OutlinePanel(&selection_)),
      program_(new ProgramView(&selection_)),
      split_(new SplitView(&selection_)),
      timeline_(new TimelineWidget(&selection_, false)),
      strip_(new TimelineWidget(&selection_, true)),
      inspector_(new Inspector),
      residuals_(new ResidualModel(this)),
      donations_(new DonationModel(this)),
      buffers_(new BufferModel(this)),
      residual_table_(new TablePanel(residuals_, &selection_)),
      donation_table_(new TablePanel(donations_, &selection_)),
      buffer_table_(new TablePanel(buffers_, &selection_)),
      pictures_(new QTabWidget),
      tables_(new QTabWidget),
      across_(new QSplitter(Qt::Horizontal)),
      down_(new QSplitter(Qt::Vertical)),
      notice_(new NoticeBar) {
    setWindowTitle(QStringLiteral("jaxscope"));
    setAcceptDrops(true);
    resize(1440, 900);
    build();
    add_actions();
    connect(&session_, &Session::opened, this, &MainWindow::show_program);
    connect(&session_, &Session::updated, this, &MainWindow::show_stages);
    connect(&session_, &Session::open_failed, this, [this](const QString& text) { notice_->tell(text); });
    connect(top_, &TopBar::policy_problem, this, &MainWindow::tell_policy_problem);
    connect(top_->search(), &QLineEdit::returnPressed, this, [this] { find_next(1); });
    connect(inspector_, &Inspector::line_clicked, this, [this](const QString& file, int line) {
        Picked picked;
        picked.program = equation_at_line(*session_.program()->jaxpr, file.toStdString(), line);
        if (picked.program) selection_.pick(picked);
    });
    changed_.setSingleShot(true);
    changed_.setInterval(300);
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this, [this] { changed_.start(); });
    connect(&changed_, &QTimer::timeout, this, &MainWindow::file_changed);
    connect(&selection_, &Selection::changed, this, &MainWindow::explain_selection);
    connect(outline_, &OutlinePanel::reveal_requested, program_, &ProgramView::reveal);
    const auto show_step = [this](int step) {
        buffers_->show_step(step);
        tables_->setCurrentWidget(buffer_table_);
    };
    connect(timeline_, &TimelineWidget::step_picked, this, show_step);
    connect(strip_, &TimelineWidget::step_picked, this, show_step);
    restore_state();
    explain_selection();
    program_->view()->setFocus();
}

void MainWindow::build() {
    pictures_->setDocumentMode(true);
    pictures_->addTab(program_, tr("Program"));
    pictures_->addTab(split_, tr("Split"));
    pictures_->addTab(timeline_, tr("Memory"));
    tables_->setDocumentMode(true);
    tables_->addTab(residual_table_, tr("Residuals"));
    tables_->addTab(donation_table_, tr("Donation"));
    tables_->addTab(buffer_table_, tr("Buffers"));
    residual_table_->set_widths({84, 134, 320, 154, 124}, ResidualModel::Source);
    residual_table_->sort_by(ResidualModel::Bytes, Qt::DescendingOrder);
    donation_table_->set_widths({64, 78, 100, 136, 96, 120}, DonationModel::Reason);
    donation_table_->sort_by(DonationModel::Bytes, Qt::DescendingOrder);
    buffer_table_->set_widths({92, 150, 96, 150, 150, 130}, BufferModel::Made);
    buffer_table_->sort_by(BufferModel::Bytes, Qt::DescendingOrder);

    auto* foot = new QWidget;
    auto* foot_column = new QVBoxLayout(foot);
    foot_column->setContentsMargins(0, 0, 0, 0);
    foot_column->setSpacing(0);
    foot_column->addWidget(tables_, 1);
    foot_column->addWidget(strip_);
    down_->addWidget(pictures_);
    down_->addWidget(foot);
    down_->setSizes({560, 290});
    down_->setStretchFactor(0, 1);
    across_->addWidget(outline_);
    across_->addWidget(down_);
    across_->addWidget(inspector_);
    across_->setSizes({230, 900, 310});
    across_->setStretchFactor(1, 1);
    for (QSplitter* splitter : {across_, down_}) splitter->setHandleWidth(1);
    auto* centre = new QWidget;
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(top_);
    column->addWidget(notice_);
    column->addWidget(across_, 1);
    setCentralWidget(centre);
}

void MainWindow::add_actions() {
    const auto add = [this](const QString& text, const QKeySequence& keys, auto act) {
        auto* action = new QAction(text, this);
        action->setShortcut(keys);
        connect(action, &QAction::triggered, this, act);
        addAction(action);
    };
    add(tr("Open"), QKeySequence::Open, [this] { ask_for_file(); });
    add(tr("Find"), QKeySequence::Find, [this] {
        top_->search()->setFocus();
        top_->search()->selectAll();
    });
    add(tr("Find a command, policy, residual, argument or equation"), QKeySequence(QStringLiteral("Ctrl+K")),
        [this] { (new CommandPalette([this](const QString& text) { return entries_for(text); }, this))->show(); });
    add(tr("Undo choice"), QKeySequence::Undo, [this] { session_.undo(); });
    add(tr("Run or stop"), QKeySequence(QStringLiteral("Ctrl+R")), [this] { session_.running() ? session_.stop_run() : session_.run(); });
    add(tr("Dark or light"), QKeySequence(QStringLiteral("Ctrl+T")), [this] { set_dark(!theme().dark()); });
    add(tr("Program"), QKeySequence(QStringLiteral("Alt+1")), [this] { show_tab("program"); });
    add(tr("Split"), QKeySequence(QStringLiteral("Alt+2")), [this] { show_tab("split"); });
    add(tr("Memory"), QKeySequence(QStringLiteral("Alt+3")), [this] { show_tab("memory"); });
    add(tr("Outline"), QKeySequence(QStringLiteral("Ctrl+B")), [this] { outline_->setVisible(!outline_->isVisible()); });
    add(tr("Inspector"), QKeySequence(QStringLiteral("Ctrl+I")), [this] { inspector_->setVisible(!inspector_->isVisible()); });
    add(tr("Select nothing"), QKeySequence(Qt::Key_Escape), [this] { selection_.clear(); });
    add(tr("Collapse all"), QKeySequence(QStringLiteral("Ctrl+-")), [this] { program_->collapse_all(); });
    const auto picture = [this] { return pictures_->currentWidget() == split_ ? split_->view() : program_->view(); };
    add(tr("Next found"), QKeySequence(Qt::Key_F3), [this] { find_next(1); });
    add(tr("Previous found"), QKeySequence(QStringLiteral("Shift+F3")), [this] { find_next(-1); });
    add(tr("Zoom in"), QKeySequence(QStringLiteral("Ctrl+=")), [picture] { picture()->zoom_by(1.25); });
    add(tr("Zoom out"), QKeySequence(QStringLiteral("Ctrl+Shift+-")), [picture] { picture()->zoom_by(0.8); });
    add(tr("Fit the picture"), QKeySequence(QStringLiteral("Ctrl+0")), [picture] { picture()->fit(); });
    add(tr("Reload the file"), QKeySequence(Qt::Key_F5), [this] { reload(); });
    add(tr("Shortcuts"), QKeySequence(Qt::Key_F1), [this] { show_help(); });
    add(tr("Quit"), QKeySequence::Quit, [this] { close(); });
}

void MainWindow::open(const QString& file) {
    file_ = QFileInfo::exists(file) ? QFileInfo(file).absoluteFilePath() : file;
    session_.open(file);
}

/// What was asked for last once more; where that is what is open, choices and their history stay.
void MainWindow::reload() {
    if (!file_.isEmpty()) session_.reload(file_);
}

void MainWindow::ask_for_file() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Open a capture"), {}, tr("Programs (*.jaxscope *.jaxpr *.txt);;All files (*)"));
    if (!file.isEmpty()) open(file);
}

void MainWindow::show_help() {
    auto* help = new QDialog(this);
    help->setAttribute(Qt::WA_DeleteOnClose);
    help->setWindowTitle(tr("Shortcuts"));
    auto* grid = new QGridLayout(help);
    grid->setContentsMargins(24, 20, 24, 20);
    grid->setHorizontalSpacing(24);
    int row = 0;
    const auto line = [&](const QString& keys, const QString& text) {
        grid->addWidget(new QLabel(keys), row, 0);
        grid->addWidget(new QLabel(text), row++, 1);
    };
    for (const QAction* action : actions()) line(action->shortcut().toString(QKeySequence::NativeText), action->text());
    line(tr("Double click"), tr("Open or close a group"));
    line(tr("Ctrl and wheel"), tr("Zoom"));
    line(tr("Drag the ground"), tr("Pan"));
    help->open();
}

QStringList MainWindow::recent_files() const { return QSettings().value("recent").toStringList(); }

/// Of the file that is open now: first among the recent ones, and watched.
void MainWindow::remember_file() {
    constexpr int kRecentFiles = 10;
    if (!watcher_.files().isEmpty()) watcher_.removePaths(watcher_.files());
    if (!QFileInfo::exists(file_)) return;  // a sample of the program's own
    opened_ = file_;
    watcher_.addPath(file_);
    QStringList files = recent_files();
    files.removeAll(file_);
    files.prepend(file_);
    QSettings().setValue("recent", QStringList(files.mid(0, kRecentFiles)));
}

void MainWindow::file_changed() {
    if (!QFileInfo::exists(opened_)) return;
    if (!watcher_.files().contains(opened_)) watcher_.addPath(opened_);  // replaced by a rename: another file to the system
    notice_->tell(tr("%1 has changed on disk.").arg(QFileInfo(opened_).fileName()), tr("Reload (F5)"), [this] {
        file_ = opened_;
        reload();
    });
}

void MainWindow::show_tab(const QString& name) {
    for (QTabWidget* tabs : {pictures_, tables_})
        for (int t = 0; t < tabs->count(); ++t)
            if (tabs->tabText(t).section(' ', 0, 0).compare(name, Qt::CaseInsensitive) == 0) tabs->setCurrentIndex(t);
}

void MainWindow::set_dark(bool dark) {
    set_theme(dark);
    top_->restyle();
    program_->restyle();
    split_->restyle();
    explain_selection();
    update();
}

void MainWindow::show_program() {
    selection_.clear();
    selection_.set_correspondence(nullptr, 0);
    const ProgramPtr program = session_.program();
    notice_->hide();
    told_problems_.clear();
    found_text_.clear();
    remember_file();
    setWindowTitle(views::utf8(program_title(*program)) + QStringLiteral(" \u2013 jaxscope"));
    outline_->set_model(nullptr);
    program_->set_program(program);
    outline_->set_model(program_->model());
    show_stages();
}

void MainWindow::show_stages() {
    const Look& look = session_.current();
    tell_problems(look.problems);
    residuals_->set_problem(look.problems.value(QStringLiteral("residuals")));
    donations_->set_problem(look.problems.value(QStringLiteral("donation")));
    for (TimelineWidget* timeline : {timeline_, strip_}) timeline->set_problem(look.problems.value(QStringLiteral("memory")));
    buffers_->set_problem(look.problems.value(QStringLiteral("memory")));
    if (look.residuals.get() != residuals_->report() || !look.residuals) {
        const auto& before = session_.as_it_is().residuals;
        residuals_->set_report(look.residuals, before && before != look.residuals ? before->total_bytes : -1);
        outline_->set_residuals(look.residuals.get());
    }
    donations_->set_report(look.donation);
    buffers_->set_plan(look.plan);
    split_->set_look(look);
    selection_.set_correspondence(look.correspondence, look.inspection ? look.inspection->derivation() : 0);
    const auto& as_it_is = session_.as_it_is().plan;
    const std::int64_t before = as_it_is && as_it_is != look.plan ? as_it_is->planned_peak : 0;
    const std::int64_t measured = look.run ? look.run->result.measured_peak : 0;
    timeline_->set_plan(look.plan, before, measured);
    strip_->set_plan(look.plan, before, measured);
    const auto counted = [](const QString& name, int rows) {
        return rows > 0 ? name + QStringLiteral("  ") + QString::number(rows) : name;
    };
    tables_->setTabText(0, counted(tr("Residuals"), residuals_->rowCount()));
    tables_->setTabText(1, counted(tr("Donation"), donations_->rowCount()));
    tables_->setTabText(2, counted(tr("Buffers"), buffers_->rowCount()));
    explain_selection();
}

/// One reason is told once, with all that it stands in the way of. Where these would stand only says that they can't be had.
void MainWindow::tell_problems(const QMap<QString, QString>& problems) {
    QStringList reasons;
    for (const QString& reason : problems)
        if (!reasons.contains(reason)) reasons << reason;
    QStringList lines;
    for (const QString& reason : reasons) lines << tr("Can't be had: %1. %2").arg(problems.keys(reason).join(QStringLiteral(", ")), reason);
    const QString text = lines.join('\n');
    if (text == told_problems_) return;
    if (!text.isEmpty())
        notice_->tell(text);
    else if (notice_->text() == told_problems_)
        notice_->hide();
    told_problems_ = text;
}

void MainWindow::tell_policy_problem(const QString& problem, const QString& entered, const QString& applied) {
    notice_->tell(tr("%1 is no policy, and nothing was changed: the figures are those of \u201c%2\u201d.\n%3")
                      .arg(QStringLiteral("\u201c%1\u201d").arg(entered), applied, problem),
                  tr("Correct it"), [this, entered] { top_->edit_policy(entered); });
}

void MainWindow::explain_selection() {
    const ProgramPtr program = session_.program();
    if (!program) {
        inspector_->show_nothing(
            tr("Open a capture to see where its memory goes.\n\nThen select anything to ask about it: what it is, whether it is saved "
               "or recomputed and why, what it costs, and what you can do."));
        return;
    }
    const Look& look = session_.current();
    Explanation explanation = explain(*program, selection_.picked(), look.stages(), session_.choices());
    if (const VisibleGraph::Node* group = picked_group(); group != nullptr && explanation.sentences.empty()) {
        explanation.title = group->title;
        explanation.subtitle = group->detail;
        explanation.sentences.push_back("A group of " + count_text(group->equations) + " equations, which make " +
                                        bytes_text(group->bytes) + " in all. Open it with a double click.");
    }
    inspector_->show_explanation(explanation);
}

const VisibleGraph::Node* MainWindow::picked_group() const {
    const Picked& picked = selection_.picked();
    const VisibleGraph& graph = picked.group_in == Picked::Where::Program ? program_->graph()
                                : picked.group_in == Picked::Where::Known ? split_->picture().known
                                                                          : split_->picture().unknown;
    const auto found = graph.by_key.find(picked.group);
    return picked.group.empty() || found == graph.by_key.end() ? nullptr : &graph.nodes[found->second];
}

/// Goes to the next equation, nested ones too, whose name contains the searched text; `step` is -1 for the one before.
void MainWindow::find_next(int step) {
    constexpr std::size_t kMostFound = 10'000;
    const ProgramPtr program = session_.program();
    const QString text = top_->search()->text().trimmed();
    if (!program || text.isEmpty()) return;
    if (text != found_text_) {
        found_text_ = text;
        found_ = find_equations(*program->jaxpr, text.toStdString(), kMostFound);
        found_at_ = step > 0 ? -1 : 0;
    }
    if (found_.empty()) return notice_->tell(tr("No equation is called \u201c%1\u201d.").arg(text));
    const int count = static_cast<int>(found_.size());
    found_at_ = (found_at_ + step + count) % count;
    reveal_equation(found_[static_cast<std::size_t>(found_at_)]);
}

void MainWindow::reveal_equation(const EqnPath& path) {
    show_tab("program");
    program_->reveal(path);
}

void MainWindow::select_row(const QString& table, const Picked& picked) {
    show_tab(table);
    selection_.pick(picked);
}

std::vector<CommandPalette::Entry> MainWindow::entries_for(const QString& text) {
    constexpr std::size_t kMost = 60;
    std::vector<CommandPalette::Entry> out;
    const auto offer = [&](const QString& kind, const QString& name, const auto& act) {
        if (out.size() < kMost && (text.isEmpty() || name.contains(text, Qt::CaseInsensitive))) out.push_back({kind, name, act});
    };
    for (QAction* action : actions()) {
        const QString keys = action->shortcut().toString(QKeySequence::NativeText);
        offer(tr("Command"), action->text() + (keys.isEmpty() ? QString() : QStringLiteral("  (%1)").arg(keys)),
              [action] { action->trigger(); });
    }
    for (const QString& file : recent_files()) offer(tr("Recent file"), file, [this, file] { open(file); });
    const ProgramPtr program = session_.program();
    if (!program) return out;
    for (int p = 0; p < top_->policy_box()->count(); ++p)
        offer(tr("Policy"), top_->policy_box()->itemText(p), [this, p] { top_->choose_policy(p); });
    const Look& look = session_.current();
    for (std::size_t r = 0; look.residuals && r < look.residuals->rows.size(); ++r) {
        const ResidualRow& row = look.residuals->rows[r];
        offer(tr("Saved"), utf8(row.aval + "  " + row.source), [this, id = row.id] {
            Picked picked;
            picked.residual = id;
            select_row("residuals", picked);
        });
    }
    for (std::size_t i = 0; i < program->in_paths.size(); ++i)
        offer(tr("Argument"), utf8(program->in_paths[i].str()), [this, i] {
            Picked picked;
            picked.input = static_cast<int>(i);
            select_row("donation", picked);
        });
    if (text.isEmpty() || out.size() >= kMost) return out;
    for (const EqnPath& path : find_equations(*program->jaxpr, text.toStdString(), kMost - out.size())) {
        const Eqn& eqn = resolve(*program->jaxpr, path);
        out.push_back(
            {tr("Equation"), utf8(equation_title(eqn) + "  " + eqn.source->summary().str()), [this, path] { reveal_equation(path); }});
    }
    return out;
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) return open(url.toLocalFile());
}

void MainWindow::restore_state() {
    const QSettings settings;
    if (settings.contains("window/geometry")) restoreGeometry(settings.value("window/geometry").toByteArray());
    if (settings.contains("window/across")) across_->restoreState(settings.value("window/across").toByteArray());
    if (settings.contains("window/down")) down_->restoreState(settings.value("window/down").toByteArray());
}

void MainWindow::closeEvent(QCloseEvent* event) {
    QSettings settings;
    settings.setValue("window/geometry", saveGeometry());
    settings.setValue("window/across", across_->saveState());
    settings.setValue("window/down", down_->saveState());
    settings.setValue("window/dark", theme().dark());
    QMainWindow::closeEvent(event);
}

}  // namespace jaxscope::app
