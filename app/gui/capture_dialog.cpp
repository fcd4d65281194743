// SPDX-License-Identifier: Apache-2.0
#include "capture_dialog.h"

#include <QCheckBox>
#include <QCloseEvent>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>

#include "commands/choice_box.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

CaptureDialog::CaptureDialog(QWidget* parent)
    : QDialog(parent),
      how_(new ChoiceBox),
      name_(new ChoiceBox),
      values_(new ChoiceBox),
      file_(new QLineEdit),
      arguments_(new QLineEdit),
      python_(new QLineEdit),
      output_(new QLineEdit),
      arguments_label_(new QLabel),
      status_(new QLabel),
      watch_(new QCheckBox(tr("Capture again whenever the file is saved"))),
      said_(new QPlainTextEdit),
      start_(new QPushButton(tr("Capture"))),
      close_(new QPushButton(tr("Close"))) {
    setWindowTitle(tr("Capture a Python program"));
    resize(640, 560);
    how_->addItems({tr("a function of the file"), tr("a call while the script runs")});
    name_->setEditable(true);
    values_->addItem(tr("small ones (up to 1 MiB)"), QStringLiteral("small"));
    values_->addItem(tr("all"), QStringLiteral("all"));
    values_->addItem(tr("none"), QStringLiteral("none"));
    python_->setPlaceholderText(tr("an interpreter or a virtual environment; empty: python3"));
    python_->setText(named_python_ = QSettings().value("capture/python").toString());
    said_->setReadOnly(true);
    said_->setFont(mono_font(11));
    said_->setPlaceholderText(tr("What Python prints stands here."));
    said_->setMaximumBlockCount(5000);
    status_->setWordWrap(true);
    start_->setObjectName(QStringLiteral("primary"));
    start_->setDefault(true);
    saved_.setSingleShot(true);
    saved_.setInterval(300);
    lay_out();
    connect(file_, &QLineEdit::editingFinished, this, &CaptureDialog::file_named);
    connect(how_, QOverload<int>::of(&QComboBox::currentIndexChanged), this, &CaptureDialog::show_state);
    connect(start_, &QPushButton::clicked, this, [this] { job_.running() ? job_.cancel() : ask_or_start(); });
    connect(output_, &QLineEdit::textChanged, this, &CaptureDialog::show_state);
    connect(close_, &QPushButton::clicked, this, &QDialog::close);
    connect(&job_, &CaptureJob::printed, this, [this](const QString& text) {
        said_->moveCursor(QTextCursor::End);
        said_->insertPlainText(text);
        said_->ensureCursorVisible();
    });
    connect(&job_, &CaptureJob::ended, this, &CaptureDialog::end);
    connect(&watcher_, &QFileSystemWatcher::fileChanged, &saved_, QOverload<>::of(&QTimer::start));
    connect(&saved_, &QTimer::timeout, this, [this] {
        if (!watching()) return;
        for (const QString& path : watched_)
            if (QFileInfo::exists(path) && !watcher_.files().contains(path)) watcher_.addPath(path);  // replaced by a rename
        job_.running() ? void(missed_ = true) : begin(true);
    });
    show_state();
}

/// A line that loses the focus as its dialog goes away reports to what is half gone.
CaptureDialog::~CaptureDialog() { file_->disconnect(this); }

void CaptureDialog::lay_out() {
    auto* browse = new QPushButton(tr("Browse"));
    connect(browse, &QPushButton::clicked, this, &CaptureDialog::choose_file);
    auto* file_row = new QHBoxLayout;
    file_row->addWidget(file_, 1);
    file_row->addWidget(browse);
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    const auto add = [form](const QString& text, QWidget* field) {
        field->setAccessibleName(text);
        form->addRow(text, field);
    };
    file_->setAccessibleName(tr("Python file"));
    form->addRow(tr("Python file"), file_row);
    add(tr("Capture"), how_);
    add(tr("Function"), name_);
    arguments_->setAccessibleName(tr("Arguments"));
    form->addRow(arguments_label_, arguments_);
    add(tr("Python"), python_);
    add(tr("Keep array values"), values_);
    add(tr("Write to"), output_);
    form->addRow(QString(), watch_);
    said_->setAccessibleName(tr("Output of the capture"));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(status_, 1);
    buttons->addWidget(close_);
    buttons->addWidget(start_);
    auto* column = new QVBoxLayout(this);
    column->addLayout(form);
    column->addWidget(said_, 1);
    column->addLayout(buttons);
}

