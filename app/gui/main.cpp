// SPDX-License-Identifier: Apache-2.0
// jaxscope-gui [FILE]: the window. `jaxscope open FILE` starts it.
#include <QApplication>
#include <QCommandLineParser>
#include <QMessageBox>
#include <QSet>
#include <QSettings>
#include <QStyleFactory>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "background/watchdog.h"
#include "ir/registry.h"
#include "main_window.h"
#include "preferences.h"
#include "screenshots.h"
#include "theme/theme.h"
#include "workbench.h"

namespace {

using jaxscope::app::MainWindow;
using jaxscope::app::Workbench;

/// An exception that leaves an event's handler would end the process: it is told once, and the window lives on.
class Application final : public jaxscope::views::WatchedApplication {
public:
    using WatchedApplication::WatchedApplication;
    bool notify(QObject* receiver, QEvent* event) override {
        try {
            const bool done = WatchedApplication::notify(receiver, event);
            tell_long_events();
            return done;
        } catch (const std::exception& e) {
            tell(QString::fromUtf8(e.what()));
            return true;
        }
    }

private:
    /// Debug builds say which event made the window stutter.
    void tell_long_events() {
#ifndef NDEBUG
        for (const auto& event : long_events())
            std::fprintf(stderr, "jaxscope-gui: %s took %.0f ms of the window's thread\n", qUtf8Printable(event.what), event.seconds * 1e3);
        forget();
#endif
    }
    void tell(const QString& what) {
        if (told_.contains(what)) return;  // a widget that can't paint itself is asked to again and again
        told_.insert(what);
        const QString text = QStringLiteral("A bug in jaxscope: %1").arg(what);
        std::fprintf(stderr, "jaxscope-gui: %s\n", qUtf8Printable(text));
        auto* box = new QMessageBox(QMessageBox::Warning, QStringLiteral("jaxscope"), text, QMessageBox::Ok, activeWindow());
        box->setInformativeText(QStringLiteral("Please report it with what you did and the file that is open. The window goes on."));
        box->setAttribute(Qt::WA_DeleteOnClose);
        box->open();
    }
    QSet<QString> told_;
};

bool takes_picture(int argc, char** argv) {
    return std::any_of(argv + 1, argv + argc, [](const char* a) { return std::string_view(a).starts_with("--screenshot"); });
}

/// Without a display Qt aborts the process. Pictures need none; a window does, and says so.
bool has_platform(int argc, char** argv) {
    if (qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY") ||
        qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        return true;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument(argv[i]);
        if (argument == "-platform") return true;
        if (!argument.starts_with("--screenshot") && argument != "--help" && argument != "-h") continue;
        qputenv("QT_QPA_PLATFORM", "offscreen");
        return true;
    }
    return false;
}

int run(int argc, char** argv) {
    if (!has_platform(argc, argv)) {
        std::fprintf(stderr, "jaxscope-gui: expected a display, found neither DISPLAY nor WAYLAND_DISPLAY (--screenshot PNG needs none)\n");
        return 3;
    }
    // Read before there is an application, for which the names of settings are needed now.
    QCoreApplication::setOrganizationName("jaxscope");
    QCoreApplication::setApplicationName("jaxscope");
    constexpr int kAsItIs = 100;
    if (const int scale = jaxscope::app::kept_scale();
        scale != kAsItIs && !takes_picture(argc, argv) && !qEnvironmentVariableIsSet("QT_SCALE_FACTOR"))
        qputenv("QT_SCALE_FACTOR", QByteArray::number(scale / 100.0));
    QApplication::setAttribute(Qt::AA_EnableHighDpiScaling);
    QApplication::setAttribute(Qt::AA_UseHighDpiPixmaps);
    Application application(argc, argv);
    const bool system_dark = jaxscope::app::system_is_dark();
    QApplication::setStyle(QStyleFactory::create("Fusion"));
    jaxscope::register_all_primitives();

    QCommandLineParser arguments;
    arguments.setApplicationDescription("Shows where a JAX program's memory goes.");
    arguments.addHelpOption();
    arguments.addPositionalArgument("FILE", "captures, jaxpr texts or workspaces: a tab for each", "[FILE...]");
    const QCommandLineOption screenshot(
        "screenshot", "Saves a picture of the window and ends; with {tab} and {theme} in its name one of each --tab, in each theme.",
        "PNG");
    const QCommandLineOption tab(
        "tab",
        "program, split, memory, lines, donated, source, jaxpr, transforms or sharding; residuals, donation, buffers or "
        "policies. May be repeated.",
        "NAME");
    const QCommandLineOption size("size", "WIDTHxHEIGHT of the window.", "SIZE");
    const QCommandLineOption dark("theme", "light or dark.", "NAME");
    const QCommandLineOption policy("policy", "Chooses a policy, as the policy box does.", "POLICY");
    const QCommandLineOption select("select", "Selects a row of the residual table before the picture is taken.", "ROW");
    const QCommandLineOption run("run", "Runs the program as soon as it has been looked at.");
    const QCommandLineOption watch("watch", "Captures FILE.py:NAME, opens it, and captures it again whenever the file is saved.", "TARGET");
    arguments.addOptions({screenshot, tab, size, dark, policy, select, run, watch});
    arguments.process(application);

    if (arguments.isSet(screenshot))
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, "/nonexistent");  // no kept state in pictures
    jaxscope::views::set_theme(arguments.isSet(dark) ? arguments.value(dark) == "dark"
                                                     : jaxscope::app::is_dark(jaxscope::app::kept_theme(), system_dark));
    Workbench workbench(!arguments.isSet(screenshot));
    MainWindow& window = *workbench.current();
    if (const QStringList parts = arguments.value(size).split('x'); parts.size() == 2) {
        workbench.setWindowState(Qt::WindowNoState);  // as it was closed it may have been maximised
        workbench.resize(parts[0].toInt(), parts[1].toInt());
    }
    if (!arguments.positionalArguments().isEmpty())
        workbench.open(arguments.positionalArguments());
    else if (!arguments.isSet(watch) && !arguments.isSet(screenshot) && jaxscope::app::opens_last_at_start())
        workbench.open_last();
    if (!arguments.value(screenshot).contains(QLatin1String("{tab}")))
        for (const QString& name : arguments.values(tab)) workbench.current()->show_tab(name);
    if (arguments.isSet(policy)) {
        QObject::connect(window.session(), &jaxscope::views::Session::opened, &window, [&window, text = arguments.value(policy)] {
            window.top_bar()->policy_box()->setEditText(text);
            Q_EMIT window.top_bar()->policy_box()->lineEdit()->returnPressed();
        });
    }
    if (arguments.isSet(run)) {
        QObject::connect(window.session(), &jaxscope::views::Session::updated, &window, [&window] {
            const auto& look = window.session()->current();
            if (look.done && !look.run && !look.problems.contains("run")) window.session()->run();
        });
    }
    workbench.show();
    if (arguments.isSet(watch)) window.capture(arguments.value(watch), true);
    if (arguments.isSet(screenshot))
        new jaxscope::app::Screenshots(window, workbench, arguments.value(screenshot), arguments.values(tab), arguments.value(select));
    return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
    const int code = run(argc, argv);
    // Closing waits for nobody: threads that still compute use the process's tables, which must then not be taken apart.
    if (!jaxscope::views::BackgroundThread::any_left_behind()) return code;
    std::fflush(nullptr);
    std::_Exit(code);
}
