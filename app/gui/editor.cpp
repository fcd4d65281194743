// SPDX-License-Identifier: Apache-2.0
#include "editor.h"

#include <QCoreApplication>
#include <QDesktopServices>
#include <QProcess>
#include <QUrl>

namespace jaxscope::app {

QString open_in_editor(const QString& file, int line) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("editor", text); };
    QStringList words = QProcess::splitCommand(qEnvironmentVariable("JAXSCOPE_EDITOR"));
    if (words.isEmpty())
        return QDesktopServices::openUrl(QUrl::fromLocalFile(file))
                   ? QString()
                   : tr("No program is known here that opens %1. JAXSCOPE_EDITOR names one, as in \u201ccode -g {file}:{line}\u201d.")
                         .arg(file);
    bool named = false;
    for (QString& word : words) {
        named = named || word.contains(QLatin1String("{file}"));
        word.replace(QLatin1String("{line}"), QString::number(line)).replace(QLatin1String("{file}"), file);
    }
    if (!named) words << file;
    const QString program = words.takeFirst();
    return QProcess::startDetached(program, words) ? QString() : tr("%1, which JAXSCOPE_EDITOR names, can't be started.").arg(program);
}

}  // namespace jaxscope::app
