// SPDX-License-Identifier: Apache-2.0
// The menu of help: shortcuts, the tour, what jaxscope is; and the preferences.
#include <QDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QScrollArea>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "main_window.h"
#include "preferences.h"
#include "theme/theme.h"
#include "tour.h"

namespace jaxscope::app {

using namespace views;

namespace {

using Lines = std::vector<std::pair<QString, QString>>;

/// A head, and under it a line for each: keys, what they do.
QWidget* section(const QString& title, const Lines& lines) {
    auto* holder = new QWidget;
    holder->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    auto* grid = new QGridLayout(holder);
    grid->setContentsMargins(0, 0, 0, 14);
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(3);
    grid->setColumnStretch(1, 1);
    auto* head = new QLabel(title);
    head->setFont(head_font());
    grid->addWidget(head, 0, 0, 1, 2);
    int row = 1;
    for (const auto& [keys, text] : lines) {
        auto* key = new QLabel(keys);
        key->setFont(mono_font(11));
        grid->addWidget(key, row, 0);
        grid->addWidget(new QLabel(text), row++, 1);
    }
    return holder;
}

QString without_mnemonic(QString text) { return text.remove(QLatin1Char('&')); }

}  // namespace

void MainWindow::add_help_actions() {
    QMenu* help = add_menu(tr("&Help"));
    add_action(help, tr("Shortcuts"), QKeySequence(Qt::Key_F1), [this] { show_help(); });
    add_action(help, tr("Tour of the window"), QKeySequence(QStringLiteral("Shift+F1")), [this] { take_tour(); });
    add_action(help, tr("About jaxscope"), {}, [this] { show_about(); });
}

/// By menu, in three columns; it scrolls where the screen is small.
void MainWindow::show_help() {
    auto* help = new QDialog(this);
    help->setAttribute(Qt::WA_DeleteOnClose);
    help->setWindowTitle(tr("Shortcuts"));
    auto* body = new QWidget;
    auto* across = new QHBoxLayout(body);
    across->setContentsMargins(24, 20, 24, 10);
    across->setSpacing(40);
    std::vector<std::pair<QString, Lines>> sections;
    std::size_t all = 0;
    for (const QMenu* menu : menus_) {
        Lines lines;
        for (const QAction* action : menu->actions())
            if (!action->shortcut().isEmpty()) lines.emplace_back(action->shortcut().toString(QKeySequence::NativeText), action->text());
        all += lines.size();
        if (!lines.empty()) sections.emplace_back(without_mnemonic(menu->title()), std::move(lines));
    }
    sections.push_back({tr("In the pictures"),
                        {{tr("Double click"), tr("Open or close a group")},
                         {tr("Return"), tr("Open or close the selected group")},
                         {tr("Arrows"), tr("To what makes, reads or stands beside it")},
                         {tr("Ctrl and wheel"), tr("Zoom; in Memory in time")},
                         {tr("Drag the ground"), tr("Pan")}}});
    std::size_t used = 0;
    QVBoxLayout* column = nullptr;
    for (const auto& [title, lines] : sections) {
        if (column == nullptr || used > all * static_cast<std::size_t>(across->count()) / 3) {
            column = new QVBoxLayout;
            across->addLayout(column);
        }
        column->addWidget(section(title, lines));
        used += lines.size();
    }
    for (int c = 0; c < across->count(); ++c) static_cast<QVBoxLayout*>(across->itemAt(c)->layout())->addStretch();
    auto* scroll = new QScrollArea;
    scroll->setWidget(body);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* whole = new QVBoxLayout(help);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(scroll);
    constexpr int kScrollBar = 16;
    help->resize((body->sizeHint() + QSize(kScrollBar, kScrollBar)).boundedTo(window()->size()));
    help->open();
}

void MainWindow::show_about() {
    auto* box = new QMessageBox(QMessageBox::Information, tr("About jaxscope"), tr("jaxscope %1").arg(QStringLiteral(JAXSCOPE_VERSION)),
                                QMessageBox::Ok, this);
    box->setInformativeText(tr("Shows where a JAX program's memory goes, and what other choices would cost.\n\nApache License 2.0. The "
                               "window's letters are Inter "
                               "and JetBrains Mono (SIL Open Font License); Qt %1 and KSyntaxHighlighting (LGPL, MIT) draw it.")
                                .arg(QString::fromUtf8(qVersion())));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

void MainWindow::show_preferences() {
    auto* preferences = new Preferences(this);
    preferences->setAttribute(Qt::WA_DeleteOnClose);
    preferences->open();
}

/// Where nothing is open, of a sample.
void MainWindow::take_tour() {
    if (nothing_open()) open(QStringLiteral("sample:transformer_lm"));
    const auto tab = [this](const char* name) { return [this, name] { show_tab(QString::fromUtf8(name)); }; };
    auto* tour = new Tour(centralWidget());
    tour->add(
        pictures_, tab("program"), tr("The program"),
        tr("What JAX traced, as a graph. A double click opens a group. Pills tell what is saved for the backward pass, and how much of "
           "memory that takes."));
    tour->add(
        pictures_, tab("split"), tr("Forward and backward"),
        tr("At the left what is computed before the gradient, at the right the backward pass. The only lines that cross are the saved "
           "values: they are what costs memory."));
    tour->add(tables_, tab("residuals"), tr("The same as a table"),
              tr("Largest first, with the line of your source. A click selects the value in every picture."));
    tour->add(inspector_, {}, tr("Ask about anything"),
              tr("Whatever is selected is explained here: what it is, whether it is saved and why, what it costs, what you can do."));
    tour->add(top_->policy_box(), {}, tr("Try another policy"),
              tr("Choose a checkpoint policy here, or type one. Everything is computed anew in the background; Ctrl+Z takes it back."));
    tour->add(tables_, tab("policies"), tr("Which policy?"),
              tr("All of them side by side: what each saves, recomputes and needs at the peak. A click applies one; a budget finds the "
                 "cheapest that fits."));
    tour->add(top_->run_button(), {}, tr("Measured, not guessed"),
              tr("Run executes the program here and measures its peak and its time, beside what was planned."));
    tour->begin();
}

}  // namespace jaxscope::app
