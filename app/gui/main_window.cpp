// SPDX-License-Identifier: Apache-2.0
#include "main_window.h"

#include <QDragEnterEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTabWidget>
#include <QVBoxLayout>

#include "analysis/stages/subject.h"
#include "asking/xla_texts.h"
#include "base/units.h"
#include "editor.h"
#include "jit/targets.h"
#include "picture/find.h"
#include "report/measure.h"
#include "report/memory_report.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      menu_bar_(menuBar()),
      top_(new TopBar(&session_)),
      outline_(new OutlinePanel(&selection_)),
      program_(new ProgramView(&selection_)),
      start_(new StartPage),
      first_page_(new QStackedWidget),
      split_(new SplitView(&selection_)),
      memory_(new MemoryView(&selection_)),
      timeline_(memory_->timeline()),
      strip_(new TimelineWidget(&selection_, true)),
      donation_view_(new DonationView(&selection_)),
      source_(new SourceView(&selection_)),
      text_(new JaxprView(&selection_)),
      transforms_(new TransformView(&selection_)),
      sharding_(new ShardingView(&selection_)),
      inspector_(new Inspector),
      residuals_(new ResidualModel(this)),
      donations_(new DonationModel(this)),
      buffers_(new BufferModel(this)),
      policies_(new PolicyModel(this)),
      residual_table_(new TablePanel(residuals_, &selection_)),
      donation_table_(new TablePanel(donations_, &selection_)),
      buffer_table_(new TablePanel(buffers_, &selection_)),
      policy_table_(new TablePanel(policies_, &selection_)),
      policy_plot_(new PolicyPlot(policies_)),
      budget_(new BudgetBox(&session_)),
      compare_(new QSplitter(Qt::Horizontal)),
      pictures_(new QTabWidget),
      tables_(new QTabWidget),
      across_(new QSplitter(Qt::Horizontal)),
      down_(new QSplitter(Qt::Vertical)),
      notice_(new NoticeBar(pictures_)),
      search_(this),
      palette_search_(this),
      making_page_(this) {
    setWindowTitle(QStringLiteral("jaxscope"));
    setAcceptDrops(true);
    resize(QSize(1440, 900).boundedTo(QGuiApplication::primaryScreen()->availableSize()));
    build();
    add_actions();
    connect(&session_, &Session::opened, this, &MainWindow::show_program);
    connect(&session_, &Session::updated, this, &MainWindow::show_stages);
    connect(donations_, &DonationModel::leaf_ticked, this, &MainWindow::donate_leaf);
    connect(donation_view_->canvas(), &DonationCanvas::leaf_ticked, this, &MainWindow::donate_leaf);
    connect(&session_, &Session::open_failed, this, [this](const QString& text) { notice_->tell(text); });
    connect(top_, &TopBar::policy_problem, this, &MainWindow::tell_policy_problem);
    connect(top_->search(), &QLineEdit::returnPressed, this, [this] { find_next(1); });
    connect(inspector_, &Inspector::line_clicked, this, [this](const QString& file, int line) {
        Picked picked;
        picked.program = equation_at_line(*session_.program()->jaxpr, file.toStdString(), line);
        if (picked.program) selection_.pick(picked);
    });
    connect(inspector_, &Inspector::verdict_wanted, this, [this](HandVerdict verdict) { session_.mark(selection_.picked(), verdict); });
    connect(inspector_, &Inspector::python_copied, this,
            [this](const QString& python) { notice_->confirm(tr("On the clipboard: %1").arg(python)); });
    changed_.setSingleShot(true);
    changed_.setInterval(300);
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this, [this] { changed_.start(); });
    connect(&changed_, &QTimer::timeout, this, &MainWindow::file_changed);
    explain_.setSingleShot(true);
    connect(&explain_, &QTimer::timeout, this, &MainWindow::explain_selection);
    connect(&selection_, &Selection::changed, &explain_, qOverload<>(&QTimer::start));
    connect(outline_, &OutlinePanel::reveal_requested, program_, &ProgramView::reveal);
    connect(program_, &ProgramView::focus_changed, this, &MainWindow::tell_focus);
    connect(program_, &ProgramView::model_ready, this, [this] { outline_->set_model(program_->model()); });
    on_theme_change(program_, [this] { program_->restyle(); });
    on_theme_change(split_, [this] { split_->restyle(); });
    on_theme_change(source_, [this] { source_->restyle(); });
    on_theme_change(text_, [this] { text_->restyle(); });
    on_theme_change(transforms_, [this] { transforms_->restyle(); });
    on_theme_change(this, [this] { explain_selection(); });
    const auto show_step = [this](const std::shared_ptr<const MemoryPlan>& plan, int step) {
        buffers_->show_step(plan, step);
        tables_->setCurrentWidget(buffer_table_);
    };
    connect(timeline_, &TimelineWidget::step_picked, this, show_step);
    connect(strip_, &TimelineWidget::step_picked, this, show_step);
    connect(pictures_, &QTabWidget::currentChanged, this, &MainWindow::show_strip);
    connect(down_, &QSplitter::splitterMoved, this, &MainWindow::show_strip);
    connect(down_, &QSplitter::splitterMoved, down_, [this] { down_->setProperty(kMoved, true); });
    connect(source_, &SourceView::open_requested, this, [this](const QString& file, int line) {
        if (const QString problem = open_in_editor(file, line); !problem.isEmpty()) notice_->tell(problem);
    });
    connect(sharding_, &ShardingView::program_chosen, this, [this](const ProgramPtr& program) { session_.open(program); });
    connect(start_, &StartPage::open_requested, this, [this](const QString& file) { file.isEmpty() ? ask_for_file() : open_apart(file); });
    connect(start_, &StartPage::capture_requested, this, [this] { capture(); });
    connect(start_, &StartPage::paste_requested, this, &MainWindow::paste_program);
    connect(start_, &StartPage::last_requested, this, &MainWindow::last_wanted);
    connect(start_, &StartPage::tour_requested, this, &MainWindow::take_tour);
    start_->set_recent(recent_files());
    tell_state();
    restore_state();
    explain_selection();
    start_->setFocus();
}

