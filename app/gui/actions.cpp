// SPDX-License-Identifier: Apache-2.0
// The menu bar: every action of the window, with its shortcut.
#include <QAction>
#include <QClipboard>
#include <QDialog>
#include <QFileDialog>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QTabWidget>

#include "main_window.h"
#include "picture_export.h"
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
    QMenu* run = menuBar()->addMenu(tr("&Run"));
    add_action(run, tr("Run or stop"), QKeySequence(QStringLiteral("Ctrl+R")),
               [this] { session_.running() ? session_.stop_run() : session_.run(); });
    run->addSeparator();
    add_action(run, tr("Ask XLA about the policies (TPU v5p, which needn't be there)"), {}, [this] { ask_xla(QStringLiteral("tpu:v5p")); });
    add_action(run, tr("Ask XLA about the policies (this machine's CPU)"), {}, [this] { ask_xla(QStringLiteral("cpu")); });
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    add_action(help, tr("Shortcuts"), QKeySequence(Qt::Key_F1), [this] { show_help(); });
    add_action(help, tr("About jaxscope"), {}, [this] { show_about(); });
}

void MainWindow::add_file_actions() {
    QMenu* file = menuBar()->addMenu(tr("&File"));
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
    file->addSeparator();
    add_action(file, tr("Export the picture"), QKeySequence(QStringLiteral("Ctrl+E")), [this] { ask_for_export(); });
    add_action(file, tr("Copy the picture"), QKeySequence(QStringLiteral("Ctrl+Shift+C")), [this] { copy_picture(); });
    file->addSeparator();
    add_action(file, tr("Quit"), QKeySequence::Quit, [this] { close(); });
}

void MainWindow::add_edit_actions() {
    QMenu* edit = menuBar()->addMenu(tr("&Edit"));
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
    add_action(edit, tr("Select nothing"), QKeySequence(Qt::Key_Escape), [this] { selection_.clear(); });
}

/// What is selected, saved or not by the user's own word; in the menus of the pictures and of the residuals, too.
void MainWindow::add_mark_actions(QMenu* edit) {
    const auto mark = [&](const QString& text, const char* keys, HandVerdict verdict) {
        QAction* action = add_action(edit, text, QKeySequence(QString::fromLatin1(keys)),
                                     [this, verdict] { session_.mark(selection_.picked(), verdict); });
        for (QWidget* where : std::initializer_list<QWidget*>{residual_table_->table(), split_->view(), program_->view()}) {
            where->addAction(action);
            where->setContextMenuPolicy(Qt::ActionsContextMenu);
        }
    };
    mark(tr("Save it (by hand)"), "Alt+Shift+S", HandVerdict::Save);
    mark(tr("Recompute it (by hand)"), "Alt+Shift+R", HandVerdict::Recompute);
    mark(tr("Offload it (by hand)"), "Alt+Shift+O", HandVerdict::Offload);
    add_action(edit, tr("Copy the Python of what was marked"), QKeySequence(QStringLiteral("Alt+Shift+C")), [this] { copy_marks(); });
}

/// The figures stand everywhere else; here is what to write.
void MainWindow::copy_marks() {
    const auto inspection = session_.current().inspection;
    if (!inspection || !session_.choices().by_hand)
        return notice_->tell(tr("Nothing was marked by hand: select a value and choose Save it, Recompute it or Offload it."));
    const std::optional<ByHandReport> report = by_hand_report(*inspection);
    QGuiApplication::clipboard()->setText(utf8(report->python));
    notice_->tell(tr("The Python is on the clipboard, made for this program: %1 names, and a checkpoint %2.")
                      .arg(report->saved.size())
                      .arg(utf8(report->where)));
}

void MainWindow::tell_marks() {
    const Choices& choices = session_.choices();
    if (!choices.by_hand) return;
    notice_->tell(tr("Chosen by hand: %n values are saved, all others are computed again.", "", static_cast<int>(choices.by_hand->size())),
                  tr("Copy the Python"), [this] { copy_marks(); });
}

