// SPDX-License-Identifier: Apache-2.0
// Find and the palette of commands: what the window's texts lead to.
#include <QLineEdit>

#include "base/units.h"
#include "main_window.h"
#include "picture/find.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

namespace {

constexpr std::size_t kMostFound = 10'000, kMostEntries = 60;

}  // namespace

/// Goes to the next equation, nested ones too, that the searched text means; `step` is -1 for the one before.
void MainWindow::find_next(int step) {
    const ProgramPtr program = session_.program();
    const QString text = top_->search()->text().trimmed();
    if (!program || text.isEmpty()) return top_->show_found({});
    if (text == found_text_) return go_to_found(step);
    search_.start([this, program, text, step]() -> std::function<void()> {
        auto found = std::make_shared<std::vector<EqnPath>>(find_equations(*program->jaxpr, text.toStdString(), kMostFound));
        return [this, found, text, step] {
            found_text_ = text;
            found_ = std::move(*found);
            found_at_ = step > 0 ? -1 : 0;
            go_to_found(step);
        };
    });
}

void MainWindow::go_to_found(int step) {
    if (found_.empty()) {
        top_->show_found(tr("0 of 0"));
        told_found_ = tr("No primitive, name, scope, function or FILE:LINE is called \u201c%1\u201d.").arg(found_text_);
        return notice_->tell(told_found_);
    }
    if (!told_found_.isEmpty() && notice_->text() == told_found_) notice_->hide();
    const int count = static_cast<int>(found_.size());
    found_at_ = (found_at_ + step + count) % count;
    const QString all = utf8(count_text(count)) + (found_.size() == kMostFound ? QStringLiteral("+") : QString());
    top_->show_found(tr("%1 of %2").arg(utf8(count_text(found_at_ + 1)), all));
    reveal_equation(found_[static_cast<std::size_t>(found_at_)]);
}

/// Where it is in the picture that is in front, that stays there.
void MainWindow::reveal_equation(const EqnPath& path) {
    program_->reveal(path);
    const Picked& picked = selection_.picked();
    const QWidget* front = pictures_->currentWidget();
    const bool seen = (front == split_ && (picked.known || picked.unknown)) || front == text_ ||
                      (front == source_ && resolve(*session_.program()->jaxpr, path).source.loc().line > 0);
    if (!seen) show_tab("program");
}

void MainWindow::select_row(const QString& table, const Picked& picked) {
    show_tab(table);
    selection_.pick(picked);
}

std::vector<CommandPalette::Entry> MainWindow::entries_for(const QString& text) {
    std::vector<CommandPalette::Entry> out;
    const auto offer = [&](const QString& kind, const QString& name, const auto& act) {
        if (out.size() < kMostEntries && (text.isEmpty() || name.contains(text, Qt::CaseInsensitive))) out.push_back({kind, name, act});
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
    return out;
}

void MainWindow::find_entries(const QString& text, std::function<void(std::vector<CommandPalette::Entry>)> found) {
    const ProgramPtr program = session_.program();
    if (!program) return;
    struct Hit {
        EqnPath path;
        QString words;
    };
    palette_search_.start([this, program, text, found = std::move(found)]() -> std::function<void()> {
        std::vector<Hit> hits;
        for (const EqnPath& path : find_equations(*program->jaxpr, text.toStdString(), kMostEntries)) {
            const Eqn& eqn = resolve(*program->jaxpr, path);
            hits.push_back({path, utf8(equation_title(eqn) + "  " + eqn.source->summary().str())});
        }
        return [this, hits, found] {
            std::vector<CommandPalette::Entry> entries;
            for (const Hit& hit : hits) entries.push_back({tr("Equation"), hit.words, [this, path = hit.path] { reveal_equation(path); }});
            found(std::move(entries));
        };
    });
}

}  // namespace jaxscope::app