void CaptureDialog::set_request(const CaptureRequest& request) {
    file_->setText(request.file);
    file_named();
    how_->setCurrentIndex(request.how == CaptureRequest::How::Function ? 0 : 1);
    if (!request.name.isEmpty()) name_->setCurrentText(request.name);
    arguments_->setText(request.arguments);
    if (!request.python.isEmpty()) python_->setText(request.python);
    if (!request.output.isEmpty()) output_->setText(named_output_ = request.output);
    values_->setCurrentIndex(std::max(0, values_->findData(request.values)));
}

CaptureRequest CaptureDialog::request() const {
    CaptureRequest request;
    request.how = how_->currentIndex() == 0 ? CaptureRequest::How::Function : CaptureRequest::How::Script;
    request.file = file_->text().trimmed();
    request.name = name_->currentText().trimmed();
    request.arguments = arguments_->text().trimmed();
    request.python = python_->text().trimmed();
    request.values = values_->currentData().toString();
    request.output = output_->text().trimmed();
    // The script runs in its own folder: what it is told, and what is opened then, is one file.
    if (!request.file.isEmpty()) request.file = QFileInfo(request.file).absoluteFilePath();
    if (!request.output.isEmpty()) request.output = QFileInfo(request.file).dir().filePath(request.output);
    return request;
}

void CaptureDialog::choose_file() {
    const QString file = QFileDialog::getOpenFileName(this, tr("A Python file"), {}, tr("Python (*.py);;All files (*)"));
    if (file.isEmpty()) return;
    file_->setText(file);
    file_named();
}

/// Offers what the file says: its functions, an environment beside it, where the capture may lie.
void CaptureDialog::file_named() {
    const CaptureRequest found = request_for(file_->text().trimmed());
    const QString name = name_->currentText();
    name_->clear();
    name_->addItems(functions_of(found.file));
    if (!name.isEmpty()) name_->setCurrentText(name);
    if (!found.python.isEmpty() && python_->text() == named_python_) python_->setText(named_python_ = found.python);
    if (output_->text() == named_output_) output_->setText(named_output_ = file_->text().isEmpty() ? QString() : found.output);
    show_state();
}

void CaptureDialog::show_state() {
    const bool function = how_->currentIndex() == 0;
    arguments_label_->setText(function ? tr("Arguments") : tr("Command line"));
    arguments_->setPlaceholderText(function ? tr("(jnp.ones((8, 4)),)  \u2013 empty: it returns a mapping with fn and args")
                                            : tr("what you type behind the script: --steps 10"));
    start_->setText(job_.running() ? tr("Cancel") : !asked_.isEmpty() && asked_ == request().output ? tr("Overwrite") : tr("Capture"));
}

/// A file that is there already, and that this dialog didn't write, is overwritten by a second click alone.
void CaptureDialog::ask_or_start() {
    const CaptureRequest asked = request();
    const QString& output = asked.output;
    if (!asked.problem().isEmpty() || asked_ == output || written_.contains(output) || !QFileInfo::exists(output)) return start();
    asked_ = output;
    status_->setText(tr("%1 is there already. Overwrite it, or write to another file?").arg(QFileInfo(output).fileName()));
    show_state();
}

void CaptureDialog::set_watching(bool watching) { watch_->setChecked(watching); }
bool CaptureDialog::watching() const { return watch_->isChecked(); }
QString CaptureDialog::output_text() const { return said_->toPlainText(); }
QString CaptureDialog::status_text() const { return status_->text(); }

void CaptureDialog::start() { begin(false); }

void CaptureDialog::begin(bool again) {
    if (job_.running()) return;
    const CaptureRequest asked = request();
    if (const QString problem = asked.problem(); !problem.isEmpty()) return status_->setText(problem);
    QSettings().setValue("capture/python", asked.python);
    asked_.clear();
    again_ = again;
    missed_ = false;
    said_->clear();
    status_->setText(tr("Capturing\u2026"));
    follow_files();
    job_.start(asked);
    show_state();
}

void CaptureDialog::end(bool captured, const QString& problem) {
    status_->setText(captured ? tr("Captured.") : problem);
    show_state();
    if (captured) {
        written_.insert(request().output);
        Q_EMIT this->captured(request().output, again_);
    } else {
        Q_EMIT failed(problem, again_);
    }
    if (missed_ && watching()) begin(true);
}

/// The script and the modules beside it that it imports: a program is all of them.
void CaptureDialog::follow_files() {
    watched_ = modules_of(request().file);
    if (!watcher_.files().isEmpty()) watcher_.removePaths(watcher_.files());
    watcher_.addPaths(watched_);
}

void CaptureDialog::closeEvent(QCloseEvent* event) {
    if (job_.running() && !again_) job_.cancel();
    QDialog::closeEvent(event);
}

}  // namespace jaxscope::app