void MainWindow::add_view_actions() {
    QMenu* view = menuBar()->addMenu(tr("&View"));
    add_action(view, tr("Program"), QKeySequence(QStringLiteral("Alt+1")), [this] { show_tab("program"); });
    add_action(view, tr("Split"), QKeySequence(QStringLiteral("Alt+2")), [this] { show_tab("split"); });
    add_action(view, tr("Memory"), QKeySequence(QStringLiteral("Alt+3")), [this] { show_tab("memory"); });
    add_action(view, tr("Donated"), QKeySequence(QStringLiteral("Alt+4")), [this] { show_tab("donated"); });
    add_action(view, tr("Source"), QKeySequence(QStringLiteral("Alt+5")), [this] { show_tab("source"); });
    add_action(view, tr("Jaxpr"), QKeySequence(QStringLiteral("Alt+7")), [this] { show_tab("jaxpr"); });
    add_action(view, tr("Transforms"), QKeySequence(QStringLiteral("Alt+8")), [this] { show_tab("transforms"); });
    add_action(view, tr("Policies"), QKeySequence(QStringLiteral("Alt+6")), [this] { show_tab("policies"); });
    view->addSeparator();
    const auto picture = [this] { return pictures_->currentWidget() == split_ ? split_->view() : program_->view(); };
    add_action(view, tr("Zoom in"), QKeySequence(QStringLiteral("Ctrl+=")), [picture] { picture()->zoom_by(1.25); });
    add_action(view, tr("Zoom out"), QKeySequence(QStringLiteral("Ctrl+-")), [picture] { picture()->zoom_by(0.8); });
    add_action(view, tr("Fit the picture"), QKeySequence(QStringLiteral("Ctrl+0")), [picture] { picture()->fit(); });
    add_action(view, tr("Collapse all"), QKeySequence(QStringLiteral("Ctrl+L")), [this] { program_->collapse_all(); });
    view->addSeparator();
    add_action(view, tr("Outline"), QKeySequence(QStringLiteral("Ctrl+B")), [this] { outline_->setVisible(!outline_->isVisible()); });
    add_action(view, tr("Inspector"), QKeySequence(QStringLiteral("Ctrl+I")), [this] { inspector_->setVisible(!inspector_->isVisible()); });
    add_action(view, tr("Dark or light"), QKeySequence(QStringLiteral("Ctrl+T")), [this] { set_dark(!theme().dark()); });
}

void MainWindow::fill_recent(QMenu* menu) {
    menu->clear();
    for (const QString& file : recent_files()) menu->addAction(file, this, [this, file] { open(file); });
    if (menu->isEmpty()) menu->addAction(tr("No file was opened yet"))->setEnabled(false);
}

void MainWindow::ask_for_file() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Open a capture"), {}, tr("Programs (*.jaxscope *.jaxpr *.txt);;All files (*)"));
    if (!file.isEmpty()) open(file);
}

void MainWindow::paste_program() {
    const QByteArray text = QGuiApplication::clipboard()->text().toUtf8();
    if (text.trimmed().isEmpty())
        return notice_->tell(tr("There is no text on the clipboard. Copy what print(jax.make_jaxpr(f)(x)) wrote."));
    QFile file(pasted_.filePath(QStringLiteral("pasted.jaxpr")));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) return notice_->tell(file.errorString());
    file.close();
    open(file.fileName());
}

void MainWindow::ask_for_export() {
    const QString file =
        QFileDialog::getSaveFileName(this, tr("Export the picture"), QStringLiteral("jaxscope.png"), tr("Pictures (*.png *.svg *.pdf)"));
    if (!file.isEmpty()) export_picture(file);
}

bool MainWindow::export_picture(const QString& file) {
    const QString problem = write_picture(picture_of(*pictures_->currentWidget()), file);
    notice_->tell(problem.isEmpty() ? tr("The picture is in %1.").arg(file) : problem);
    return problem.isEmpty();
}

void MainWindow::copy_picture() {
    QGuiApplication::clipboard()->setImage(as_image(picture_of(*pictures_->currentWidget())));
    notice_->tell(tr("The picture is on the clipboard."));
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
    for (const QAction* action : actions())
        if (!action->shortcut().isEmpty()) line(action->shortcut().toString(QKeySequence::NativeText), action->text());
    line(tr("Double click"), tr("Open or close a group"));
    line(tr("Ctrl and wheel"), tr("Zoom"));
    line(tr("Drag the ground"), tr("Pan"));
    help->open();
}

void MainWindow::show_about() {
    auto* box =
        new QMessageBox(QMessageBox::Information, tr("About jaxscope"),
                        tr("jaxscope shows where a JAX program's memory goes, and what other choices would cost."), QMessageBox::Ok, this);
    box->setInformativeText(tr("Apache License 2.0. The window's letters are Inter and JetBrains Mono (SIL Open Font License)."));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

}  // namespace jaxscope::app
