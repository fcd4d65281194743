// The window as a user drives it: open, expand, select, ask what if, undo, a bad file, a worker that dies.
#include <QLineEdit>
#include <QListWidget>
#include <QSettings>
#include <QSignalSpy>
#include <QSortFilterProxyModel>
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>

#include <unistd.h>

#include "support/toy_programs.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

Picked residual(const ResidualRow& row) {
    Picked picked;
    picked.residual = row.id;
    return picked;
}

/// What stands for an equation in the program's picture: itself, or the innermost group around it that is shown.
const NodeItem* node_of(const ProgramView& view, const EqnPath& path) {
    const NodeItem* node = nullptr;
    for (const std::string& key : view.model()->keys_around(path))
        if (const auto found = view.graph().by_key.find(key); found != view.graph().by_key.end())
            node = view.scene()->node(0, static_cast<int>(found->second));
    return node;
}

constexpr const char* kEndless =
    "{ lambda ; a:i32[]. let b:i32[] = while[body_jaxpr={ lambda ; c:i32[]. let d:i32[] = mul c 1:i32[] in (d,) } body_nconsts=0 "
    "cond_jaxpr={ lambda ; e:i32[]. let f:bool[] = ge e e in (f,) } cond_nconsts=0] a in (b,) }";

/// The process that runs a program for this one; 0: there is none.
pid_t runner_at_work() {
    for (const QString& entry : QDir(QStringLiteral("/proc")).entryList(QDir::Dirs)) {
        QFile file(QStringLiteral("/proc/%1/stat").arg(entry));
        if (entry.toInt() <= 0 || !file.open(QIODevice::ReadOnly)) continue;
        const QList<QByteArray> fields = file.readAll().split(' ');  // pid (comm) state ppid
        if (fields.size() > 3 && fields[1] == "(jaxscope)" && fields[2] != "Z" && fields[3].toInt() == getpid()) return entry.toInt();
    }
    return 0;
}

}  // namespace

class WindowTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }

    void an_empty_window_says_what_to_do() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        QVERIFY(window.minimumSizeHint().width() <= 1280);
        QVERIFY(says(window, "Open a capture to see where its memory goes."));
    }

    void opens_and_shows_every_stage() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const Look& look = window.session()->current();
        for (auto it = look.problems.begin(); it != look.problems.end(); ++it) QFAIL(qPrintable(it.key() + ": " + it.value()));
        QVERIFY(look.residuals && !look.residuals->rows.empty());
        QVERIFY(look.donation && !look.donation->donated.empty());
        QVERIFY(look.plan && look.plan->planned_peak > 0);
        QVERIFY(!window.program_view()->graph().nodes.empty());
        QVERIFY(!window.split_view()->picture().crossings.empty());
        QVERIFY(window.top_bar()->peak_text().contains("iB"));
        for (const char* tab : {"split", "memory", "program", "residuals", "donation", "buffers"})
            QCOMPARE(wrong_on_tab(window, tab), QString());
    }

    void selecting_anywhere_selects_everywhere() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const ResidualReport& report = *window.session()->current().residuals;
        int row = -1;
        for (std::size_t r = 0; r < report.rows.size() && row < 0; ++r)
            if (!report.rows[r].equation.empty()) row = static_cast<int>(r);
        QVERIFY(row >= 0);
        window.selection()->pick(residual(report.rows[static_cast<std::size_t>(row)]));
        const Picked picked = window.selection()->picked();
        QVERIFY(picked.region.has_value());
        QVERIFY(picked.known.has_value());
        QVERIFY(picked.program.has_value());
        QVERIFY(window.residual_table()->table()->currentIndex().isValid());
        QVERIFY(window.outline()->tree()->currentIndex().isValid());
        QVERIFY(explained(window).saved);
        QVERIFY(!window.inspector()->explanation().sentences.empty());
        // And back from the graph's side.
        Picked from_graph;
        from_graph.known = picked.known;
        window.selection()->clear();
        window.selection()->pick(from_graph);
        QCOMPARE(window.selection()->picked().region, picked.region);
    }

    void layers_of_one_model_are_told_apart() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const ResidualReport& report = *window.session()->current().residuals;
        std::set<std::uint32_t> places;
        std::vector<BufferId> buffers;
        for (std::size_t r = 0; r < report.rows.size(); ++r) {
            if (report.rows[r].name != "mlp_in") continue;
            window.selection()->pick(residual(report.rows[r]));
            const Picked picked = window.selection()->picked();
            QVERIFY(picked.program && picked.known);
            places.insert(picked.program->eqn);
            QVERIFY(picked.buffer.has_value());
            if (std::find(buffers.begin(), buffers.end(), *picked.buffer) == buffers.end()) buffers.push_back(*picked.buffer);
            // From the program's side the same row comes back.
            Picked from_program;
            from_program.program = picked.program;
            window.selection()->clear();
            window.selection()->pick(from_program);
            QVERIFY(window.selection()->picked().residual == report.rows[r].id);
        }
        QCOMPARE(places.size(), std::size_t{6});
        QCOMPARE(buffers.size(), std::size_t{6});
    }

    void a_saved_argument_is_found_in_every_table() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const Look& look = window.session()->current();
        const auto& rows = look.residuals->rows;
        const auto saved = std::find_if(rows.begin(), rows.end(), [](const ResidualRow& r) { return r.input >= 0; });
        QVERIFY(saved != rows.end());
        window.selection()->pick(residual(*saved));
        const Picked picked = window.selection()->picked();
        QVERIFY(picked.program && picked.known);
        QVERIFY(picked.donated >= 0 && picked.buffer);
        const DonatedLeaf& leaf = *find_donated(*look.donation, picked.donated);
        QCOMPARE(leaf.aval, saved->aval);
        // the loss calls it params[...], the step state['params'][...]
        const std::string path = saved->source.substr(saved->source.find('['));
        QVERIFY2(leaf.path.ends_with(path), leaf.path.c_str());
        QCOMPARE(look.stages().find(picked.buffer)->number, leaf.input);
        QVERIFY(window.donation_table()->table()->currentIndex().isValid());
        // And from the donation's side.
        Picked donated;
        donated.donated = picked.donated;
        window.selection()->clear();
        window.selection()->pick(donated);
        QVERIFY(window.selection()->picked().residual == picked.residual);
        QCOMPARE(window.selection()->picked().program, picked.program);
    }

    void runs_and_shows_what_was_measured() {
        MainWindow window;
        window.show();
        window.open(QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp.jaxscope"));
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        QVERIFY(window.top_bar()->run_button()->isEnabled());
        window.top_bar()->run_button()->click();
        QVERIFY(window.session()->running());
        QCOMPARE(window.top_bar()->run_button()->text(), QStringLiteral("Stop"));
        QTRY_VERIFY_WITH_TIMEOUT(!window.session()->running(), kPatience);
        const Look& look = window.session()->current();
        QVERIFY2(look.run != nullptr, qPrintable(look.problems.value("run")));
        QVERIFY(look.run->result.measured_peak > 0);
        QVERIFY(window.top_bar()->measured_text().contains("measured"));
    }

    void a_run_stops_when_asked_and_when_the_window_closes() {
        QElapsedTimer closing;
        {
            MainWindow window;
            window.show();
            window.open(kSample);
            QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
            window.session()->run();
            QTest::qWait(20);
            window.session()->stop_run();
            QVERIFY(!window.session()->running());
            QVERIFY(!window.session()->current().run);
            // What is known stays, and another run begins behind the stopped one.
            QVERIFY(window.session()->current().plan != nullptr);
            window.session()->run();
            QVERIFY(window.session()->running());
            closing.start();
        }  // closes while it compiles or runs
        QVERIFY2(closing.elapsed() < kAtOnce, qPrintable(QString::number(closing.elapsed())));
        // The run goes with its window, and isn't taken for a later test's.
        BackgroundThread::wait_for_left_behind();
        QCOMPARE(runner_at_work(), 0);
    }

    void a_run_that_dies_is_a_message() {
        QTemporaryDir folder;
        QFile file(folder.filePath("endless.jaxpr"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(kEndless);
        file.close();
        MainWindow window;
        window.show();
        QVERIFY(opens(window, file.fileName()));
        window.session()->run();
        QVERIFY(window.session()->running());
        pid_t child = 0;
        QTRY_VERIFY_WITH_TIMEOUT((child = runner_at_work()) != 0, kPatience);
        QTRY_VERIFY_WITH_TIMEOUT(window.top_bar()->busy_text().endsWith(" s"), kPatience);  // for how long
        QVERIFY2(window.top_bar()->busy_text().startsWith("Running"), qPrintable(window.top_bar()->busy_text()));
        QVERIFY(::kill(child, SIGKILL) == 0);
        QTRY_VERIFY_WITH_TIMEOUT(!window.session()->running(), kPatience);
        QVERIFY(window.top_bar()->busy_text().isEmpty());
        const QString said = window.notice()->text();
        QVERIFY2(
            said.startsWith("The run has no result: ") && said.contains("killed the process (SIGKILL)") && said.contains("its plan needs"),
            qPrintable(said));
        // In whole, in as many lines as it needs.
        const auto* label = window.notice()->findChild<QLabel*>();
        QVERIFY(label->height() >= label->heightForWidth(label->width()));
        QVERIFY(window.session()->current().plan != nullptr);
        // Closed while another one runs: that one goes, too.
        window.session()->run();
        QTRY_VERIFY_WITH_TIMEOUT((child = runner_at_work()) != 0, kPatience);
        window.session()->stop_run();
        QTRY_VERIFY_WITH_TIMEOUT(runner_at_work() == 0, kPatience);
    }

    void the_palette_finds_and_does() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const auto first = [&](const char* text) {
            const auto found = window.entries_for(QString::fromUtf8(text));
            return found.empty() ? app::CommandPalette::Entry{} : found.front();
        };
        QVERIFY(window.entries_for("no such thing anywhere").empty());
        first("named 'attn_out'").act();
        QVERIFY(window.selection()->picked().residual.has_value());
        first("state['mu']['embedding']").act();
        QVERIFY(window.selection()->picked().donated >= 0);
        QVERIFY(window.selection()->picked().program.has_value());
        first("inside: nothing_saveable").act();
        QTRY_VERIFY_WITH_TIMEOUT(settled(window) && !window.session()->choices().replace_policy.empty(), kPatience);
        // Typed and entered.
        app::CommandPalette palette([&](const QString& text) { return window.entries_for(text); },
                                    [&](const QString& text, auto found) { window.find_entries(text, std::move(found)); }, &window);
        palette.setAttribute(Qt::WA_DeleteOnClose, false);
        palette.show();
        QTest::keyClicks(palette.line(), "undo choice");
        QCOMPARE(palette.list()->count(), 1);
        QTest::keyClick(palette.line(), Qt::Key_Return);
        QVERIFY(window.session()->choices().replace_policy.empty());
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
    }

    void the_smallest_programs_open() {
        QTemporaryDir folder;
        for (const char* text :
             {"{ lambda ; . let  in () }", "{ lambda ; a:f32[]. let  in (a,) }", "{ lambda ; . let  in (1.0:f32[],) }",
              "{ lambda ; a:f32[0]. let b:f32[0] = sin a in (b,) }", "{ lambda ; a:f32[3]. let b:f32[3] = mystery[x=1] a in (b,) }"}) {
            const QString file = folder.filePath("p.jaxpr");
            QFile out(file);
            QVERIFY(out.open(QIODevice::WriteOnly));
            out.write(text);
            out.close();
            MainWindow window;
            window.show();
            window.open(file);
            QTRY_VERIFY_WITH_TIMEOUT(window.session()->program() && settled(window), kPatience);
            for (const char* tab : {"split", "memory", "program"}) QCOMPARE(wrong_on_tab(window, tab), QString());
        }
    }

    void groups_open_and_close() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        ProgramView* view = window.program_view();
        view->collapse_all();
        QTRY_VERIFY_WITH_TIMEOUT(!view->busy(), kPatience);
        const std::size_t before = view->graph().nodes.size();
        const auto& nodes = view->graph().nodes;
        const auto group = std::find_if(nodes.begin(), nodes.end(), [](const auto& n) { return n.expandable; });
        QVERIFY(group != nodes.end());
        const std::string key = group->key;
        view->set_expanded(key, true);
        QTRY_VERIFY_WITH_TIMEOUT(!view->busy(), kPatience);
        QVERIFY(view->graph().nodes.size() > before);
        QVERIFY(view->graph().nodes[view->graph().by_key.at(key)].expanded);
        view->set_expanded(key, false);
        QTRY_VERIFY_WITH_TIMEOUT(!view->busy(), kPatience);
        QCOMPARE(view->graph().nodes.size(), before);
    }

    void a_policy_inspects_again_and_is_undone() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const std::int64_t before = window.session()->current().residuals->total_bytes;
        window.top_bar()->policy_box()->setEditText("nothing_saveable");
        Q_EMIT window.top_bar()->policy_box()->lineEdit()->returnPressed();
        QVERIFY(window.session()->busy());
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const std::int64_t after = window.session()->current().residuals->total_bytes;
        QVERIFY2(after < before, qPrintable(QStringLiteral("%1 bytes before, %2 after").arg(before).arg(after)));
        QVERIFY(window.session()->choices().policy != nullptr);
        window.session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        QCOMPARE(window.session()->current().residuals->total_bytes, before);
        QCOMPARE(window.top_bar()->policy_box()->currentText(), QStringLiteral("as it is"));
    }

    void a_selected_value_stays_the_same_under_another_policy() {
        MainWindow window;
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        const auto choose = [&](const char* policy) {
            window.top_bar()->policy_box()->setEditText(policy);
            Q_EMIT window.top_bar()->policy_box()->lineEdit()->returnPressed();
            QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        };
        // The fourth layer's value of this name: in the table under another policy it stands in another row.
        const std::vector<ResidualRow> before = window.session()->current().residuals->rows;
        int seen = 0;
        std::size_t row = 0;
        for (std::size_t r = 0; r < before.size(); ++r)
            if (before[r].name == "mlp_in" && ++seen == 4) row = r;
        QVERIFY(seen >= 4);
        window.selection()->pick(residual(before[row]));
        const Picked was = window.selection()->picked();
        const std::string title = explained(window).title;
        QVERIFY(window.inspector()->explanation().saved);
        for (const char* policy : {"everything_saveable", "save_only_these_names('mlp_in')", "nothing_saveable"}) {
            choose(policy);
            const Picked now = window.selection()->picked();
            const ResidualReport& report = *window.session()->current().residuals;
            QVERIFY(now.program == was.program);
            QCOMPARE(explained(window).title, title);
            const NodeItem* marked = window.program_view()->scene()->picked();
            QVERIFY(marked != nullptr && marked == node_of(*window.program_view(), *was.program));
            const ResidualRow* saved = now.residual ? find_residual(report, *now.residual) : nullptr;
            QCOMPARE(now.residual.has_value(), saved != nullptr);
            QCOMPARE(window.inspector()->explanation().saved, saved != nullptr);
            if (saved == nullptr) {
                QVERIFY(!window.residual_table()->table()->currentIndex().isValid());
                continue;
            }
            // The fourth one still, and marked as such in the table and in the split.
            int nth = 0;
            for (const ResidualRow& r : report.rows) {
                nth += r.maker == saved->maker;
                if (r.id == saved->id) break;
            }
            QCOMPARE(nth, 4);
            QCOMPARE(window.residual_table()->table()->currentIndex().siblingAtColumn(ResidualModel::Source).data().toString(),
                     QString::fromStdString(saved->source));
            // Of a value inside of a checkpoint the table names the checkpoint.
            const std::string known = now.known ? to_text(*now.known) : "";
            QVERIFY2(known == saved->equation || known.starts_with(saved->equation + "/"), known.c_str());
        }
        QVERIFY(!window.selection()->picked().residual);  // nothing_saveable
        choose("");
    }

    void a_later_choice_replaces_an_earlier_one() {
        MainWindow window;
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        Choices first, second;
        first.region = Choices::kProgram;
        window.session()->choose(first);
        window.session()->choose(second);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        QCOMPARE(window.session()->current().inspection->choices().region, Choices::kAuto);
    }

    void a_bad_file_leaves_the_program_open() {
        MainWindow window;
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        QTemporaryDir folder;
        QFile bad(folder.filePath("bad.jaxscope"));
        QVERIFY(bad.open(QIODevice::WriteOnly));
        bad.write("{\"format\": \"jaxscope.capture\", \"version\": 1, \"strings\": [3");
        bad.close();
        QSignalSpy failed(window.session(), &Session::open_failed);
        window.open(bad.fileName());
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, kPatience);
        QVERIFY(failed[0][0].toString().contains("bad.jaxscope"));
        QVERIFY(window.session()->program() != nullptr);
        QVERIFY(window.session()->current().residuals != nullptr);
    }

    void what_cannot_be_had_is_said_where_it_would_stand() {
        QTemporaryDir folder;
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        const auto show = [&](const char* name, const char* text) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text);
            file.close();
            window.open(file.fileName());
            QTRY_VERIFY_WITH_TIMEOUT(window.session()->program() && window.windowTitle().startsWith(name) && settled(window), kPatience);
            for (const char* tab : {"split", "memory", "program", "donation", "buffers", "residuals"})
                QCOMPARE(wrong_on_tab(window, tab), QString());
        };
        const auto* model =
            static_cast<const TableModel*>(static_cast<QSortFilterProxyModel*>(window.residual_table()->table()->model())->sourceModel());
        show("unknown.jaxpr", "{ lambda ; a:f32[3]. let b:f32[3] = my_own_thing[k=3] a in (b,) }");
        QVERIFY2(model->problem().contains("my_own_thing"), qPrintable(model->problem()));
        QVERIFY(!model->problem().startsWith("jaxscope: "));
        // A reason stands once on the screen, with all that it is the reason of.
        QCOMPARE(times_said(window, "Differentiation rule for 'my_own_thing'"), 1);
        QVERIFY2(window.notice()->text().contains("my_own_thing"), qPrintable(window.notice()->text()));
        for (const char* stage : {"residuals", "split", "memory"}) QVERIFY(window.notice()->text().contains(stage));
        QVERIFY(window.session()->current().problems.contains("memory"));
        // The next program has nothing to do with it.
        show("empty.jaxpr", "{ lambda ; . let  in () }");
        QVERIFY2(!model->problem().contains("my_own_thing"), qPrintable(model->problem()));
        QVERIFY2(!window.notice()->text().contains("my_own_thing"), qPrintable(window.notice()->text()));
        show("integers.jaxpr", "{ lambda ; a:i32[3]. let b:i32[3] = add a a in (b,) }");
        QVERIFY(window.session()->current().problems.isEmpty());
        QCOMPARE(window.inspector()->explanation().title, std::string("integers.jaxpr"));
        QCOMPARE(window.inspector()->explanation().subtitle, std::string("1 equation"));
    }

    void a_worker_that_fails_is_replaced_by_our_own_layout() {
        const GraphModel model(toy::chain(20));
        const LaidOut by_dot = lay_out(model.visible({"0-8"}), kWorker, 5000);
        QVERIFY2(by_dot.levels_by_dot > 0, qPrintable(by_dot.problem));
        for (const char* program : {"/bin/false", "/bin/cat", "/nonexistent/worker"}) {
            const LaidOut result = lay_out(model.visible({"0-8"}), program, 2000);
            QCOMPARE(result.levels_by_dot, 0);
            QVERIFY(!result.problem.isEmpty());
            QCOMPARE(result.layout.nodes.size(), result.graph.nodes.size());
        }
        QElapsedTimer clock;
        clock.start();
        QTemporaryDir folder;
        QFile hangs(folder.filePath("hangs"));
        QVERIFY(hangs.open(QIODevice::WriteOnly));
        hangs.write("#!/bin/sh\nexec sleep 60\n");
        hangs.close();
        hangs.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        QCOMPARE(lay_out(model.visible({"0-8"}), hangs.fileName(), 300).levels_by_dot, 0);
        QVERIFY(clock.elapsed() < 20'000);
    }

    void both_themes_draw() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        window.open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(settled(window), kPatience);
        QVERIFY(takes_theme(window, true));
        const QImage dark = window.grab().toImage();
        QVERIFY(takes_theme(window, false));
        const QImage light = window.grab().toImage();
        QCOMPARE(dark.size(), light.size());
        QVERIFY(qGray(dark.pixel(5, 5)) < 80);
        QVERIFY(qGray(light.pixel(5, 5)) > 200);
    }

private:
    WindowFixture fixture_;
};

JAXSCOPE_WINDOW_TESTS(WindowTest)
#include "window_test.moc"