/// Whoever keeps what is open is told when it changes.
void MainWindow::tell_state() {
    connect(&session_, &Session::opened, this, &MainWindow::state_changed);
    connect(&session_, &Session::choices_changed, this, &MainWindow::state_changed);
    connect(program_, &ProgramView::expanded_changed, this, &MainWindow::state_changed);
    connect(program_->view(), &GraphView::moved, this, &MainWindow::state_changed);
    connect(&selection_, &Selection::changed, this, &MainWindow::state_changed);
    for (const QTabWidget* tabs : {pictures_, tables_}) connect(tabs, &QTabWidget::currentChanged, this, &MainWindow::state_changed);
}

void MainWindow::build() {
    pictures_->setDocumentMode(true);
    first_page_->addWidget(start_);
    first_page_->addWidget(program_);
    pictures_->addTab(first_page_, tr("Program"));
    pictures_->addTab(split_, tr("Split"));
    pictures_->addTab(memory_, tr("Memory"));
    pictures_->addTab(donation_view_, tr("Donated"));
    pictures_->addTab(source_, tr("Source"));
    pictures_->addTab(text_, tr("Jaxpr"));
    pictures_->addTab(transforms_, tr("Transforms"));
    pictures_->addTab(sharding_, tr("Sharding"));
    tables_->setDocumentMode(true);
    tables_->addTab(residual_table_, tr("Residuals"));
    tables_->addTab(donation_table_, tr("Donation"));
    tables_->addTab(buffer_table_, tr("Buffers"));
    residual_table_->set_widths({84, 134, 300, 154, 124, 40}, ResidualModel::Source);
    residual_table_->table()->horizontalHeader()->moveSection(ResidualModel::Change, 0);
    residual_table_->sort_by(ResidualModel::Bytes, Qt::DescendingOrder);
    donation_table_->set_widths({64, 78, 100, 136, 96, 120}, DonationModel::Reason);
    donation_table_->sort_by(DonationModel::Bytes, Qt::DescendingOrder);
    buffer_table_->set_widths({92, 150, 96, 150, 150, 130}, BufferModel::Made);
    buffer_table_->sort_by(BufferModel::Bytes, Qt::DescendingOrder);

    build_compare();

    for (const auto& [panel, name] : {std::pair(residual_table_, tr("Residuals")), std::pair(donation_table_, tr("Donation")),
                                      std::pair(buffer_table_, tr("Buffers")), std::pair(policy_table_, tr("Policies"))})
        panel->set_name(name);

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
    outline_->setMinimumWidth(170);  // of a small window it keeps what names need
    across_->setStretchFactor(1, 1);
    for (QSplitter* splitter : {across_, down_}) splitter->setHandleWidth(1);
    for (QTabWidget* tabs : {pictures_, tables_}) tabs->tabBar()->setFont(text_font(12, true));  // measured as it is drawn
    auto* centre = new QWidget;
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(top_);
    column->addWidget(across_, 1);
    setCentralWidget(centre);
}

