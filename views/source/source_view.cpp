// SPDX-License-Identifier: Apache-2.0
#include "source/source_view.h"

#include <QComboBox>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "base/units.h"
#include "commands/choice_box.h"
#include "commands/short_texts.h"
#include "picture/find.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

const SourceFile* file_of(const ProgramPtr& program, const std::string& path) {
    if (program)
        for (const SourceFile& file : program->files)
            if (file.path == path) return &file;
    return nullptr;
}

}  // namespace

SourceView::SourceView(Selection* selection, QWidget* parent)
    : QWidget(parent),
      selection_(selection),
      files_(new ChoiceBox),
      total_(new ShortLabel),
      nothing_(new QLabel),
      pages_(new QStackedWidget),
      code_(new CodePane) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* open = new QPushButton(tr("Open in editor"));
    open_ = open;
    files_->setAccessibleName(tr("Source file"));
    files_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    nothing_->setAlignment(Qt::AlignCenter);
    nothing_->setWordWrap(true);
    nothing_->setMargin(40);
    total_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    pages_->addWidget(nothing_);
    pages_->addWidget(code_);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(14, 8, 14, 8);
    bar->setSpacing(10);
    bar->addWidget(files_);
    bar->addWidget(total_, 1);
    bar->addWidget(open);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(bar);
    column->addWidget(pages_, 1);
    connect(files_, QOverload<int>::of(&QComboBox::activated), this,
            [this](int row) { show_file(files_->itemData(row).toString().toStdString()); });
    connect(code_, &CodePane::line_clicked, this, &SourceView::pick);
    connect(open, &QPushButton::clicked, this, [this] { Q_EMIT open_requested(file_here(), std::max(1, code_->marked())); });
    connect(selection_, &Selection::changed, this, &SourceView::follow);
    set_program(nullptr);
}

void SourceView::set_program(ProgramPtr program) {
    program_ = std::move(program);
    look_ = {};
    costs_.clear();
    shown_.clear();
    files_->clear();
    fill_files();
}

void SourceView::set_look(const Look& look) {
    const bool same = look.residuals == look_.residuals && look.plan == look_.plan && look.line_times == look_.line_times;
    look_ = look;
    if (same || !program_) return;
    costs_ = line_costs(*program_, look_.stages());
    fill_files();
    follow(selection_->picked());
}

/// The files that can be shown, most bytes first; the one that is shown stays.
void SourceView::fill_files() {
    const QSignalBlocker quiet(files_);
    files_->clear();
    bool any = false, shown = false;
    for (const FileCosts& costs : costs_) {
        any = true;
        const SourceFile* file = file_of(program_, costs.path);
        if (file == nullptr || !file->text) continue;
        const QString name = QFileInfo(utf8(costs.path)).fileName();
        files_->addItem(costs.saved > 0 ? tr("%1  (%2 saved)").arg(name, utf8(bytes_text(costs.saved))) : name, utf8(costs.path));
        files_->setItemData(files_->count() - 1, utf8(costs.path), Qt::ToolTipRole);
        shown = shown || costs.path == shown_;
    }
    const bool none = files_->count() == 0;
    nothing_->setText(
        !program_ ? tr("The lines of your files, with what each of them holds, stand here once a program is open.")
        : any ? tr("This capture holds no text of your files: it was made with --no-source, or they couldn't be read where it was made. "
                   "Capture it again where they are.")
              : tr("This program names no file of yours: jaxpr text has no lines of Python."));
    pages_->setCurrentWidget(none ? static_cast<QWidget*>(nothing_) : code_);
    for (QWidget* w : {static_cast<QWidget*>(files_), static_cast<QWidget*>(total_), open_}) w->setVisible(!none);
    if (!none) show_file(shown ? shown_ : files_->itemData(0).toString().toStdString());
}

void SourceView::show_file(const std::string& path) {
    const SourceFile* file = file_of(program_, path);
    if (file == nullptr || !file->text) return;
    if (path != shown_) code_->set_text(utf8(path), utf8(*file->text));
    shown_ = path;
    files_->setCurrentIndex(files_->findData(utf8(path)));
    for (const FileCosts& costs : costs_) {
        if (costs.path != path) continue;
        code_->set_costs(costs);
        const bool shared = look_.residuals && look_.residuals->device_bytes;
        total_->setText((shared ? tr("on each device its lines save %1; of what they make, %2 is alive at the peak")
                                : tr("its lines save %1; of what they make, %2 is alive at the peak"))
                            .arg(utf8(bytes_text(costs.saved)), utf8(bytes_text(costs.at_peak))));
    }
    std::map<int, double> seconds;
    if (look_.line_times)
        for (const LineTime& time : *look_.line_times)
            if (time.file == path) seconds[time.line] = time.seconds;
    code_->set_times(std::move(seconds));
    open_->setEnabled(!file_here().isEmpty());
    open_->setToolTip(open_->isEnabled() ? file_here() : tr("%1 isn't on this machine, or not where the capture says").arg(utf8(path)));
}

QString SourceView::file_here() const {
    if (!program_ || shown_.empty()) return {};
    const QFileInfo named(utf8(shown_));
    if (named.isAbsolute()) return named.exists() ? named.absoluteFilePath() : QString();
    // Paths in captures are relative to where they were made; most captures lie there, or beside the script.
    const QDir beside = QFileInfo(utf8(program_->path)).absoluteDir();
    for (const QString& there : {beside.filePath(utf8(shown_)), QDir::current().filePath(utf8(shown_)), beside.filePath(named.fileName())})
        if (QFileInfo::exists(there)) return QFileInfo(there).absoluteFilePath();
    return {};
}

void SourceView::follow(const Picked& picked) {
    if (!program_) return;
    const auto line = own_line(*program_, look_.stages(), picked);
    if (!line) return code_->mark(0);
    const SourceFile* file = file_of(program_, line->first);
    if (file == nullptr || !file->text) return code_->mark(0);
    show_file(line->first);
    code_->mark(line->second);
}

/// What a line holds most of; where it holds nothing, its first equation.
void SourceView::pick(int line) {
    Picked picked;
    for (const FileCosts& costs : costs_)
        if (const LineCost* cost = costs.path == shown_ ? costs.at(line) : nullptr) {
            picked.residual = cost->largest;
            if (!picked.residual) picked.buffer = cost->most;
        }
    if (picked.empty()) picked.program = equation_at_line(*program_->jaxpr, shown_, line);
    if (picked.empty()) {
        selection_->clear();
        return code_->mark(line);
    }
    selection_->pick(picked);
}

}  // namespace jaxscope::views
