// SPDX-License-Identifier: Apache-2.0
#include "editor.h"

#include <QCoreApplication>
#include <QDesktopServices>
#include <QProcess>
#include <QUrl>

#include "preferences.h"

namespace jaxscope::app {

QString open_in_editor(const QString& file, int line) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("editor", text); };
    const QString named_here = kept_editor();
    QStringList words = QProcess::splitCommand(named_here.isEmpty() ? qEnvironmentVariable("JAXSCOPE_EDITOR") : named_here);
    if (words.isEmpty())
        return QDesktopServices::openUrl(QUrl::fromLocalFile(file))
                   ? QString()
                   : tr("No program is known here that opens %1. The preferences name one, or JAXSCOPE_EDITOR, as in \u201ccode -g "
                        "{file}:{line}\u201d.")
                         .arg(file);
    bool named = false;
    for (QString& word : words) {
        named = named || word.contains(QLatin1String("{file}"));
        word.replace(QLatin1String("{line}"), QString::number(line)).replace(QLatin1String("{file}"), file);
    }
    if (!named) words << file;
    const QString program = words.takeFirst();
    return QProcess::startDetached(program, words) ? QString() : tr("%1, which is named as the editor, can't be started.").arg(program);
}

}  // namespace jaxscope::app
