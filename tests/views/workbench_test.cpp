// Several programs in tabs, and what is kept of them: autosaved, found again after a crash, in files of the user's own. Preferences,
// shortcuts, the tour.
#include <sys/resource.h>
#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QProcess>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QtTest>
#include <csignal>

#include "io/load_program.h"
#include "preferences.h"
#include "session/kept_choices.h"
#include "tour.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"
#include "workbench.h"

using namespace jaxscope;
using namespace jaxscope::views;
using namespace jaxscope::app;

/// While it stands, no file of this process can grow.
class FullDisk {
public:
    FullDisk() : before_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &limit_);
        const rlimit none{0, limit_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, before_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    rlimit limit_{};
    void (*before_)(int);
};

class WorkbenchTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare() && folder_.isValid()); }
    void init() {
        QSettings().clear();
        QDir(workspace_folder()).removeRecursively();
        make();
    }
    void cleanup() { bench_.reset(); }

    void programs_open_in_tabs_of_their_own() {
        QVERIFY(!bench_->tabs()->isVisible());
        open({kSample, sample("mlp")});
        QCOMPARE(bench_->count(), 2);
        QVERIFY(bench_->tabs()->isVisible());
        QCOMPARE(bench_->tabs()->tabText(0), QStringLiteral("transformer_lm"));
        QCOMPARE(bench_->windowTitle().left(3), QStringLiteral("mlp"));
        bench_->current()->top_bar()->enter_policy("nothing_saveable");
        QVERIFY(bench_->at(0)->session()->choices().policy == nullptr);
        QTest::keyClick(bench_.get(), Qt::Key_PageUp, Qt::ControlModifier);
        QCOMPARE(bench_->tabs()->currentIndex(), 0);
        QVERIFY(bench_->windowTitle().startsWith("transformer_lm"));
        // The menus are those of the program in front: one bar is to be seen.
        int bars = 0;
        for (const QMenuBar* bar : bench_->findChildren<QMenuBar*>()) bars += bar->isVisible();
        QCOMPARE(bars, 1);
        QVERIFY(bench_->current()->menu_bar()->isVisible());
        QTest::keyClick(bench_.get(), Qt::Key_W, Qt::ControlModifier);
        QCOMPARE(bench_->count(), 1);
        QVERIFY(bench_->windowTitle().startsWith("mlp"));
        QVERIFY(bench_->current()->session()->choices().policy != nullptr);
        QTest::keyClick(bench_.get(), Qt::Key_W, Qt::ControlModifier);
        QCOMPARE(bench_->count(), 1);
        QVERIFY(bench_->current()->nothing_open());
    }

    void shortcuts_work_on_the_program_in_front_alone() {
        open({kSample, sample("mlp")});
        QTest::keyClick(bench_.get(), Qt::Key_3, Qt::AltModifier);
        QCOMPARE(bench_->at(1)->state().picture, QStringLiteral("memory"));
        QCOMPARE(bench_->at(0)->state().picture, QStringLiteral("program"));
    }

    void what_was_open_is_open_again_with_its_choices() {
        open({kSample, sample("mlp")});
        MainWindow* first = bench_->at(0);
        bench_->set_current(0);
        first->top_bar()->enter_policy("each block: dots_saveable");
        first->top_bar()->enter_policy("inside: nothing_saveable");
        first->show_tab("split");
        first->show_tab("donation");
        first->program_view()->collapse_all();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*first), kPatience);
        first->top_bar()->enter_policy("nothing_saveable");
        first->session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*first), kPatience);
        Picked picked;
        picked.program = parse_eqn_path("0");
        first->selection()->pick(picked);
        GraphView* graph = first->program_view()->view();
        first->show_tab("program");
        QTRY_VERIFY(graph->isVisible());
        graph->fit();
        const GraphView::Place place = *graph->chosen_place();
        first->show_tab("split");
        const OpenProgram kept = first->state();
        QCOMPARE(kept.picked, QStringLiteral("0"));
        const Choices chosen = first->session()->choices();
        const auto expanded = first->program_view()->expanded();
        QCOMPARE(kept.choices.size(), 2);
        bench_->close();
        make();
        QVERIFY(!bench_->autosave().after_crash());
        QVERIFY(bench_->current()->start_page()->last_button()->text().contains("transformer_lm"));
        bench_->current()->start_page()->last_button()->click();
        QTRY_VERIFY_WITH_TIMEOUT(bench_->count() == 2 && bench_->at(0)->session()->program() && settled(*bench_->at(0)), kPatience);
        QCOMPARE(bench_->tabs()->currentIndex(), 0);
        QVERIFY(bench_->at(0)->session()->choices() == chosen);
        QCOMPARE(bench_->at(0)->state().picture, QStringLiteral("split"));
        QCOMPARE(bench_->at(0)->state().table, QStringLiteral("donation"));
        QVERIFY(bench_->at(0)->program_view()->expanded() == expanded);
        QVERIFY(bench_->at(0)->selection()->picked().program == parse_eqn_path("0"));
        QVERIFY(bench_->at(0)->session()->can_redo() && bench_->at(0)->session()->undone().back().policy != nullptr);
        bench_->at(0)->show_tab("program");
        const GraphView* again = bench_->at(0)->program_view()->view();
        QTRY_COMPARE(again->zoom(), place.zoom);
        QVERIFY2(QLineF(again->chosen_place()->middle, place.middle).length() * place.zoom < 2, "the picture stands elsewhere");
        bench_->at(0)->show_tab("split");
        bench_->at(0)->session()->undo();
        QVERIFY(bench_->at(0)->session()->choices().each_block);
    }

    void marks_by_hand_regions_and_donations_are_kept() {
        open({kSample});
        MainWindow* window = bench_->current();
        Choices choices = window->session()->choices();
        choices.by_hand = {{"model.py:24", "dot_general", "f32[4]", true}, {"attn_out", "", "", false}};
        choices.marked_at = MarkedAt::Function;
        choices.region = 0;
        choices.donate = std::vector<int>{1};
        choices.kept_back = {2, 5};
        const Program& program = *window->session()->program();
        QStringList lost;
        const Choices plain = window->session()->history().front();
        QVERIFY(choices_again(kept_choices(choices, program), plain, program, lost) == choices);
        QVERIFY2(lost.isEmpty(), qPrintable(lost.join(' ')));
        // Of another program, what has no meaning there is said.
        const ProgramPtr other = load_program(sample("mlp").toStdString());
        QJsonObject kept = kept_choices(choices, program);
        kept["donate"] = QJsonArray{"no_such_argument"};
        kept["region"] = QJsonObject{{"name", "no_such_region"}, {"number", 0}};
        choices_again(kept, plain, *other, lost);
        QVERIFY2(lost.join(' ').contains("no_such_argument") && lost.join(' ').contains("no_such_region"), qPrintable(lost.join(' ')));
        kept = {{"policy", "no_such_policy"}};
        lost.clear();
        QVERIFY(choices_again(kept, plain, program, lost) == plain);
        QCOMPARE(lost.size(), 1);
    }

    void a_window_that_is_killed_loses_nothing() {
        bench_.reset();
        QProcess gui;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        const QString config = folder_.filePath("config");
        environment.insert("XDG_CONFIG_HOME", config);
        gui.setProcessEnvironment(environment);
        gui.start(kGui, {kSample, sample("mlp")});
        QVERIFY(gui.waitForStarted());
        const QDir kept(config + "/jaxscope/workspaces");
        const auto saved = [&] {
            const QStringList files = kept.entryList({"autosave-*.jaxscope-workspace"});
            Workspace workspace;
            return files.size() == 1 && read_workspace(kept.filePath(files.front()), workspace).isEmpty() && workspace.programs.size() == 2;
        };
        QTRY_VERIFY_WITH_TIMEOUT(saved(), kPatience);
        {
            const Autosave beside(kept.path());  // another window: the first one still has its own
            QVERIFY(!beside.after_crash() && beside.last().isEmpty());
        }
        gui.kill();
        QVERIFY(gui.waitForFinished());
        const Autosave next(kept.path());
        QVERIFY(next.after_crash());
        Workspace found;
        QCOMPARE(read_workspace(next.last(), found), QString());
        QCOMPARE(found.programs.size(), 2);
        QCOMPARE(found.programs[0].file, kSample);
    }

    void a_crash_is_told_and_mended_by_one_click() {
        open({sample("mlp")});
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(bench_->autosave().file()), kPatience);
        bench_.reset();  // without having been closed
        make();
        QVERIFY(bench_->autosave().after_crash());
        QVERIFY2(bench_->current()->notice()->text().contains("mlp"), qPrintable(bench_->current()->notice()->text()));
        bench_->current()->notice()->findChild<QPushButton*>()->click();
        QTRY_VERIFY_WITH_TIMEOUT(bench_->windowTitle().startsWith("mlp"), kPatience);
    }

    void a_workspace_of_the_users_own_is_kept_in_step() {
        open({kSample});
        const QString file = folder_.filePath("mine.jaxscope-workspace");
        QVERIFY(bench_->save_workspace(file));
        bench_->current()->top_bar()->enter_policy("dots_saveable");
        const auto choices = [&] {
            Workspace now;
            return read_workspace(file, now).isEmpty() && now.programs.size() == 1 ? now.programs[0].choices.size() : -1;
        };
        QTRY_COMPARE_WITH_TIMEOUT(choices(), 1, kPatience);
        make();
        bench_->open({file});
        QTRY_VERIFY_WITH_TIMEOUT(bench_->current()->session()->program() && settled(*bench_->current()), kPatience);
        QVERIFY(bench_->current()->session()->choices().policy != nullptr);
    }

    void a_folder_that_cannot_be_written_is_told_once() {
        bench_.reset();
        const QString folder = workspace_folder();
        QVERIFY(QDir().mkpath(QFileInfo(folder).path()) && QDir(folder).removeRecursively());
        {
            QFile in_its_place(folder);
            QVERIFY(in_its_place.open(QIODevice::WriteOnly));
        }
        make();
        const NoticeBar* told = bench_->unkept_notice();
        QVERIFY2(told->isVisible() && told->text().contains(folder) && told->text().contains("Not a directory"), qPrintable(told->text()));
        QVERIFY(bench_->rect().contains(QRect(told->mapTo(bench_.get(), QPoint()), told->size())));
        open({sample("mlp")});
        QVERIFY2(told->isVisible(), "a program that was opened took it away");
        if (const QString pictures = qEnvironmentVariable("JAXSCOPE_PICTURES"); !pictures.isEmpty())
            bench_->grab().save(pictures + "/unkept.png");
        told->findChild<QToolButton*>()->click();
        bench_->current()->top_bar()->enter_policy("dots_saveable");
        QTest::qWait(600);
        QVERIFY2(!told->isVisible(), "it is told again with each change");
        QVERIFY(QFile::remove(folder));
        bench_->current()->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(bench_->autosave().file()), kPatience);
        QVERIFY(bench_->autosave().problem().isEmpty());
    }

    void a_full_disk_is_told_and_what_is_open_is_kept_once_there_is_room() {
        open({sample("mlp")});
        const QString file = folder_.filePath("step.jaxscope-workspace");
        QVERIFY(bench_->save_workspace(file));
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(bench_->autosave().file()), kPatience);
        const NoticeBar* told = bench_->unkept_notice();
        const auto choices = [](const QString& name) {
            Workspace now;
            return read_workspace(name, now).isEmpty() && now.programs.size() == 1 ? now.programs[0].choices.size() : -1;
        };
        {
            const FullDisk full;
            bench_->current()->top_bar()->enter_policy("dots_saveable");
            QTRY_VERIFY_WITH_TIMEOUT(told->text().contains(file), kPatience);
            QTRY_VERIFY2_WITH_TIMEOUT(told->text().contains(bench_->autosave().file()) && told->text().contains("File too large"),
                                      qPrintable(told->text()), kPatience);
            QCOMPARE(choices(file), 0);  // as it was
            QCOMPARE(choices(bench_->autosave().file()), 0);
        }
        bench_->again()->start(1);  // a while later
        QTRY_VERIFY_WITH_TIMEOUT(!told->isVisible(), kPatience);
        QCOMPARE(choices(file), 1);
        QCOMPARE(choices(bench_->autosave().file()), 1);
        {
            const FullDisk full;
            bench_->current()->top_bar()->enter_policy("nothing_saveable");
            QVERIFY2(!bench_->close() && told->text().contains("Close again"), qPrintable(told->text()));
            QVERIFY2(bench_->close(), "who was told may go");
        }
        QCOMPARE(choices(file), 1);
        bench_.reset();
        make();
        QCOMPARE(choices(bench_->autosave().last()), 1);
    }

    void files_that_are_no_workspace_are_refused_by_name() {
        open({sample("mlp")});
        const QByteArray texts[] = {"",
                                    "{",
                                    "[]",
                                    "{\"format\": \"jaxscope-workspace\", \"version\": 99}",
                                    "{\"format\": \"jaxscope-workspace\", \"version\": 1}",
                                    "{\"format\": \"jaxscope-workspace\", \"version\": 1, \"programs\": [3]}",
                                    "{\"format\": \"jaxscope-workspace\", \"version\": 1, \"programs\": [{\"file\": 3}]}"};
        for (const QByteArray& text : texts) {
            const QString name = write("broken.jaxscope-workspace", text);
            QVERIFY2(!bench_->open_workspace(name), text.constData());
            QVERIFY2(bench_->current()->notice()->text().contains("expected"), qPrintable(bench_->current()->notice()->text()));
        }
        QVERIFY(!bench_->open_workspace(folder_.filePath("missing.jaxscope-workspace")));
        QVERIFY(bench_->windowTitle().startsWith("mlp"));
        QVERIFY(!bench_->save_workspace(folder_.filePath("no/such/folder/w.jaxscope-workspace")));
        // A program whose file is gone stays in the workspace.
        Workspace gone;
        OpenProgram program;
        program.file = folder_.filePath("gone.jaxscope");
        program.choices = {QJsonObject{{"policy", "dots_saveable"}}};
        program.undone = {QJsonObject{{"policy", "nothing_saveable"}}};
        program.picture = "split", program.table = "donation";
        program.picked = "3", program.place = {0.5, 10.0, 20.0};
        gone.programs << program;
        const QString file = folder_.filePath("gone.jaxscope-workspace");
        QCOMPARE(write_whole(workspace_text(gone), file), QString());
        make();
        bench_->open({file});
        QTRY_VERIFY_WITH_TIMEOUT(bench_->current()->notice()->text().contains("gone.jaxscope"), kPatience);
        QCOMPARE(workspace_text(bench_->workspace()), workspace_text(gone));
    }

    void pasted_text_is_kept_itself() {
        qApp->clipboard()->setText("{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }");
        bench_->current()->paste_program();
        QTRY_VERIFY_WITH_TIMEOUT(bench_->current()->session()->program() && settled(*bench_->current()), kPatience);
        const Workspace kept = bench_->workspace();
        QVERIFY(kept.programs[0].file.isEmpty() && kept.programs[0].text.contains("sin a"));
        make();
        bench_->current()->open_again(kept.programs[0]);
        QTRY_VERIFY_WITH_TIMEOUT(bench_->current()->session()->program() && settled(*bench_->current()), kPatience);
        QCOMPARE(bench_->current()->session()->program()->jaxpr->eqns.size(), std::size_t{1});
    }

    void preferences_hold_at_once_and_tomorrow() {
        Preferences preferences;
        preferences.show();
        preferences.theme_box()->setCurrentIndex(2);
        Q_EMIT preferences.theme_box()->activated(2);
        QVERIFY(theme().dark() && kept_theme() == ThemeChoice::Dark);
        preferences.theme_box()->setCurrentIndex(0);
        Q_EMIT preferences.theme_box()->activated(0);
        QVERIFY(!theme().dark() && is_dark(ThemeChoice::System, true));
        preferences.editor()->setText("vim +{line} {file}");
        QCOMPARE(kept_editor(), QStringLiteral("vim +{line} {file}"));
        preferences.open_last()->setChecked(true);
        QVERIFY(opens_last_at_start());
        QCOMPARE(kept_scale(), 100);
        preferences.scale_box()->setCurrentIndex(preferences.scale_box()->findData(150));
        Q_EMIT preferences.scale_box()->activated(preferences.scale_box()->currentIndex());
        QCOMPARE(kept_scale(), 150);
        QSettings().setValue("window/scale", 12345);
        QCOMPARE(kept_scale(), 100);
        if (const QString pictures = qEnvironmentVariable("JAXSCOPE_PICTURES"); !pictures.isEmpty())
            preferences.grab().save(pictures + "/preferences.png");
    }

    void one_differentiates_with_respect_to_what_one_likes() {
        open({sample("mlp_adam")});
        MainWindow* window = bench_->current();
        QMenu* menu = window->respect_menu();
        Q_EMIT menu->aboutToShow();
        const std::int64_t before = window->session()->current().residuals->total_bytes;
        QStringList names;
        QAction* off = nullptr;
        int on = 0;
        for (QAction* action : menu->actions()) {
            names << action->text();
            on += action->isChecked();
            if (!action->isChecked() && off == nullptr) off = action;
        }
        QVERIFY2(on > 0 && names.size() > 1, qPrintable(names.join(' ')));
        QVERIFY(off != nullptr);
        off->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window), kPatience);
        QVERIFY(window->session()->choices().wrt.has_value());
        QCOMPARE(static_cast<int>(window->session()->choices().wrt->size()), on + 1);
        window->session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window), kPatience);
        QCOMPARE(window->session()->current().residuals->total_bytes, before);
        Q_EMIT menu->aboutToShow();
        for (QAction* action : menu->actions())
            if (action->isChecked()) action->trigger();
        QVERIFY2(window->notice()->text().contains("no gradient"), qPrintable(window->notice()->text()));
    }

    void every_shortcut_is_listed_and_none_twice() {
        QMap<QString, QString> seen;
        for (const QAction* action : bench_->current()->actions()) {
            QVERIFY(!action->text().isEmpty());
            const QString keys = action->shortcut().toString();
            if (keys.isEmpty()) continue;
            QVERIFY2(!seen.contains(keys), qPrintable(keys + ": " + seen.value(keys) + ", " + action->text()));
            seen[keys] = action->text();
        }
        QVERIFY(seen.size() >= 35);
        trigger("Shortcuts");
        QDialog* help = bench_->findChild<QDialog*>();
        QVERIFY(help != nullptr && help->isVisible());
        QStringList texts;
        for (const QLabel* label : help->findChildren<QLabel*>()) {
            texts << label->text();
            QVERIFY2(label->width() >= label->sizeHint().width(), qPrintable(label->text()));
        }
        for (const QString& text : seen) QVERIFY2(texts.contains(text), qPrintable(text));
        QVERIFY(help->height() <= bench_->height());
        if (const QString pictures = qEnvironmentVariable("JAXSCOPE_PICTURES"); !pictures.isEmpty())
            help->grab().save(pictures + "/shortcuts.png");
        help->close();
        trigger("About jaxscope");
        auto* about = bench_->findChild<QMessageBox*>();
        QVERIFY(about != nullptr && about->isVisible());
        QVERIFY2(about->text().startsWith("jaxscope ") && about->informativeText().contains("Apache License 2.0"),
                 qPrintable(about->text()));
        about->close();
    }

    void the_tour_leads_through_the_window() {
        bench_->current()->start_page()->tour_button()->click();
        QTRY_VERIFY_WITH_TIMEOUT(bench_->current()->session()->program() && settled(*bench_->current()), kPatience);
        QPointer<Tour> tour = bench_->findChild<Tour*>();
        QVERIFY(tour != nullptr && tour->isVisible());
        QVERIFY(tour->steps() >= 5);
        QSet<QString> titles;
        for (int step = 0; step < tour->steps(); ++step) {
            QCOMPARE(tour->step(), step);
            titles.insert(tour->title());
            QVERIFY2(!tour->bright().isEmpty(), qPrintable(tour->title()));
            QVERIFY2(tour->rect().contains(tour->card()), qPrintable(tour->title()));
            for (const QLabel* label : tour->findChildren<QLabel*>())
                QVERIFY2(label->height() >= label->heightForWidth(label->width()), qPrintable(label->text()));
            if (const QString pictures = qEnvironmentVariable("JAXSCOPE_PICTURES"); !pictures.isEmpty())
                bench_->grab().save(QStringLiteral("%1/tour-%2.png").arg(pictures).arg(step));
            QTest::keyClick(tour, Qt::Key_Right);
            QTest::qWait(20);
            if (tour.isNull() || !tour->isVisible()) break;
        }
        QCOMPARE(titles.size(), 7);
        QTRY_VERIFY(tour.isNull());
        trigger("Tour of the window");
        tour = bench_->findChild<Tour*>();
        QTest::keyClick(tour, Qt::Key_Escape);
        QTRY_VERIFY(tour.isNull());
    }