/// The policies' table beside their plot. They are tried when somebody looks.
void MainWindow::build_compare() {
    compare_->setHandleWidth(1);
    compare_->addWidget(policy_table_);
    compare_->addWidget(policy_plot_);
    compare_->setStretchFactor(0, 2);
    compare_->setStretchFactor(1, 1);
    compare_->setSizes({720, 270});
    tables_->addTab(compare_, tr("Policies"));
    policy_table_->set_widths({230, 84, 100, 96, 76, 84, 84, 76, 120}, PolicyModel::Problem);
    // What it is about stands first, where windows are narrow, too.
    policy_table_->table()->horizontalHeader()->moveSection(PolicyModel::Peak, 1);
    policy_table_->table()->horizontalHeader()->moveSection(policy_table_->table()->horizontalHeader()->visualIndex(PolicyModel::Against),
                                                            2);
    policy_table_->sort_by(PolicyModel::Saved, Qt::DescendingOrder);
    policy_table_->add_to_head(budget_);
    connect(budget_, &BudgetBox::refused, this, [this](const QString& problem) { notice_->tell(problem); });
    connect(&session_, &Session::fitting_changed, this, &MainWindow::tell_fitting);
    connect(&session_, &Session::fitted, this, [this](const BudgetFit& fit) { notice_->tell(views::words(fit, *session_.program())); });
    const auto apply = [this](int row) { top_->enter_policy(policies_->words(row), true); };  // as all rows are
    connect(policy_table_, &TablePanel::row_clicked, this, apply);
    connect(policy_plot_, &PolicyPlot::row_clicked, this, apply);
    connect(tables_, &QTabWidget::currentChanged, this, &MainWindow::show_policies);
    connect(&session_, &Session::choices_changed, this, &MainWindow::show_policies);
    connect(&session_, &Session::compared_changed, this, [this] { policies_->set_rows(session_.compared()); });
    connect(&session_, &Session::choices_changed, this, &MainWindow::tell_marks);
    connect(&session_, &Session::asking_changed, this, &MainWindow::tell_asking);
    connect(&session_, &Session::failed, this, [this](const QString& text) { notice_->tell(text); });
}

/// The Memory tab is its picture at large. Where there is little room the table has all of it: one row says less than none of the curve.
void MainWindow::show_strip() {
    constexpr int kLeast = 260;
    strip_->setVisible(pictures_->currentWidget() != memory_ && down_->widget(1)->height() >= kLeast);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    QTimer::singleShot(0, this, [this] {  // once what is inside has its size
        share_height();
        show_strip();
    });
}

void MainWindow::show_policies() {
    const TargetDevice* target = session_.choices().jit.target;
    const QString name = target != nullptr ? QString::fromUtf8(target->name) : QString();
    if (name != compared_target_) {
        compared_target_ = name;
        policies_->clear();
        policies_->set_target(name);
    }
    if (tables_->currentWidget() == compare_) session_.compare();
    const bool gradient = !session_.program() || is_differentiated(*session_.program()) || session_.choices().as_step;
    policies_->set_applied(gradient ? top_->applied_policy() : QString());
}

