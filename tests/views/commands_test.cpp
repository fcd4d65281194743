// What the window does with files that change or are broken, with odd programs, with search, and when it is closed during a run.
#include <QLineEdit>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>

#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

QString write_program(const QTemporaryDir& folder, const char* name, const char* text) {
    QFile file(folder.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write(text);
    return file.fileName();
}

/// Runs for minutes unless it is cancelled.
constexpr const char* kEndless = R"({ lambda ; a:f32[8]. let
    b:i32[] c:f32[8] = while[
      body_jaxpr={ lambda ; d:i32[] e:f32[8]. let
          f:i32[] = add d 1:i32[]
          g:f32[8] = sin e
        in (f, g) }
      body_nconsts=0
      cond_jaxpr={ lambda ; h:i32[] i:f32[8]. let
          j:bool[] = lt h 2000000000:i32[]
        in (j,) }
      cond_nconsts=0
    ] 0:i32[] a
  in (c,) }
)";

}  // namespace

class CommandsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }

    void closing_during_a_run_ends_it() {
        QTemporaryDir folder;
        const QString file = write_program(folder, "endless.jaxpr", kEndless);
        QElapsedTimer clock;
        {
            MainWindow window;
            window.show();
            window.open(file);
            QTRY_VERIFY_WITH_TIMEOUT(window.session()->program() != nullptr && settled(window), kPatience);
            window.session()->run();
            QTest::qWait(300);
            QVERIFY(window.session()->running());
            clock.start();
        }
        QVERIFY2(clock.elapsed() < kAtOnce, qPrintable(QString::number(clock.elapsed())));
    }

    void search_finds_what_stands_in_nested_jaxprs() {
        QTemporaryDir folder;
        MainWindow window;
        window.show();
        window.open(write_program(folder, "endless.jaxpr", kEndless));
        QTRY_VERIFY_WITH_TIMEOUT(window.session()->program() != nullptr && settled(window), kPatience);
        window.top_bar()->search()->setText("sin");
        Q_EMIT window.top_bar()->search()->returnPressed();
        QTRY_VERIFY_WITH_TIMEOUT(window.selection()->picked().program.has_value(), kPatience);
        QCOMPARE(window.top_bar()->found_text(), QStringLiteral("1 of 1"));
        QCOMPARE(window.selection()->picked().program->jaxpr.steps.size(), std::size_t{1});
        window.top_bar()->search()->setText("cosine");
        Q_EMIT window.top_bar()->search()->returnPressed();
        QTRY_VERIFY_WITH_TIMEOUT(window.notice()->text().contains("cosine"), kPatience);
        QCOMPARE(window.top_bar()->found_text(), QStringLiteral("0 of 0"));
    }

    void a_broken_file_is_told_in_the_window_and_a_changed_one_is_offered_again() {
        QTemporaryDir folder;
        const QString file = write_program(folder, "small.jaxpr", "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }\n");
        MainWindow window;
        window.show();
        window.open(file);
        QTRY_VERIFY_WITH_TIMEOUT(window.session()->program() != nullptr && settled(window), kPatience);
        QCOMPARE(window.recent_files().value(0), file);
        write_program(folder, "small.jaxpr", "{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = cos b in (c,) }\n");
        QTRY_VERIFY_WITH_TIMEOUT(window.notice()->text().contains("changed on disk"), kPatience);
        window.open(file);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window) && window.session()->program()->jaxpr->eqns.size() == 2, kPatience);
        QVERIFY(window.notice()->text().isEmpty());
        window.open(write_program(folder, "broken.jaxpr", "{ lambda ; a:f32[3]. let b:f32[3] = sin"));
        QTRY_VERIFY_WITH_TIMEOUT(window.notice()->text().contains("broken.jaxpr"), kPatience);
        QCOMPARE(window.session()->program()->jaxpr->eqns.size(), std::size_t{2});
    }

    void small_and_odd_programs_open() {
        QTemporaryDir folder;
        const QStringList files{
            write_program(folder, "empty.jaxpr", "{ lambda ; . let  in () }\n"),
            write_program(folder, "passes.jaxpr", "{ lambda ; a:f32[3]. let  in (a,) }\n"),
            write_program(folder, "integers.jaxpr", "{ lambda ; a:i32[3]. let b:i32[3] = add a a in (b,) }\n"),
            write_program(folder, "unknown.jaxpr", "{ lambda ; a:f32[3]. let b:f32[3] = my_own_thing[k=3] a in (b,) }\n"),
        };
        MainWindow window;
        window.show();
        for (const QString& file : files) {
            window.open(file);
            QTRY_VERIFY_WITH_TIMEOUT(!window.session()->busy() && !window.program_view()->busy(), kPatience);
            QVERIFY2(window.session()->program() != nullptr, qPrintable(file));
            for (const char* tab : {"split", "memory", "program", "donation", "buffers"}) QCOMPARE(wrong_on_tab(window, tab), QString());
        }
    }

private:
    WindowFixture fixture_;
};

JAXSCOPE_WINDOW_TESTS(CommandsTest)
#include "commands_test.moc"