private:
    void make() {
        bench_ = std::make_unique<Workbench>();
        bench_->resize(1280, 800);
        bench_->show();
        QVERIFY(QTest::qWaitForWindowActive(bench_.get()));
    }
    void open(const QStringList& files) {
        for (const QString& file : files) {
            bench_->open({file});
            QTRY_VERIFY_WITH_TIMEOUT(bench_->current()->session()->program() && settled(*bench_->current()), kPatience);
        }
        bench_->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(bench_.get()));
    }
    void trigger(const char* name) {
        for (QAction* action : bench_->current()->actions())
            if (action->text() == QString::fromUtf8(name)) action->trigger();
    }
    QString write(const char* name, const QByteArray& text) {
        QFile file(folder_.filePath(QString::fromUtf8(name)));
        if (file.open(QIODevice::WriteOnly)) file.write(text);
        return file.fileName();
    }
    static QString sample(const char* name) {
        return QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/%1.jaxscope").arg(QString::fromUtf8(name));
    }
    const QString kGui = QStringLiteral(JAXSCOPE_BINARY_DIR "/jaxscope-gui");
    WindowFixture fixture_;
    QTemporaryDir folder_;
    std::unique_ptr<Workbench> bench_;
};

JAXSCOPE_WINDOW_TESTS(WorkbenchTest)
#include "workbench_test.moc"