/// The Python is the one that captures: JAX and XLA are its.
void MainWindow::ask_xla(const QString& target) {
    if (session_.asking_xla()) return session_.stop_asking_xla();
    show_tab("policies");
    XlaQuestion question;
    question.targets = {target.toStdString()};
    question.python = QSettings().value("capture/python").toString().toStdString();
    question.tell = false;
    asked_target_ = target;
    session_.ask_xla(question);
}

void MainWindow::tell_asking() {
    const QString text = tr("XLA compiles the step under each policy for %1. What it has said is kept on disk.").arg(asked_target_);
    if (session_.asking_xla())
        notice_->tell(text, tr("Stop"), [this] { session_.stop_asking_xla(); });
    else if (notice_->text() == text)
        notice_->hide();
}

/// Parts of the picture that are missing are told of as long as they are.
void MainWindow::tell_focus(const QString& what) {
    const bool all = program_->focused() == ProgramView::Focus::Everything && !program_->hides();
    if (what.isEmpty()) {
        if (notice_->text() == focus_text_) notice_->hide();
        return;
    }
    focus_text_ = what;
    all ? notice_->tell(what) : notice_->tell(what, tr("Show everything"), [this] { program_->focus(ProgramView::Focus::Everything); });
}

void MainWindow::tell_fitting() {
    const QString text = tr("Looking for the values to save so that the step fits: each choice is derived and planned.");
    if (session_.fitting())
        notice_->tell(text, tr("Stop"), [this] { session_.stop_fitting(); });
    else if (notice_->text() == text)
        notice_->hide();
}

void MainWindow::open(const QString& file) {
    if (file.endsWith(QLatin1String(kWorkspaceEnding))) return Q_EMIT files_wanted({file});
    if (asks_to_capture(file)) return;
    if (QFileInfo::exists(file) && is_xla_text(file.toStdString())) return read_xla({file});
    again_.reset();
    file_ = QFileInfo::exists(file) ? QFileInfo(file).absoluteFilePath() : file;
    session_.open(file);
}

/// What was asked for last once more; where that is what is open, choices and their history stay.
void MainWindow::reload() {
    if (!file_.isEmpty()) session_.reload(file_);
}

QStringList MainWindow::recent_files() const { return QSettings().value("recent").toStringList(); }

/// Of the file that is open now: first among the recent ones, and watched.
void MainWindow::remember_file() {
    constexpr int kRecentFiles = 10;
    if (!watcher_.files().isEmpty()) watcher_.removePaths(watcher_.files());
    if (!QFileInfo::exists(file_) || file_.startsWith(pasted_.path())) return;  // a sample of the program's own, or text that was pasted
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
    if (name == QLatin1String("lines")) {
        memory_->lines_button()->click();
        return show_tab(QStringLiteral("memory"));
    }
    for (QTabWidget* tabs : {pictures_, tables_})
        for (int t = 0; t < tabs->count(); ++t)
            if (tabs->tabText(t).section(' ', 0, 0).compare(name, Qt::CaseInsensitive) == 0) tabs->setCurrentIndex(t);
}

void MainWindow::set_dark(bool dark) {
    set_theme(dark);
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
    search_.cancel();
    top_->show_found({});
    outline_->set_model(nullptr);
    policies_->clear();
    program_->set_program(program);
    source_->set_program(program);
    text_->set_program(program);
    transforms_->set_inspection(nullptr);
    sharding_->set_inspection(nullptr);
    first_page_->setCurrentWidget(program_);
    forget_comparison();
    show_stages();
    show_again();
}

