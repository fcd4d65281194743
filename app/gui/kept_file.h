// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that is kept in step with what the window knows. Comes in: its text, whenever that may have changed. Goes out: a file that is
// whole at any moment, and why there is none. Never here: what is in it, whom that is told.
#include <QByteArray>
#include <QObject>
#include <QString>
#include <atomic>
#include <memory>
#include <mutex>

#include "background/background.h"

namespace jaxscope::app {

/// Replaces the file in one step. What is wrong, or empty.
QString write_whole(const QByteArray& text, const QString& file);

/// Written in the background: nobody waits for a disk. The last text counts. What couldn't be written is written when it is kept again.
class KeptFile : public QObject {
    Q_OBJECT
public:
    explicit KeptFile(QObject* parent = nullptr) : QObject(parent), mailbox_(std::make_shared<views::Mailbox>(this)) {}
    ~KeptFile() override;
    const QString& name() const { return name_; }
    /// Another file from now on; empty: none. `kept`: what is in it.
    void set_name(const QString& file, const QByteArray& kept = {});
    /// Nothing is done where it is what was kept last.
    void keep(const QByteArray& text);
    /// At once; what is still in the background isn't written over it. What is wrong, or empty.
    QString keep_now(const QByteArray& text);
    /// Why the last text isn't in the file; empty: it is, or will be in a moment.
    const QString& problem() const { return problem_; }

Q_SIGNALS:
    void problem_changed();

private:
    void set_problem(const QString& problem);
    struct Writing {
        std::mutex mutex;              ///< of who writes: asking to be kept waits for nobody
        std::atomic<quint64> last{0};  ///< the request that counts
    };
    QString name_, problem_;
    QByteArray kept_;
    std::shared_ptr<Writing> writing_ = std::make_shared<Writing>();
    std::shared_ptr<views::Mailbox> mailbox_;
    views::BackgroundThread writer_;
};

}  // namespace jaxscope::app
