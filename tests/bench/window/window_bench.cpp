// SPDX-License-Identifier: Apache-2.0
// How quick the window is, offscreen: jaxscope_window_bench LARGE.jaxscope [PART...] (jaxscope_bench --write LARGE.jaxscope 100000 makes
// one). PART: expand, pan, what-if, tour; none: all of them. On a busy machine instructions tell more than seconds:
// `perf stat -e instructions:u` of one part, less those of the part `none`.
#include <QElapsedTimer>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>
#include <string>

#include "background/watchdog.h"
#include "views/window_fixture.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

/// Waits until it holds, and says after how many milliseconds that was. As a window does, it sleeps when there is nothing to do: the
/// threads behind it are what is measured, and there may be no other core for them.
template <class Holds>
double wait_for(const Holds& holds) {
    QElapsedTimer clock;
    clock.start();
    QTimer look_again;
    look_again.start(2);
    while (!holds() && clock.elapsed() < kPatience) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    return static_cast<double>(clock.nsecsElapsed()) * 1e-6;
}

void tell(const char* what, double ms, double limit) {
    std::printf("%-58s %8.1f ms  (goal %.0f)%s\n", what, ms, limit, ms > limit ? "  MISSED" : "");
}

/// From opening to the picture that can be seen, painted.
void first_picture(MainWindow& window, const QString& file) {
    bool laid_out = false;
    const auto connection = QObject::connect(window.program_view(), &ProgramView::laid_out, [&] { laid_out = true; });
    QElapsedTimer clock;
    clock.start();
    window.open(file);
    wait_for([&] { return laid_out; });
    window.program_view()->view()->viewport()->grab();
    tell("first picture of a large program", static_cast<double>(clock.nsecsElapsed()) * 1e-6, 1000);
    QObject::disconnect(connection);
    wait_for([&] { return settled(window); });
}

/// Opens groups until so many nodes are to be seen; the largest step of about 200 nodes is told.
void expand(MainWindow& window) {
    ProgramView* view = window.program_view();
    view->collapse_all();
    wait_for([&] { return !view->busy(); });
    double slowest = 0;
    std::size_t most = 0;
    for (int turn = 0; turn < 8; ++turn) {
        std::string key;
        std::int64_t best = 0;
        for (const auto& node : view->graph().nodes)
            if (node.expandable && !node.expanded && node.equations > best) best = node.equations, key = node.key;
        if (key.empty()) break;
        const std::size_t before = view->graph().nodes.size();
        view->set_expanded(key, true);
        const double ms = wait_for([&] { return !view->busy(); });
        const std::size_t more = view->graph().nodes.size() - std::min(before, view->graph().nodes.size());
        slowest = std::max(slowest, ms);
        most = std::max(most, more);
    }
    std::printf("  (at most %zu nodes more in one step)\n", most);
    tell("expanding a group", slowest, 250);
}

double thread_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// A picture of so many items in view, moved a few pixels at a time; the time of a frame painted as on a screen.
void pan(MainWindow& window, std::size_t wanted) {
    ProgramView* view = window.program_view();
    const auto visible = [&] {
        const GraphView* graph = view->view();
        return static_cast<std::size_t>(graph->items(graph->viewport()->rect()).size());
    };
    for (int turn = 0; turn < 30 && view->scene()->items().size() < static_cast<int>(wanted) * 2; ++turn) {
        std::set<std::string> keys = view->expanded();
        const std::size_t before = keys.size();
        for (const auto& node : view->graph().nodes)
            if (node.expandable && keys.size() < before + 10) keys.insert(node.key);
        if (keys.size() == before) break;
        view->expand(std::move(keys));
        wait_for([&] { return !view->busy(); });
    }
    view->view()->fit();
    while (visible() > wanted * 13 / 10) view->view()->zoom_by(1.1);
    std::printf("  (%zu items in view, zoom %.2f)\n", visible(), view->view()->zoom());
    std::vector<double> frames, own;
    QImage screen(view->view()->viewport()->size(), QImage::Format_RGB32);
    for (int frame = 0; frame < 60; ++frame) {
        view->view()->horizontalScrollBar()->setValue(view->view()->horizontalScrollBar()->value() + (frame < 30 ? 7 : -7));
        view->view()->verticalScrollBar()->setValue(view->view()->verticalScrollBar()->value() + (frame < 30 ? 9 : -9));
        QElapsedTimer clock;
        clock.start();
        const double begun = thread_ms();
        view->view()->viewport()->render(&screen);
        own.push_back(thread_ms() - begun);
        frames.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
    }
    for (std::vector<double>* times : {&frames, &own}) std::sort(times->begin(), times->end());
    std::printf("  (%.1f ms of the thread's own time)\n", own[own.size() / 2]);
    tell("a frame while panning, median", frames[frames.size() / 2], 16);
}

