// Nothing takes long on the window's thread: a tour through the window under a watchdog.
#include <QLineEdit>
#include <QTableView>
#include <QtTest>

#include <ctime>

#include "background/watchdog.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

/// How often a widget was painted.
struct PaintCounter : QObject {
    int times = 0;
    bool eventFilter(QObject*, QEvent* event) override {
        times += event->type() == QEvent::Paint ? 1 : 0;
        return false;
    }
};

class WatchdogTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }

    /// A neighbour on the same core makes an event half as long again: what is long counts if it is so in each of three tours.
    void the_tour_has_no_long_event() {
        QString seen;
        for (int tour = 0; tour < 3; ++tour) {
            take_the_tour(seen);
            if (QTest::currentTestFailed() || seen.isEmpty()) return;
        }
        QFAIL(qPrintable(seen));
    }

    /// Whatever was opened stands in the other colours at once: no widget is styled for another one's sake.
    void another_theme_takes_no_long_event() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(window.session()->program() && settled(window), kPatience);
        for (const char* tab : {"split", "memory", "donated", "source", "jaxpr", "transforms", "sharding", "policies", "program"}) {
            window.show_tab(QString::fromUtf8(tab));
            QTest::qWait(100);
        }
        QString seen;
        PaintCounter painted;
        window.program_view()->view()->viewport()->installEventFilter(&painted);
        for (int turn = 0; turn < 3; ++turn) {
            dog().forget();
            for (const bool dark : {true, false}) {
                painted.times = 0;
                QTimer::singleShot(0, &window, [&window, dark] { window.set_dark(dark); });
                QTRY_COMPARE_WITH_TIMEOUT(theme().dark(), dark, kAtOnce);
                QTRY_VERIFY_WITH_TIMEOUT(!theme_changes()->busy(), kPatience);
                QTRY_VERIFY_WITH_TIMEOUT(painted.times > 0, kPatience);  // it stood still until then
                QTest::qWait(200);                                       // texts take their colours line by line
            }
            seen = long_events();
            if (seen.isEmpty()) return;
        }
        QFAIL(qPrintable(seen));
    }

    /// Chosen again before the first choice is carried through: the last one holds, and everything is painted.
    void a_theme_may_be_chosen_while_another_is_carried_through() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        for (int waits = 0; waits < 6; ++waits) {
            window.set_dark(true);
            for (int k = 0; k < waits; ++k) QCoreApplication::processEvents();
            window.set_dark(false);
            QTRY_VERIFY_WITH_TIMEOUT(!theme_changes()->busy(), kPatience);
            QVERIFY(window.updatesEnabled() && window.outline()->updatesEnabled() && window.inspector()->updatesEnabled());
            QCOMPARE(window.grab().toImage().pixelColor(5, 300), theme()(theme().palette().panel));
        }
    }

    void the_watchdog_barks() {
        dog().forget();
        QTimer::singleShot(0, this, [] {
            // Of the processor's time, which is what the dog counts.
            const std::clock_t begin = std::clock();
            while (std::clock() - begin < 4 * CLOCKS_PER_SEC / 10) {
            }
        });
        QTest::qWait(600);
        QVERIFY(!dog().long_events().empty());
    }

private:
    /// Through the window once: events of more than 50 ms.
    void take_the_tour(QString& seen) {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        QTest::qWait(300);  // the first paint of a process loads fonts
        dog().forget();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(window.session()->program() && settled(window), kPatience);
        for (const char* tab : {"split", "memory", "donation", "buffers", "residuals", "program"}) {
            window.show_tab(QString::fromUtf8(tab));
            QTest::qWait(30);
        }
        for (int row = 0; row < 78; row += 7) {
            window.residual_table()->table()->selectRow(row);
            QTest::qWait(10);
        }
        ProgramView* view = window.program_view();
        view->collapse_all();
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        for (int turn = 0; turn < 6; ++turn) {
            for (const auto& node : view->graph().nodes)
                if (node.expandable && !node.expanded) {
                    view->set_expanded(node.key, true);
                    break;
                }
            QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        }
        window.top_bar()->search()->setText("dot_general");
        for (int k = 0; k < 4; ++k) {
            Q_EMIT window.top_bar()->search()->returnPressed();
            QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        }
        window.top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        window.session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        seen = long_events();
    }

    static QString long_events() {
        QString all;
        for (const LongEvent& event : dog().long_events())
            all += QStringLiteral("%1: %2 ms\n").arg(event.what).arg(event.seconds * 1e3, 0, 'f', 0);
        qInfo("longest: %s, %.0f ms", qPrintable(dog().longest().what), dog().longest().seconds * 1e3);
        return all;
    }

    static WatchedApplication& dog() { return *static_cast<WatchedApplication*>(QCoreApplication::instance()); }
    WindowFixture fixture_;
};

JAXSCOPE_WINDOW_TESTS_IN(WatchdogTest, WatchedApplication)
#include "watchdog_test.moc"
