// SPDX-License-Identifier: Apache-2.0
// What of the window outlives it: which program is open, with which choices, and what of it is in front.
#include <QAction>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QSettings>
#include <QSplitter>
#include <QTabWidget>

#include "main_window.h"
#include "session/kept_choices.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

namespace {

constexpr qint64 kMostText = 4 << 20;  // of a pasted jaxpr that a workspace keeps

QString front_of(const QTabWidget& tabs) { return tabs.tabText(tabs.currentIndex()).section(' ', 0, 0).toLower(); }

}  // namespace

QString MainWindow::program_name() const {
    if (again_) return again_->file.isEmpty() ? tr("pasted") : QFileInfo(again_->file).completeBaseName();
    return session_.program() ? views::utf8(program_title(*session_.program())) : QString();
}

/// Of what couldn't be opened again all that was kept: the file may come back.
OpenProgram MainWindow::state() const {
    if (again_) return *again_;
    OpenProgram out;
    if (!session_.program()) return out;
    out.file = session_.file();
    if (out.file.startsWith(pasted_.path())) {
        QFile text(out.file);
        if (text.size() <= kMostText && text.open(QIODevice::ReadOnly)) out.text = QString::fromUtf8(text.readAll());
        out.file.clear();
    }
    const std::vector<Choices>& history = session_.history();
    for (std::size_t c = 1; c < history.size(); ++c) out.choices.append(kept_choices(history[c], *session_.program()));
    for (const Choices& undone : session_.undone()) out.undone.append(kept_choices(undone, *session_.program()));
    if (const std::optional<EqnPath>& picked = selection_.picked().program) out.picked = utf8(to_text(*picked));
    if (selection_.picked().group_in == Picked::Where::Program) out.group = utf8(selection_.picked().group);
    if (const auto place = program_->view()->chosen_place()) out.place = {place->zoom, place->middle.x(), place->middle.y()};
    out.picture = front_of(*pictures_);
    out.table = front_of(*tables_);
    out.touched = program_->touched();
    for (const std::string& key : program_->expanded()) out.expanded << utf8(key);
    return out;
}

void MainWindow::open_again(const OpenProgram& kept) {
    again_ = kept;
    file_ = kept.file;
    if (!kept.text.isEmpty()) {
        file_ = pasted_.filePath(QStringLiteral("pasted.jaxpr"));
        QFile text(file_);
        if (!text.open(QIODevice::WriteOnly) || text.write(kept.text.toUtf8()) < 0) return notice_->tell(text.errorString());
    } else if (QFileInfo::exists(file_)) {
        file_ = QFileInfo(file_).absoluteFilePath();
    }
    lost_.clear();
    session_.open(file_, [this, choices = kept.choices](const Program& program, const Choices& plain) {
        std::vector<Choices> history{plain};
        for (const QJsonValue& value : choices)
            if (Choices c = choices_again(value.toObject(), plain, program, lost_); !(c == history.back())) history.push_back(std::move(c));
        return history;
    });
}

/// The program is there: its tabs and groups as they were, and what of its choices couldn't be had.
void MainWindow::show_again() {
    if (!again_) return;
    const OpenProgram kept = *again_;
    again_.reset();
    show_tab(kept.picture);
    show_tab(kept.table);
    if (kept.touched) {
        std::set<std::string> keys;
        for (const QString& key : kept.expanded) keys.insert(key.toStdString());
        program_->expand(std::move(keys));
    }
    if (const QJsonArray& p = kept.place; p.size() == 3)
        program_->view()->start_at(GraphView::Place{p[0].toDouble(), {p[1].toDouble(), p[2].toDouble()}});
    std::vector<Choices> undone;
    for (const QJsonValue& value : kept.undone)
        undone.push_back(choices_again(value.toObject(), session_.history().front(), *session_.program(), lost_));
    session_.set_undone(std::move(undone));
    select_again(kept);
    lost_.removeDuplicates();
    if (!lost_.isEmpty())
        notice_->tell(tr("What was chosen here before isn't in the program any more: %1.").arg(lost_.join(QStringLiteral(", "))));
}

/// What a file names that isn't in the program is not selected.
void MainWindow::select_again(const OpenProgram& kept) {
    Picked picked;
    picked.group = kept.group.toStdString();
    try {
        if (!kept.picked.isEmpty()) {
            picked.program = parse_eqn_path(kept.picked.toStdString());
            resolve(*session_.program()->jaxpr, *picked.program);
        }
    } catch (const Error&) {
        picked.program.reset();
    }
    if (!picked.empty()) selection_.pick(picked);
}

/// Shortcuts are found by the window, whatever of it is hidden.
void MainWindow::set_in_front(bool in_front) {
    for (QAction* action : actions()) action->setEnabled(in_front);
}

/// A high screen has room for more rows of the tables, too, and a low one for the picture, unless somebody said how much.
void MainWindow::share_height() {
    constexpr int kUsual = 290;
    if (down_->property(kMoved).toBool()) return;
    const int all = down_->height(), foot = std::max(all * 3 / 10, std::min(kUsual, all / 2));
    down_->setSizes({all - foot, foot});
}

void MainWindow::restore_state() {
    const QSettings settings;
    if (isWindow() && parentWidget() == nullptr && settings.contains("window/geometry"))
        restoreGeometry(settings.value("window/geometry").toByteArray());
    if (settings.contains("window/across")) across_->restoreState(settings.value("window/across").toByteArray());
    if (settings.contains("window/down")) {
        down_->restoreState(settings.value("window/down").toByteArray());
        down_->setProperty(kMoved, true);
    }
}

void MainWindow::keep_layout() {
    QSettings settings;
    settings.setValue("window/across", across_->saveState());
    if (down_->property(kMoved).toBool()) settings.setValue("window/down", down_->saveState());
}

}  // namespace jaxscope::app