void what_if(MainWindow& window) {
    wait_for([&] { return window.session()->program() && settled(window); });
    std::vector<double> times;
    for (const char* policy : {"nothing_saveable", "dots_saveable", "everything_saveable", "dots_with_no_batch_dims_saveable"}) {
        QElapsedTimer clock;
        clock.start();
        window.top_bar()->enter_policy(policy);
        wait_for([&] { return window.session()->shows_choices() && window.session()->current().done; });
        times.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
        wait_for([&] { return settled(window); });
    }
    tell("a policy what-if on the transformer LM, slowest of four", *std::max_element(times.begin(), times.end()), 500);
}

/// What a day's work touches, one after the other.
void tour(MainWindow& window, WatchedApplication& dog) {
    dog.forget();
    for (const char* tab :
         {"split", "memory", "donated", "source", "jaxpr", "transforms", "policies", "donation", "buffers", "residuals", "program"}) {
        window.show_tab(QString::fromUtf8(tab));
        wait_for([&] { return settled(window) && !window.session()->comparing(); });
        window.grab();
    }
    for (int row = 0; row < window.residual_table()->table()->model()->rowCount(); row += 5) {
        window.residual_table()->table()->selectRow(row);
        QCoreApplication::processEvents();
    }
    window.top_bar()->search()->setText("dot_general");
    for (int k = 0; k < 4; ++k) {
        Q_EMIT window.top_bar()->search()->returnPressed();
        wait_for([&] { return settled(window); });
    }
    window.set_dark(true);
    window.set_dark(false);
    window.top_bar()->enter_policy("nothing_saveable");
    wait_for([&] { return settled(window); });
    window.session()->undo();
    wait_for([&] { return settled(window); });
    for (const LongEvent& event : dog.long_events()) std::printf("  %s: %.0f ms\n", qUtf8Printable(event.what), event.seconds * 1e3);
    tell("longest event of the tour, of the thread's own time", dog.longest().seconds * 1e3, 50);
}

}  // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    WatchedApplication application(argc, argv);
    WindowFixture fixture;
    if (argc < 2 || !fixture.prepare()) {
        std::fprintf(stderr, "expected a capture, found no argument\n");
        return 2;
    }
    const std::set<std::string> parts(argv + 2, argv + argc);
    const auto wanted = [&](const char* part) { return parts.empty() || parts.contains(part); };
    {
        const auto window = new_window();
        window->resize(1600, 1000);
        QTest::qWait(300);  // the first paint of a process loads fonts
        first_picture(*window, QString::fromLocal8Bit(argv[1]));
        if (wanted("expand")) expand(*window);
        if (wanted("pan")) pan(*window, 5000);
    }
    if (!wanted("what-if") && !wanted("tour")) return 0;
    const auto window = new_window();
    window->resize(1600, 1000);
    window->open(kSample);
    if (wanted("what-if")) what_if(*window);
    wait_for([&] { return window->session()->program() && settled(*window); });
    if (wanted("tour")) tour(*window, application);
    return 0;
}
