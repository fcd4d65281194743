// SPDX-License-Identifier: Apache-2.0
#include "workspace.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSettings>
#include <cmath>
#include <filesystem>

#include "theme/theme.h"

namespace jaxscope::app {
namespace {

constexpr int kVersion = 1;
constexpr qint64 kMostBytes = 64 << 20;
constexpr int kMostPrograms = 64;
const QString kFormat = QStringLiteral("jaxscope-workspace"), kLastName = QStringLiteral("last"), kAutosave = QStringLiteral("autosave-");

QString translated(const char* text) { return QCoreApplication::translate("Workspace", text); }

QStringList strings(const QJsonArray& array) {
    QStringList out;
    for (const QJsonValue& value : array) out << value.toString();
    return out;
}

QJsonObject to_json(const OpenProgram& program) {
    QJsonObject out{{"file", program.file}, {"choices", program.choices}, {"picture", program.picture}, {"table", program.table}};
    if (!program.text.isEmpty()) out["text"] = program.text;
    if (!program.undone.isEmpty()) out["undone"] = program.undone;
    if (!program.picked.isEmpty()) out["picked"] = program.picked;
    if (!program.group.isEmpty()) out["group"] = program.group;
    if (!program.place.isEmpty()) out["place"] = program.place;
    if (program.touched) out["expanded"] = QJsonArray::fromStringList(program.expanded);
    return out;
}

/// What of `object` isn't what a program of a workspace has; empty: nothing.
QString wrong_in(const QJsonObject& object) {
    const std::pair<const char*, QJsonValue::Type> kinds[] = {
        {"file", QJsonValue::String},    {"text", QJsonValue::String},  {"picture", QJsonValue::String}, {"table", QJsonValue::String},
        {"picked", QJsonValue::String},  {"group", QJsonValue::String}, {"choices", QJsonValue::Array},  {"undone", QJsonValue::Array},
        {"expanded", QJsonValue::Array}, {"place", QJsonValue::Array}};
    for (const auto& [name, kind] : kinds)
        if (const QJsonValue value = object[QLatin1String(name)]; !value.isUndefined() && value.type() != kind)
            return QString::fromUtf8(name);
    return {};
}

OpenProgram from_json(const QJsonObject& object) {
    return {object["file"].toString(),    object["text"].toString(),
            object["choices"].toArray(),  object["undone"].toArray(),
            object["picture"].toString(), object["table"].toString(),
            object["picked"].toString(),  object["group"].toString(),
            object["place"].toArray(),    strings(object["expanded"].toArray()),
            object.contains("expanded")};
}

}  // namespace

QByteArray workspace_text(const Workspace& workspace) {
    QJsonArray programs;
    for (const OpenProgram& program : workspace.programs) programs.append(to_json(program));
    const QJsonObject all{{"format", kFormat}, {"version", kVersion}, {"front", workspace.front}, {"programs", programs}};
    return QJsonDocument(all).toJson();
}

QString read_workspace(const QString& file, Workspace& out) {
    QFile in(file);
    if (!in.open(QIODevice::ReadOnly)) return translated("%1 can't be read: %2").arg(file, in.errorString());
    if (in.size() > kMostBytes) return translated("%1: expected a workspace of at most 64 MiB, found %2 bytes").arg(file).arg(in.size());
    QJsonParseError error{};
    const QJsonObject all = QJsonDocument::fromJson(in.readAll(), &error).object();
    if (error.error != QJsonParseError::NoError)
        return translated("%1: expected JSON, found none at byte %2 (%3)").arg(file).arg(error.offset).arg(error.errorString());
    if (all["format"].toString() != kFormat) return translated("%1: expected a workspace of jaxscope, found another file").arg(file);
    if (all["version"].toInt() != kVersion)
        return translated("%1: expected version %2 of workspaces, found %3").arg(file).arg(kVersion).arg(all["version"].toInt());
    if (!all["programs"].isArray()) return translated("%1: expected an array `programs`").arg(file);
    const QJsonArray programs = all["programs"].toArray();
    if (programs.size() > kMostPrograms)
        return translated("%1: expected at most %2 programs, found %3").arg(file).arg(kMostPrograms).arg(programs.size());
    Workspace read;
    for (int p = 0; p < programs.size(); ++p) {
        if (!programs[p].isObject()) return translated("%1: expected an object at programs[%2]").arg(file).arg(p);
        const QJsonObject object = programs[p].toObject();
        if (const QString wrong = wrong_in(object); !wrong.isEmpty())
            return translated("%1: expected another kind of value at programs[%2].%3").arg(file).arg(p).arg(wrong);
        read.programs << from_json(object);
    }
    read.front = std::max(0, std::min(all["front"].toInt(), read.programs.size() - 1));
    out = std::move(read);
    return {};
}

QString workspace_folder() { return QFileInfo(QSettings().fileName()).dir().filePath(QStringLiteral("workspaces")); }

Autosave::Autosave(QString folder) : folder_(std::move(folder)) {
    connect(&own_, &KeptFile::problem_changed, this, &Autosave::problem_changed);
    begin();
}

Autosave::~Autosave() = default;  // whatever wasn't closed stays for the next one: the lock goes

/// A file of its own, where the folder can be written.
void Autosave::begin() {
    if (folder_.isEmpty() || closed_ || !own_.name().isEmpty()) return;
    const QString problem = look_for_file();
    if (problem == problem_) return;
    problem_ = problem;
    Q_EMIT problem_changed();
}

QString Autosave::look_for_file() {
    std::error_code wrong;
    std::filesystem::create_directories(folder_.toStdString(), wrong);
    if (wrong) return translated("expected a folder at '%1', found: %2").arg(folder_, QString::fromStdString(wrong.message()));
    if (!lock_) adopt_left_behind();
    const QString name =
        QStringLiteral("%1%2-%3").arg(kAutosave).arg(QCoreApplication::applicationPid()).arg(QDateTime::currentMSecsSinceEpoch());
    const QString file = QDir(folder_).filePath(name + QLatin1String(kWorkspaceEnding));
    lock_ = std::make_unique<QLockFile>(file + QStringLiteral(".lock"));
    lock_->setStaleLockTime(0);  // by its process alone: a window may stay open for days
    if (lock_->tryLock(0)) {
        own_.set_name(file);
        return {};
    }
    // Qt doesn't say why: the same is asked of the file itself.
    const QString why = write_whole(workspace_text({}), file);
    QFile::remove(file);
    return why.isEmpty() ? translated("expected to write '%1.lock', found that it can't be written").arg(file) : why;
}

/// Files whose window is gone without having closed: the newest is what was open last.
void Autosave::adopt_left_behind() {
    const QDir folder(folder_);
    const QFileInfoList files =
        folder.entryInfoList({kAutosave + QLatin1Char('*') + QLatin1String(kWorkspaceEnding)}, QDir::Files, QDir::Time);
    for (const QFileInfo& file : files) {
        QLockFile lock(file.filePath() + QStringLiteral(".lock"));
        lock.setStaleLockTime(0);
        if (!lock.tryLock(0)) continue;  // its window is there
        const QString to = last_file();
        Workspace left;
        const bool whole = read_workspace(file.filePath(), left).isEmpty() && !left.programs.isEmpty();
        if (whole && !crashed_ && std::rename(QFile::encodeName(file.filePath()).constData(), QFile::encodeName(to).constData()) == 0)
            crashed_ = true;
        else
            QFile::remove(file.filePath());
    }
}

void Autosave::keep(const Workspace& workspace) {
    begin();
    own_.keep(workspace_text(workspace));
}

QString Autosave::close(const Workspace& workspace) {
    if (own_.name().isEmpty() || closed_) return problem_;
    if (!workspace.programs.isEmpty())
        if (QString problem = write_whole(workspace_text(workspace), last_file()); !problem.isEmpty()) return problem;
    closed_ = true;
    const QString file = own_.name();
    own_.set_name({});
    QFile::remove(file);
    lock_.reset();
    return {};
}

QString Autosave::last_file() const { return QDir(folder_).filePath(kLastName + QLatin1String(kWorkspaceEnding)); }

QString Autosave::last() const { return !folder_.isEmpty() && QFileInfo::exists(last_file()) ? last_file() : QString(); }

}  // namespace jaxscope::app
