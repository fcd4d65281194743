// SPDX-License-Identifier: Apache-2.0
#include "kept_file.h"

#include "base/atomic_file.h"
#include "session/session.h"

namespace jaxscope::app {

QString write_whole(const QByteArray& text, const QString& file) {
    try {
        AtomicFile out(file.toStdString());
        out.stream().write(text.constData(), text.size());
        out.commit();
    } catch (const std::exception& e) {
        return views::in_words(e);
    }
    return {};
}

KeptFile::~KeptFile() {
    mailbox_->close();
    const std::lock_guard hold(writing_->mutex);
    ++writing_->last;
}

void KeptFile::set_name(const QString& file, const QByteArray& kept) {
    {
        const std::lock_guard hold(writing_->mutex);  // who takes the old file away then finds it as it stays
        ++writing_->last;
    }
    name_ = file;
    kept_ = kept;
    set_problem({});
}

void KeptFile::keep(const QByteArray& text) {
    if (name_.isEmpty() || text == kept_) return;
    kept_ = text;
    const quint64 request = ++writing_->last;
    writer_.drop();
    writer_.start([this, text, request, file = name_, writing = writing_, mailbox = mailbox_] {
        const std::lock_guard hold(writing->mutex);
        if (request != writing->last) return;
        const QString problem = write_whole(text, file);
        mailbox->post([this, problem, request] {
            if (request == writing_->last) set_problem(problem);
        });
    });
}

QString KeptFile::keep_now(const QByteArray& text) {
    if (name_.isEmpty()) return {};
    ++writing_->last;
    QString problem = [&] {
        const std::lock_guard hold(writing_->mutex);
        return write_whole(text, name_);
    }();
    kept_ = text;
    set_problem(problem);
    return problem;
}

void KeptFile::set_problem(const QString& problem) {
    if (!problem.isEmpty()) kept_.clear();
    if (problem == problem_) return;
    problem_ = problem;
    Q_EMIT problem_changed();
}

}  // namespace jaxscope::app
