// SPDX-License-Identifier: Apache-2.0
#pragma once
// Captures made from the window. Comes in: what to capture. Goes out: what Python prints as it comes, and the file. Never here: widgets.
#include <QProcess>
#include <QStringList>
#include <memory>

namespace jaxscope::app {

/// What `jaxscope capture` is asked for.
struct CaptureRequest {
    enum class How { Function, Script };
    How how = How::Function;
    QString file;       ///< the Python file
    QString name;       ///< Function: of the function; Script: of the jitted function whose first call is captured
    QString arguments;  ///< Function: a Python expression, or empty where the function returns `fn` and `args`; Script: its command line
    QString python;     ///< an interpreter or a virtual environment's folder; empty: what the command line takes
    QString values = QStringLiteral("small");
    QString output;
    /// Empty, or what is missing.
    QString problem() const;
    /// The command line's words behind `jaxscope`.
    QStringList words() const;
};

/// FILE.py:NAME as the command line takes it, with what can be known of the rest.
CaptureRequest request_for(const QString& target);
/// A virtual environment beside the file or above it: its interpreter; empty: there is none.
QString python_beside(const QString& file);
/// Functions that stand at the left margin of a Python file, in their order, those that take nothing before the others; `program`, which
/// the capture looks for by convention, first.
QStringList functions_of(const QString& file);

/// A Python file and what it imports from its own folder, and what that imports; paths are absolute.
QStringList modules_of(const QString& file);

/// One capture at a time, in a process of its own, which goes with this object.
class CaptureJob : public QObject {
    Q_OBJECT
public:
    explicit CaptureJob(QObject* parent = nullptr);
    ~CaptureJob() override;
    void start(const CaptureRequest& request);
    void cancel();
    bool running() const { return process_ != nullptr; }

Q_SIGNALS:
    void printed(QString text);
    void ended(bool captured, QString last_line);  ///< the line: why it wasn't

private:
    void finish(bool captured);
    struct Process;
    Process* process_ = nullptr;
    QString said_;  ///< on standard error, its end
    bool cancelled_ = false;
};

}  // namespace jaxscope::app