void MainWindow::show_stages() {
    const Look& look = session_.current();
    tell_problems(look.problems);
    residuals_->set_problem(look.problems.value(QStringLiteral("residuals")));
    donations_->set_problem(look.problems.value(QStringLiteral("donation")));
    for (TimelineWidget* timeline : {timeline_, strip_}) timeline->set_problem(look.problems.value(QStringLiteral("memory")));
    buffers_->set_problem(look.problems.value(QStringLiteral("memory")));
    const bool would_be = look.only_would_differentiate();
    if (look.residuals.get() != residuals_->report() || !look.residuals || would_be != residuals_->would_be()) {
        residuals_->set_report(look.residuals, session_.as_it_is().residuals, would_be);
        residual_table_->show_column(ResidualModel::Change, residuals_->compares());
        outline_->set_residuals(look.residuals.get());
    }
    donations_->set_report(look.donation);
    donation_view_->set_report(look.donation);
    source_->set_look(look);
    buffers_->set_plan(look.plan, look.step);
    split_->set_look(look, residuals_->added_equations());
    if (look.done) transforms_->set_inspection(look.inspection);
    if (look.done) sharding_->set_inspection(look.inspection);
    sharding_->set_run(look.run);
    if (look.done) program_->set_saved(look.saved);
    program_->set_donation(look.donation);
    selection_.set_correspondence(look.correspondence, look.inspection ? look.inspection->derivation() : 0);
    const auto& as_it_is = session_.as_it_is().plan;
    const std::int64_t measured = look.run ? look.run->result.measured_peak.value_or(0) : 0;
    timeline_->set_plan(look.plan, as_it_is, measured);
    strip_->set_plan(look.plan, as_it_is, measured);
    memory_->set_look(session_.program(), look);
    const auto counted = [](const QString& name, int rows) {
        return rows > 0 ? name + QStringLiteral("  ") + QString::number(rows) : name;
    };
    tables_->setTabText(0, counted(tr("Residuals"), look.residuals ? static_cast<int>(look.residuals->rows.size()) : 0));
    tables_->setTabText(1, counted(tr("Donation"), donations_->rowCount()));
    tables_->setTabText(2, counted(tr("Buffers"), buffers_->rowCount()));
    if (session_.shows_choices() && !would_be) policies_->note(top_->applied_policy(), look);  // rows are of gradients
    show_policies();
    explain_.start();
}

/// One reason is told once, with all that it stands in the way of. Where these would stand only says that they can't be had.
void MainWindow::tell_problems(const QMap<QString, QString>& problems) {
    QStringList reasons;
    for (const QString& reason : problems)
        if (!reasons.contains(reason)) reasons << reason;
    QStringList lines;
    for (const QString& reason : reasons) {
        const QStringList of = problems.keys(reason);
        lines << (of == QStringList{QStringLiteral("run")} ? tr("The run has no result: %1").arg(reason)
                                                           : tr("Can't be had: %1. %2").arg(of.join(QStringLiteral(", ")), reason));
    }
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
    if (selection_.picked().empty() && look.run && look.plan && look.step)
        if (const std::string why = memory_report(*look.step, *look.plan, look.run.get()).difference; !why.empty())
            // Before the last one, which says what to do next.
            explanation.sentences.insert(explanation.sentences.end() - (explanation.sentences.empty() ? 0 : 1),
                                         "The peak was " + why + ".");
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

/// Whatever key is held: who offers a file to be moved deletes it once it was taken.
static void take_a_copy(QDropEvent& event) {
    event.setDropAction(Qt::CopyAction);
    event.accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) take_a_copy(*event);
}

void MainWindow::dropEvent(QDropEvent* event) {
    take_a_copy(*event);
    QStringList files;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) files << url.toLocalFile();
    if (files.size() > 1 && std::all_of(files.begin(), files.end(), [](const QString& f) { return is_xla_text(f.toStdString()); }))
        return read_xla(files);
    if (files.isEmpty()) return;
    open_apart(files.first());
    if (files.size() > 1) Q_EMIT files_wanted(files.mid(1));
}

MainWindow::~MainWindow() {
    // QWidget's own destructor would hide it, and what had the focus would ask the session, which isn't there any more.
    hide();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    QSettings().setValue("window/geometry", saveGeometry());
    keep_layout();
    QMainWindow::closeEvent(event);
}

}  // namespace jaxscope::app
