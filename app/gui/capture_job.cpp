// SPDX-License-Identifier: Apache-2.0
#include "capture_job.h"

#include <sys/prctl.h>

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QTimer>
#include <csignal>

#include "session/run_apart.h"

namespace jaxscope::app {

namespace {

constexpr qint64 kMostSource = 4 << 20;  ///< of a file that is looked at

/// A capture speaks of the command line's options; who sees the dialog has its boxes.
QString in_words_of_the_dialog(QString text) {
    const std::pair<const char*, QString> boxes[] = {
        {"args", QObject::tr("Arguments")}, {"python", QObject::tr("Python")}, {"values", QObject::tr("Keep array values")}};
    for (const auto& [option, box] : boxes)
        text.replace(QRegularExpression(QStringLiteral("--%1\\b(?!-)").arg(QLatin1String(option))),
                     QStringLiteral("\u201c%1\u201d").arg(box));
    return text;
}

}  // namespace

QString CaptureRequest::problem() const {
    const QFileInfo script(file);
    if (file.isEmpty()) return QObject::tr("Which Python file?");
    if (!script.isFile()) return QObject::tr("%1 is no file.").arg(file);
    if (name.isEmpty())
        return how == How::Function ? QObject::tr("Which function of the file?") : QObject::tr("The call of which function?");
    if (output.isEmpty()) return QObject::tr("Where is the capture to be written?");
    return {};
}

QStringList CaptureRequest::words() const {
    const QFileInfo chosen(python);
    const QString interpreter = chosen.isDir() ? chosen.filePath() + QStringLiteral("/bin/python") : python;
    QStringList words = {QStringLiteral("capture"), QStringLiteral("-o"), output, QStringLiteral("--values"), values};
    if (!interpreter.isEmpty()) words << QStringLiteral("--python") << interpreter;
    if (how == How::Function) {
        if (!arguments.isEmpty()) words << QStringLiteral("--args=") + arguments;
        return words << file + QLatin1Char(':') + name;
    }
    words << QStringLiteral("--call") << name << QStringLiteral("--") << (interpreter.isEmpty() ? QStringLiteral("python3") : interpreter)
          << file;
    return words << QProcess::splitCommand(arguments);
}

CaptureRequest request_for(const QString& target) {
    CaptureRequest request;
    const int colon = target.lastIndexOf(QLatin1Char(':'));
    request.file = QFileInfo(colon < 0 ? target : target.left(colon)).absoluteFilePath();
    request.name = colon < 0 ? QString() : target.mid(colon + 1);
    request.python = python_beside(request.file);
    const QFileInfo file(request.file);
    request.output = file.dir().filePath(file.completeBaseName() + QStringLiteral(".jaxscope"));
    return request;
}

QString python_beside(const QString& file) {
    QDir folder = QFileInfo(file).absoluteDir();
    do {
        for (const char* name : {".venv", "venv"})
            if (QString python = folder.filePath(QLatin1String(name) + QStringLiteral("/bin/python")); QFileInfo(python).isExecutable())
                return python;
    } while (folder.cdUp());
    return {};
}

QStringList functions_of(const QString& file) {
    QFile source(file);
    if (!source.open(QIODevice::ReadOnly)) return {};
    static const QRegularExpression definition(
        QStringLiteral("^(?:def\\s+(\\w+)\\s*\\((\\s*\\))?|(\\w+)\\s*=\\s*(?:jax\\.)?(?:eqx\\.filter_)?jit\\()"),
        QRegularExpression::MultilineOption | QRegularExpression::UseUnicodePropertiesOption);
    QStringList names, alone;  // `alone`: take nothing, as those do that say what to capture
    for (auto it = definition.globalMatch(QString::fromUtf8(source.read(kMostSource))); it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        const QString name = match.captured(1) + match.captured(3);
        if (!names.contains(name) && !alone.contains(name)) (match.captured(2).isEmpty() ? names : alone) << name;
    }
    names = alone + names;
    if (const int at = names.indexOf(QStringLiteral("program")); at > 0) names.move(at, 0);
    return names;
}

QStringList modules_of(const QString& file) {
    static const QRegularExpression imported(
        QStringLiteral("^[ \\t]*(?:from[ \\t]+([\\w.]+)[ \\t]+import[ \\t]+([\\w, \\t]+)|import[ \\t]+([\\w.]+))"),
        QRegularExpression::MultilineOption);
    const QDir root = QFileInfo(file).absoluteDir();
    QStringList found = {QFileInfo(file).absoluteFilePath()};
    constexpr int kMost = 200;
    const auto add = [&](QString module) {
        while (module.startsWith(QLatin1Char('.'))) module.remove(0, 1);
        const QString path = root.filePath(module.replace(QLatin1Char('.'), QLatin1Char('/')));
        for (const QString& candidate : {path + QStringLiteral(".py"), path + QStringLiteral("/__init__.py")})
            if (found.size() < kMost && QFileInfo(candidate).isFile() && !found.contains(candidate)) found << candidate;
    };
    for (int i = 0; i < found.size(); ++i) {
        QFile source(found[i]);
        if (!source.open(QIODevice::ReadOnly)) continue;
        for (auto it = imported.globalMatch(QString::fromUtf8(source.read(kMostSource))); it.hasNext();) {
            const QRegularExpressionMatch match = it.next();
            add(match.captured(1) + match.captured(3));
            for (const QString& name : match.captured(2).split(QLatin1Char(',')))
                add(match.captured(1) + QLatin1Char('.') + name.trimmed());
        }
    }
    return found;
}

/// Ends with the window, however that ends.
struct CaptureJob::Process : QProcess {
    using QProcess::QProcess;

protected:
    void setupChildProcess() override { prctl(PR_SET_PDEATHSIG, SIGTERM); }
};

CaptureJob::CaptureJob(QObject* parent) : QObject(parent) {}

CaptureJob::~CaptureJob() {
    if (process_ == nullptr) return;
    process_->disconnect(this);
    process_->setParent(nullptr);  // it says good-bye by itself; nobody waits for it
    QObject::connect(process_, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), process_, &QObject::deleteLater);
    process_->terminate();
}

