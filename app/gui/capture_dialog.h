// SPDX-License-Identifier: Apache-2.0
#pragma once
// Captures from the window: what is asked of the user, what Python says meanwhile. Comes in: a target to begin with. Goes out: the capture
// that was made. Never here: opening it.
#include <QDialog>
#include <QFileSystemWatcher>
#include <QSet>
#include <QTimer>

#include "capture_job.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace jaxscope::app {

/// Asks which function of which Python file is to be captured, by which interpreter, with which arguments, and captures it; as often as the
/// file is saved where that was ticked. Hidden, it goes on watching.
class CaptureDialog : public QDialog {
    Q_OBJECT
public:
    explicit CaptureDialog(QWidget* parent = nullptr);
    ~CaptureDialog() override;
    void set_request(const CaptureRequest& request);
    CaptureRequest request() const;
    void set_watching(bool watching);
    bool watching() const;
    bool running() const { return job_.running(); }
    void start();
    QString output_text() const;
    QString status_text() const;

Q_SIGNALS:
    void captured(QString file, bool again);  ///< again: because a file was saved
    void failed(QString problem, bool again);

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    void lay_out();
    void choose_file();
    void file_named();
    void show_state();
    void ask_or_start();
    void begin(bool again);
    void follow_files();
    void end(bool captured, const QString& problem);
    CaptureJob job_;
    QFileSystemWatcher watcher_;
    QStringList watched_;
    QString asked_;                        ///< what the next click overwrites
    QSet<QString> written_;                ///< by this dialog
    QTimer saved_;                         ///< editors write in several steps
    bool again_ = false;                   ///< the capture at work is one of a saved file
    bool missed_ = false;                  ///< saved while it was being captured
    QString named_python_, named_output_;  ///< what was put into these lines for the user
    QComboBox *how_, *name_, *values_;
    QLineEdit *file_, *arguments_, *python_, *output_;
    QLabel *arguments_label_, *status_;
    QCheckBox* watch_;
    QPlainTextEdit* said_;
    QPushButton *start_, *close_;
};

}  // namespace jaxscope::app
