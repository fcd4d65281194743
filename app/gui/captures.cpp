// SPDX-License-Identifier: Apache-2.0
// Captures that the window makes: opened when they are there, and told of when they were made anew.
#include <QFileInfo>

#include "base/units.h"
#include "capture_dialog.h"
#include "main_window.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

void MainWindow::build_capture() {
    capture_ = new CaptureDialog(this);
    connect(capture_, &CaptureDialog::captured, this, [this](const QString& file, bool again) {
        const Look& look = session_.current();
        const bool same = session_.program() && file == opened_;
        before_.reset();
        if (again && same && look.residuals && look.plan) before_ = Figures{look.residuals->total_bytes, look.plan->planned_peak};
        changed_.stop();  // it is this capture that the watcher saw
        file_ = file;
        same ? session_.reload(file) : session_.open(file);
        if (!again) capture_->hide();
    });
    connect(capture_, &CaptureDialog::failed, this, [this](const QString& problem, bool again) {
        if (again) notice_->tell(tr("The file was saved, but not captured: %1").arg(problem), tr("Show why"), [this] { capture_->show(); });
    });
    connect(&session_, &Session::updated, this, &MainWindow::tell_what_changed);
}

void MainWindow::capture(const QString& target, bool watch) {
    if (capture_ == nullptr) build_capture();
    if (!target.isEmpty()) capture_->set_request(request_for(target));
    if (watch) capture_->set_watching(true);
    capture_->show();
    capture_->raise();
    if (!target.isEmpty()) capture_->start();
}

bool MainWindow::asks_to_capture(const QString& file) {
    const CaptureRequest request = request_for(file);
    if (!request.file.endsWith(QLatin1String(".py")) || !QFileInfo::exists(request.file)) return false;
    if (capture_ == nullptr) build_capture();
    capture_->set_request(request);
    QTimer::singleShot(0, capture_, [this] {  // over a window that is only about to be shown
        capture_->show();
        capture_->raise();
        capture_->activateWindow();
    });
    return true;
}

/// Once everything is known of what was captured again.
void MainWindow::tell_what_changed() {
    const Look& look = session_.current();
    if (!before_ || !look.done || !look.residuals || !look.plan) return;
    const Figures was = *before_, now{look.residuals->total_bytes, look.plan->planned_peak};
    before_.reset();
    const auto change = [](std::int64_t from, std::int64_t to) {
        return utf8(from == to ? bytes_text(to) + ", as before" : bytes_text(from) + " \u2192 " + bytes_text(to));
    };
    notice_->tell(tr("Captured again. Saved: %1. Peak: %2.").arg(change(was.saved, now.saved), change(was.peak, now.peak)));
}

}  // namespace jaxscope::app