void CaptureJob::start(const CaptureRequest& request) {
    if (running()) return;
    said_.clear();
    cancelled_ = false;
    process_ = new Process(this);
    process_->setWorkingDirectory(QFileInfo(request.file).absolutePath());
    const auto read = [this](bool error) {
        const QString text = QString::fromUtf8(error ? process_->readAllStandardError() : process_->readAllStandardOutput());
        constexpr int kTail = 4096;
        if (error) said_ = (said_ + text).right(kTail);
        Q_EMIT printed(text);
    };
    connect(process_, &QProcess::readyReadStandardError, this, [read] { read(true); });
    connect(process_, &QProcess::readyReadStandardOutput, this, [read] { read(false); });
    connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        said_ = tr("jaxscope: %1 can't be started").arg(process_->program());
        finish(false);
    });
    connect(process_, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), this,
            [this](int code, QProcess::ExitStatus status) { finish(status == QProcess::NormalExit && code == 0); });
    process_->start(views::runner(), request.words(), QIODevice::ReadOnly);
}

void CaptureJob::cancel() {
    if (!running()) return;
    cancelled_ = true;
    process_->terminate();
    constexpr int kPatience = 3000;
    QTimer::singleShot(kPatience, process_, &QProcess::kill);
}

void CaptureJob::finish(bool captured) {
    process_->disconnect(this);
    process_->deleteLater();
    process_ = nullptr;
    QString last = said_.trimmed().section(QLatin1Char('\n'), -1);
    for (const QString& line : said_.split(QLatin1Char('\n')))
        if (line.startsWith(QLatin1String("jaxscope: ")) && !line.startsWith(QLatin1String("jaxscope: note"))) last = line.mid(10);
    Q_EMIT ended(captured && !cancelled_, cancelled_ ? tr("The capture was cancelled.")
                                          : captured ? QString()
                                                     : in_words_of_the_dialog(last));
}

}  // namespace jaxscope::app
