// SPDX-License-Identifier: Apache-2.0
#pragma once
// Workspaces: what is open, and what was chosen there. Comes in: what each window knows of itself. Goes out: files that are whole at any
// moment, and what was in them. Never here: widgets.
#include <QJsonArray>
#include <QLockFile>
#include <QString>
#include <QStringList>
#include <QVector>
#include <memory>

#include "kept_file.h"

namespace jaxscope::app {

/// One program that is open: everything that opening its file doesn't bring back by itself.
struct OpenProgram {
    QString file;            ///< as it was opened; empty: `text`, or nothing
    QString text;            ///< of a jaxpr that came from the clipboard
    QJsonArray choices;      ///< oldest first, without the first one, which is as every program is opened (views/session/kept_choices.h)
    QJsonArray undone;       ///< choices that can be done again, the next one last
    QString picture, table;  ///< which are in front
    QString picked;          ///< the selected equation of the program ("12/jaxpr/3"),
    QString group;           ///< or the key of the selected group of its graph
    QJsonArray place;        ///< of its graph in the window: zoom and middle; empty: as it is shown first
    QStringList expanded;    ///< in the graph of the program
    bool touched = false;    ///< the user has opened or closed something there
    bool empty() const { return file.isEmpty() && text.isEmpty(); }
};

struct Workspace {
    QVector<OpenProgram> programs;
    int front = 0;
};

constexpr const char* kWorkspaceEnding = ".jaxscope-workspace";

QByteArray workspace_text(const Workspace& workspace);
/// What is wrong, or empty.
QString read_workspace(const QString& file, Workspace& out);

/// Keeps a workspace on disk while its window is there. A window that goes leaves it as the last one; one that is killed leaves it as well,
/// for the next to find.
class Autosave : public QObject {
    Q_OBJECT
public:
    /// `folder`: for all windows of this user; empty: nothing is kept.
    explicit Autosave(QString folder);
    ~Autosave() override;
    /// Written in the background; the last one counts. Nothing changes where it is what was kept. Where there was no file to write to, one
    /// is looked for again.
    void keep(const Workspace& workspace);
    /// The window goes: written at once, for the next one. What is wrong, and then the window may stay; or empty.
    QString close(const Workspace& workspace);
    /// The file that holds what was open last, or empty.
    QString last() const;
    /// Did the window that left it end without being closed?
    bool after_crash() const { return crashed_; }
    /// This one's own file.
    QString file() const { return own_.name(); }
    /// Why what is open isn't kept; empty: it is.
    QString problem() const { return problem_.isEmpty() ? own_.problem() : problem_; }

Q_SIGNALS:
    void problem_changed();

private:
    void begin();
    QString look_for_file();
    void adopt_left_behind();
    QString last_file() const;
    QString folder_, problem_;
    std::unique_ptr<QLockFile> lock_;
    bool crashed_ = false, closed_ = false;
    KeptFile own_;
};

/// Where Autosave keeps them: beside the settings.
QString workspace_folder();

}  // namespace jaxscope::app
