// SPDX-License-Identifier: Apache-2.0
// Pages beside the pictures: what differs from another program, or from the program as it is; what XLA's own texts say.
#include <QFileDialog>
#include <QFileInfo>
#include <QSplitter>
#include <QTabWidget>
#include <sstream>

#include "analysis/dumps/dump_report.h"
#include "asking/xla_texts.h"
#include "base/error.h"
#include "io/load_program.h"
#include "main_window.h"
#include "page/page_view.h"
#include "report/compare/diff_report.h"
#include "report/dumps/dump_page.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

namespace {

/// What `write` writes, as HTML.
template <class Write>
QString as_html(Write write) {
    std::ostringstream out;
    Page page(out, {.format = PageStyle::Format::Html});
    write(page);
    return utf8(out.str());
}

}  // namespace

PageView* MainWindow::page(const QString& name) {
    PageView*& view = pages_[name];
    if (view == nullptr) {
        view = new PageView(name);
        page_tabs_[name] = name == tr("Compare") ? with_graphs(view) : view;
        pictures_->addTab(page_tabs_[name], name);
    }
    pictures_->setCurrentWidget(page_tabs_[name]);
    return view;
}

/// Both programs as graphs over the page.
QWidget* MainWindow::with_graphs(PageView* page) {
    side_by_side_ = new SideBySide;
    auto* both = new QSplitter(Qt::Vertical);
    both->setHandleWidth(1);
    both->addWidget(side_by_side_);
    both->addWidget(page);
    both->setSizes({3, 2});
    both->setStretchFactor(0, 3);
    both->setStretchFactor(1, 2);
    side_by_side_->hide();
    return both;
}

void MainWindow::show_compared(const std::shared_ptr<const Compared>& compared) {
    const ComparedSide &a = compared->a, &b = compared->b;
    side_by_side_->setVisible(a.jaxpr && b.jaxpr);
    if (!a.jaxpr || !b.jaxpr) return side_by_side_->clear();
    const auto name = [](const ComparedSide& side) { return QFileInfo(utf8(side.file)).fileName(); };
    side_by_side_->set_sides({name(a), a.jaxpr}, {name(b), b.jaxpr}, compared->diff);
}

/// What was compared isn't what is open any more.
void MainWindow::forget_comparison() {
    PageView* compared = pages_.value(tr("Compare"));
    if (compared == nullptr) return;
    if (making_ == tr("Compare")) making_page_.cancel();
    side_by_side_->clear();
    side_by_side_->hide();
    compared->tell(tr("Another program was opened since. Compare it with Ctrl+D, or with itself as it is with Ctrl+Shift+D."));
}

/// Compares in the background: the page, and the graphs.
void MainWindow::make_comparison(const QString& doing, std::function<std::pair<ComparedSide, ComparedSide>()> sides) {
    auto compared = std::make_shared<Compared>();
    page(tr("Compare"));
    side_by_side_->clear();
    side_by_side_->hide();
    make_page(
        tr("Compare"), doing,
        [compared, sides = std::move(sides)] {
            std::tie(compared->a, compared->b) = sides();
            DiffReport diff = diff_sides(compared->a, compared->b);
            QString html = as_html([&](Page& page) { diff_page(page, diff); });
            compared->diff = std::make_shared<const ProgramDiff>(
                ProgramDiff{std::move(diff.added), std::move(diff.removed), std::move(diff.changed), diff.same_equations});
            return html;
        },
        [this, compared] { show_compared(compared); });
}

/// Made in the background; until then the page says what is being done.
void MainWindow::make_page(const QString& name, const QString& doing, std::function<QString()> make, std::function<void()> then) {
    page(name)->tell(doing);
    making_ = name;
    making_page_.start([this, name, make = std::move(make), then = std::move(then)]() -> std::function<void()> {
        QString html, problem;
        try {
            html = make();
        } catch (const std::exception& e) {
            problem = in_words(e);
        }
        return [this, name, html, problem, then] {
            if (!problem.isEmpty()) return pages_[name]->tell(problem);
            pages_[name]->set_page(html);
            if (then) then();
        };
    });
}

void MainWindow::ask_what_to_compare() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Compare with"), {}, tr("Programs and reports (*.jaxscope *.jaxpr *.json);;All files (*)"));
    if (!file.isEmpty()) compare_with(file);
}

void MainWindow::compare_with(const QString& file) {
    if (!session_.program()) return notice_->tell(tr("Open a program first: it is what others are compared with."));
    make_comparison(tr("Reading %1 and comparing.").arg(file),
                    [program = session_.program(), choices = session_.choices(), a = file_.toStdString(), b = file.toStdString()] {
                        ComparedSide left = compared_side(Inspection(program, choices), a);
                        if (std::optional<ReportSide> report = read_report_side(b))
                            return std::pair(std::move(left), std::move(report->side));
                        Choices other;  // its own, for the same device
                        other.jit.target = choices.jit.target;
                        other.as_step = choices.as_step;
                        return std::pair(std::move(left), compared_side(Inspection(load_program(b), other), b));
                    });
}

void MainWindow::compare_with_as_it_is() {
    if (!session_.program()) return notice_->tell(tr("Open a program first."));
    Choices before = session_.choices();
    before.clear_policies();
    before.donate.reset();
    before.kept_back.clear();
    compare_choices(before, tr("as it is"), session_.choices(), tr("as chosen here"));
}

void MainWindow::compare_choices(const Choices& first, const QString& first_name, const Choices& second, const QString& second_name) {
    make_comparison(tr("Comparing %1 with %2.").arg(first_name, second_name),
                    [program = session_.program(), first, second, a = first_name.toStdString(), b = second_name.toStdString()] {
                        return std::pair(compared_side(Inspection(program, first), a), compared_side(Inspection(program, second), b));
                    });
}

void MainWindow::compare_row() {
    const int row = policy_table_->current_row();
    if (!session_.program() || row < 0)
        return notice_->tell(tr("Select a policy in the table first: the right button selects without applying."));
    const QString policy = policies_->words(row);
    try {
        Choices other = top_->choices_under(policy);
        other.as_step = true;
        compare_choices(other, policy, session_.choices(), tr("%1, as chosen here").arg(top_->applied_policy()));
    } catch (const Error& e) {
        notice_->tell(in_words(e));
    }
}

void MainWindow::ask_for_xla_texts() {
    QStringList files =
        QFileDialog::getOpenFileNames(this, tr("Texts of XLA: dumps of one compilation, an out-of-memory message, a file of jax.export"));
    if (!files.isEmpty()) read_xla(files);
}

void MainWindow::read_xla(const QStringList& paths) {
    std::vector<std::string> files;
    for (const QString& path : paths) files.push_back(path.toStdString());
    make_page(QStringLiteral("XLA"), tr("Reading %1.").arg(paths.join(QStringLiteral(", "))), [files, program = session_.program()] {
        const DumpReport report = dump_report(read_xla_texts(files), program.get());
        return as_html([&](Page& page) {
            dump_page(page, report);
            for (const std::string& note : report.notes) page.paragraph(note);
        });
    });
}

}  // namespace jaxscope::app
