// SPDX-License-Identifier: Apache-2.0
// Pages beside the pictures: what differs from another program, or from the program as it is; what XLA's own texts say.
#include <QFileDialog>
#include <QFileInfo>
#include <QTabWidget>
#include <sstream>

#include "analysis/dumps/dump_report.h"
#include "asking/xla_texts.h"
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
        pictures_->addTab(view, name);
    }
    pictures_->setCurrentWidget(view);
    return view;
}

/// Made in the background; until then the page says what is being done.
void MainWindow::make_page(const QString& name, const QString& doing, std::function<QString()> make) {
    page(name)->tell(doing);
    making_page_.start([this, name, make = std::move(make)]() -> std::function<void()> {
        QString html, problem;
        try {
            html = make();
        } catch (const std::exception& e) {
            problem = in_words(e);
        }
        return [this, name, html, problem] { problem.isEmpty() ? pages_[name]->set_page(html) : pages_[name]->tell(problem); };
    });
}

void MainWindow::ask_what_to_compare() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Compare with"), {}, tr("Programs and reports (*.jaxscope *.jaxpr *.json);;All files (*)"));
    if (!file.isEmpty()) compare_with(file);
}

void MainWindow::compare_with(const QString& file) {
    if (!session_.program()) return notice_->tell(tr("Open a program first: it is what others are compared with."));
    make_page(tr("Compare"), tr("Reading %1 and comparing.").arg(file),
              [program = session_.program(), choices = session_.choices(), a = file_.toStdString(), b = file.toStdString()] {
                  const ComparedSide left = compared_side(Inspection(program, choices), a);
                  ComparedSide right;
                  if (std::optional<ReportSide> report = read_report_side(b)) {
                      right = std::move(report->side);
                  } else {
                      Choices other;  // its own, for the same device
                      other.jit.target = choices.jit.target;
                      right = compared_side(Inspection(load_program(b), other), b);
                  }
                  return as_html([&](Page& page) { diff_page(page, diff_sides(left, right)); });
              });
}

void MainWindow::compare_with_as_it_is() {
    if (!session_.program()) return notice_->tell(tr("Open a program first."));
    make_page(tr("Compare"), tr("Comparing with the program as it is."), [program = session_.program(), choices = session_.choices()] {
        Choices before;
        before.region = choices.region;
        before.wrt = choices.wrt;
        before.wrt_all = choices.wrt_all;
        before.jit.target = choices.jit.target;
        const ComparedSide left = compared_side(Inspection(program, before), tr("as it is").toStdString());
        const ComparedSide right = compared_side(Inspection(program, choices), tr("as chosen here").toStdString());
        return as_html([&](Page& page) { diff_page(page, diff_sides(left, right)); });
    });
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
