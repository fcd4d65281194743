#pragma once
#include <QLabel>
#include <QSet>
#include <QSettings>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QtTest>
#include <memory>

#include "background/background.h"
#include "graph/graph_layouter.h"
#include "ir/registry.h"
#include "main_window.h"
#include "session/run_apart.h"
#include "theme/theme.h"

namespace jaxscope::views {

const QString kSample = QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/transformer_lm.jaxscope");
const QString kWorker = QStringLiteral(JAXSCOPE_BINARY_DIR "/jaxscope-layout");
const QString kRunner = QStringLiteral(JAXSCOPE_BINARY_DIR "/jaxscope");
constexpr int kAtOnce = 500;       // ms; what waits for no worker
constexpr int kPatience = 60'000;  // ms; sanitizer builds on busy machines are slow

inline bool settled(app::MainWindow& window) {
    return window.session()->current().done && !window.session()->busy() && !window.program_view()->busy() &&
           !window.split_view()->busy() && !window.searching();
}

/// What the inspector says of the selection, which is explained once control is back in the event loop.
inline const Explanation& explained(app::MainWindow& window) {
    QCoreApplication::processEvents();
    return window.inspector()->explanation();
}

/// Another theme, once all that stands there has it.
inline bool takes_theme(app::MainWindow& window, bool dark) {
    window.set_dark(dark);
    const bool taken = QTest::qWaitFor([] { return !theme_changes()->busy(); }, kPatience);
    QTest::qWait(200);  // long texts take their colours some lines at a time
    return taken;
}

/// A window as its user sees it first, with nothing open.
inline std::unique_ptr<app::MainWindow> new_window() {
    auto window = std::make_unique<app::MainWindow>();
    window->resize(1280, 800);
    window->show();
    return window;
}

/// Opens a file in it. False: it wasn't looked at, with all that is done in the background, within kPatience.
inline bool opens(app::MainWindow& window, const QString& file = kSample) {
    window.open(file);
    return QTest::qWaitFor([&] { return window.session()->program() && settled(window); }, kPatience);
}

/// What is wrong with the page of a tab, in front and drawn: empty when it is shown and something stands in it.
inline QString wrong_on_tab(app::MainWindow& window, const char* tab) {
    window.show_tab(QString::fromUtf8(tab));
    for (const QTabWidget* tabs : window.findChildren<QTabWidget*>()) {
        if (!tabs->tabText(tabs->currentIndex()).startsWith(QString::fromUtf8(tab), Qt::CaseInsensitive)) continue;
        const QImage image = tabs->currentWidget()->grab().toImage();
        QSet<QRgb> colours;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x) colours.insert(image.pixel(x, y));
        constexpr int kFewest = 8;  // ground, letters with their smooth edges
        return colours.size() >= kFewest ? QString() : QStringLiteral("%1: %2 colours").arg(QString::fromUtf8(tab)).arg(colours.size());
    }
    return QStringLiteral("%1 isn't in front").arg(QString::fromUtf8(tab));
}

/// Is this text among the labels that are visible?
inline bool says(const QWidget& window, const char* text) {
    for (const QLabel* label : window.findChildren<QLabel*>())
        if (label->isVisible() && label->text().contains(QString::fromUtf8(text))) return true;
    return false;
}

/// How often a text stands in the labels that are visible.
inline int times_said(const QWidget& window, const char* text) {
    int times = 0;
    for (const QLabel* label : window.findChildren<QLabel*>())
        if (label->isVisible()) times += label->text().count(QString::fromUtf8(text));
    return times;
}

/// Takes a picture of the window in each theme, where JAXSCOPE_PICTURES names a folder. False: it doesn't.
inline bool takes_pictures(app::MainWindow& window, const char* name) {
    const QString folder = qEnvironmentVariable("JAXSCOPE_PICTURES");
    if (folder.isEmpty()) return false;
    for (const bool dark : {false, true}) {
        takes_theme(window, dark);
        QTest::qWait(300);  // what follows in a moment (layouts, the words beside the picture) belongs to it
        window.grab().save(QStringLiteral("%1/%2-%3.png").arg(folder, QString::fromUtf8(name), dark ? "dark" : "light"));
    }
    window.set_dark(false);
    return true;
}

/// What a process of window tests needs once: settings of its own, primitives, a theme, the layout worker of the build.
class WindowFixture {
public:
    ~WindowFixture() { BackgroundThread::wait_for_left_behind(); }
    /// False: there is no folder for the settings.
    bool prepare() {
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, kept_.path());
        register_all_primitives();
        set_theme(false);
        GraphLayouter::set_worker(kWorker);
        set_runner(kRunner);
        return kept_.isValid();
    }

private:
    QTemporaryDir kept_;
};

}  // namespace jaxscope::views
