// SPDX-License-Identifier: Apache-2.0
#include "workbench.h"

#include <QCloseEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenuBar>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "main_window.h"
#include "theme/theme.h"

namespace jaxscope::app {

namespace {

constexpr int kSoon = 400, kAgain = 10'000;  // ms

bool is_workspace(const QString& file) { return file.endsWith(QLatin1String(kWorkspaceEnding)); }

}  // namespace

Workbench::Workbench(bool keeps, QWidget* parent)
    : QMainWindow(parent),
      menus_(new QStackedWidget),
      programs_(new QStackedWidget),
      tabs_(new QTabBar),
      autosave_(keeps ? workspace_folder() : QString()) {
    constexpr int kTitleBar = 36;  // what the window manager adds, or it would stand half below the screen
    resize(QSize(1440, 900).boundedTo(QGuiApplication::primaryScreen()->availableSize() - QSize(0, kTitleBar)));
    menus_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    setMenuWidget(menus_);
    tabs_->setAccessibleName(tr("Programs"));
    tabs_->setMovable(false);
    tabs_->setExpanding(false);
    tabs_->setElideMode(Qt::ElideMiddle);
    tabs_->setFont(views::text_font(12, true));
    tabs_->setAutoHide(true);
    auto* centre = new QWidget;
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(tabs_);
    column->addWidget(programs_, 1);
    setCentralWidget(centre);
    unkept_ = new views::NoticeBar(centre);
    connect(tabs_, &QTabBar::currentChanged, this, &Workbench::show_current);
    soon_.setSingleShot(true);
    soon_.setInterval(kSoon);
    connect(&soon_, &QTimer::timeout, this, &Workbench::keep);
    again_.setSingleShot(true);
    again_.setInterval(kAgain);
    connect(&again_, &QTimer::timeout, this, &Workbench::keep);
    connect(&autosave_, &Autosave::problem_changed, this, &Workbench::tell_unkept);
    connect(&named_, &KeptFile::problem_changed, this, &Workbench::tell_unkept);
    if (const QByteArray geometry = QSettings().value("window/geometry").toByteArray(); !geometry.isEmpty()) restoreGeometry(geometry);
    offer_last(add());
    tell_unkept();
}

Workbench::~Workbench() = default;

MainWindow* Workbench::at(int tab) const { return qobject_cast<MainWindow*>(programs_->widget(tab)); }
MainWindow* Workbench::current() const { return at(tabs_->currentIndex()); }
int Workbench::count() const { return programs_->count(); }
void Workbench::set_current(int tab) { tabs_->setCurrentIndex(tab); }

MainWindow* Workbench::add() {
    auto* program = new MainWindow(this);
    program->setWindowFlags(Qt::Widget);
    menus_->addWidget(program->menu_bar());
    programs_->addWidget(program);
    connect_program(program);
    const int tab = tabs_->addTab(QString());
    tabs_->setTabButton(tab, QTabBar::RightSide, close_button(program));
    name_tabs();
    tabs_->setCurrentIndex(tab);
    show_current();
    if (isVisible()) activateWindow();  // a window that became part of this one may have taken that along
    return program;
}

/// In the colours of the theme, which the style's own cross knows nothing of.
QToolButton* Workbench::close_button(MainWindow* program) {
    auto* close = new QToolButton;
    close->setText(QStringLiteral("\u2715"));
    close->setAccessibleName(tr("Close the tab"));
    close->setToolTip(tr("Close the tab (Ctrl+W)"));
    close->setAutoRaise(true);
    connect(close, &QToolButton::clicked, this, [this, program] { close_tab(programs_->indexOf(program)); });
    return close;
}

void Workbench::connect_program(MainWindow* program) {
    connect(program, &QWidget::windowTitleChanged, this, [this, program] {
        name_tabs();
        if (program == current()) setWindowTitle(program->windowTitle());
    });
    connect(program, &MainWindow::state_changed, &soon_, QOverload<>::of(&QTimer::start));
    connect(program, &MainWindow::tabs_wanted, this, [this](const QStringList& files) {
        add();
        if (!files.isEmpty()) open(files);
    });
    connect(program, &MainWindow::files_wanted, this, &Workbench::open);
    connect(program, &MainWindow::text_wanted, this, [this](const QByteArray& text) { add()->open_text(text); });
    connect(program, &MainWindow::tab_close_wanted, this, [this, program] { close_tab(programs_->indexOf(program)); });
    connect(program, &MainWindow::next_tab_wanted, this, [this](int step) {
        if (count() > 0) set_current((tabs_->currentIndex() + step + count()) % count());
    });
    connect(program, &MainWindow::workspace_wanted, this, &Workbench::ask_for_workspace);
    connect(program, &MainWindow::last_wanted, this, &Workbench::open_last);
    connect(program, &MainWindow::quit_wanted, this, &QWidget::close);
}

/// Programs of one name are told apart by their files.
void Workbench::name_tabs() {
    QStringList names;
    for (int tab = 0; tab < tabs_->count(); ++tab) names << at(tab)->program_name();
    for (int tab = 0; tab < tabs_->count(); ++tab) {
        const QString file = at(tab)->state().file;
        QString text = names[tab].isEmpty() ? tr("New tab") : names[tab];
        if (!names[tab].isEmpty() && names.count(names[tab]) > 1 && !file.isEmpty())
            text += QStringLiteral(" \u00b7 ") + QFileInfo(file).completeBaseName();
        tabs_->setTabText(tab, text);
        tabs_->setTabToolTip(tab, file);
    }
}

void Workbench::show_current() {
    const int tab = tabs_->currentIndex();
    if (tab < 0 || tab >= programs_->count()) return;
    menus_->setCurrentIndex(tab);
    programs_->setCurrentIndex(tab);
    for (int t = 0; t < count(); ++t) at(t)->set_in_front(t == tab);
    setWindowTitle(current()->windowTitle());
    MainWindow& front = *current();
    front.nothing_open() ? front.start_page()->setFocus() : front.program_view()->view()->setFocus();
    soon_.start();
}

void Workbench::open(const QStringList& files) {
    for (const QString& file : files) {
        if (is_workspace(file)) {
            open_workspace(file);
            continue;
        }
        if (!current()->nothing_open()) add();
        current()->open(file);
    }
}

void Workbench::close_tab(int tab) {
    MainWindow* program = at(tab);
    if (program == nullptr) return;
    if (count() == 1) add();
    QWidget* menu = menus_->widget(tab);
    programs_->removeWidget(program);
    menus_->removeWidget(menu);
    tabs_->removeTab(tab);
    program->deleteLater();
    menu->deleteLater();
    name_tabs();
    show_current();
}

Workspace Workbench::workspace() const {
    Workspace out;
    for (int tab = 0; tab < count(); ++tab) {
        if (tab == tabs_->currentIndex()) out.front = out.programs.size();
        if (const OpenProgram state = at(tab)->state(); !state.empty()) out.programs << state;
    }
    return out;
}

void Workbench::take(const Workspace& workspace) {
    int front = -1;
    for (int p = 0; p < workspace.programs.size(); ++p) {
        if (!current()->nothing_open()) add();
        current()->open_again(workspace.programs[p]);
        if (p == workspace.front) front = tabs_->currentIndex();
    }
    if (front >= 0) set_current(front);
}

bool Workbench::open_workspace(const QString& file) {
    Workspace read;
    if (const QString problem = read_workspace(file, read); !problem.isEmpty()) {
        current()->notice()->tell(problem);
        return false;
    }
    take(read);
    named_.set_name(QFileInfo(file).absoluteFilePath(), workspace_text(read));
    return true;
}

void Workbench::open_last() {
    Workspace read;
    const QString file = autosave_.last();
    const QString problem = file.isEmpty() ? tr("Nothing was open before.") : read_workspace(file, read);
    if (!problem.isEmpty()) return current()->notice()->tell(problem);
    current()->notice()->hide();
    take(read);
}

bool Workbench::save_workspace(const QString& file) {
    const QByteArray text = workspace_text(workspace());
    const QString problem = write_whole(text, file);
    if (problem.isEmpty()) named_.set_name(QFileInfo(file).absoluteFilePath(), text);
    current()->notice()->tell(problem.isEmpty() ? tr("The workspace is in %1, and is kept in step with what is open here.").arg(file)
                                                : problem);
    return problem.isEmpty();
}

void Workbench::ask_for_workspace(bool save) {
    const QString kinds = tr("Workspaces (*%1)").arg(QLatin1String(kWorkspaceEnding));
    QString file = save ? QFileDialog::getSaveFileName(this, tr("Save the workspace"), named_.name(), kinds)
                        : QFileDialog::getOpenFileName(this, tr("Open a workspace"), {}, kinds);
    if (file.isEmpty()) return;
    if (save && !is_workspace(file)) file += QLatin1String(kWorkspaceEnding);
    save ? save_workspace(file) : open_workspace(file);
}

void Workbench::keep() {
    const Workspace now = workspace();
    autosave_.keep(now);
    if (!now.programs.isEmpty()) named_.keep(workspace_text(now));
    if (!unkept().isEmpty()) again_.start();
}

QString Workbench::unkept() const {
    QStringList reasons{autosave_.problem(), named_.problem()};
    reasons.removeAll({});
    return reasons.join(QStringLiteral("; "));
}

/// Each reason once: who has put it away knows. It goes when what is open is on disk again.
void Workbench::tell_unkept() {
    const QString why = unkept();
    if (why == told_unkept_) return;
    told_unkept_ = why;
    if (why.isEmpty()) {
        again_.stop();
        told_closing_ = false;
        return unkept_->hide();
    }
    again_.start();
    unkept_->tell(
        tr("What is open and chosen here isn't kept on disk: %1. Make room there or allow writing, and it is kept again within %2 "
           "seconds; or keep it in a file elsewhere.")
            .arg(why)
            .arg(again_.interval() / 1000),
        tr("Save the workspace…"), [this] { ask_for_workspace(true); });
}

/// After a crash it is said at once; else the start page has it.
void Workbench::offer_last(MainWindow* program) {
    Workspace last;
    if (autosave_.last().isEmpty() || !read_workspace(autosave_.last(), last).isEmpty() || last.programs.isEmpty()) return;
    QStringList names;
    for (const OpenProgram& open : last.programs)
        names << (open.file.isEmpty() ? tr("a pasted jaxpr") : QFileInfo(open.file).completeBaseName());
    const QString what = names.join(QStringLiteral(", "));
    program->start_page()->set_last(what);
    if (autosave_.after_crash())
        program->notice()->tell(tr("jaxscope ended without being closed. Open then: %1.").arg(what), tr("Open again"),
                                [this] { open_last(); });
}

/// What can't be kept while the window goes is told as well, once; a window that is closed again goes without.
bool Workbench::stays_for(const QString& problem) {
    if (problem.isEmpty() || told_closing_) return false;
    told_closing_ = true;
    unkept_->tell(tr("What is open and chosen here can't be kept for the next time: %1. Close again to leave it behind.").arg(problem),
                  tr("Save the workspace\u2026"), [this] { ask_for_workspace(true); });
    return true;
}

void Workbench::closeEvent(QCloseEvent* event) {
    soon_.stop();
    QSettings().setValue("window/geometry", saveGeometry());
    current()->keep_layout();
    const Workspace now = workspace();
    if (stays_for(now.programs.isEmpty() ? QString() : named_.keep_now(workspace_text(now))) || stays_for(autosave_.close(now)))
        return event->ignore();
    QMainWindow::closeEvent(event);
}

}  // namespace jaxscope::app
