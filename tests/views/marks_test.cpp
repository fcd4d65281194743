// Values marked by hand: the choice that comes of it, its figures, and its Python.
#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QTableView>
#include <QtTest>

#include "memory/memory_view.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class MarksTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
    }
    void cleanup() { window_.reset(); }

    void a_residual_is_recomputed_and_saved_again() {
        QVERIFY(opens(*window_, QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp.jaxscope")));
        QTRY_VERIFY_WITH_TIMEOUT(window_->windowTitle().startsWith("mlp") && settled(*window_), kPatience);
        const ResidualReport before = *window_->session()->current().residuals;
        const ResidualRow* row = markable_row(before);
        QVERIFY(row != nullptr);
        const auto there = saved_at(*row);
        pick(*row);
        act("Recompute it");
        const Choices marked = window_->session()->choices();
        QVERIFY(marked.by_hand.has_value() && !marked.policy);
        QVERIFY2(window_->top_bar()->applied_policy().startsWith("by hand:"), qPrintable(window_->top_bar()->applied_policy()));
        const auto left = saved_at(*row);
        QVERIFY(left < there);
        const std::int64_t fewer = window_->session()->current().residuals->total_bytes;
        QVERIFY(window_->notice()->text().contains("Chosen by hand"));
        // What is left is marked; the value comes back where it is marked to be saved.
        pick_equation_of(*row);
        act("Save it");
        QVERIFY(saved_at(*row) > left);
        QVERIFY(window_->session()->current().residuals->total_bytes > fewer);
        window_->session()->undo();
        window_->session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QCOMPARE(window_->session()->current().residuals->total_bytes, before.total_bytes);
    }

    void what_is_offloaded_stands_in_the_policy() {
        const ResidualReport before = *window_->session()->current().residuals;
        const ResidualRow chosen = *markable_row(before);
        pick(chosen);
        act("Offload it");
        // It is said to be needed, and where it is made, whichever copy is saved.
        const Explanation& said = explained(*window_);
        QCOMPARE(said.verdict, std::string("offloaded"));
        QVERIFY(said.markable && said.place.line == chosen.line);
        const auto& rows = window_->session()->current().residuals->rows;
        QVERIFY(std::any_of(rows.begin(), rows.end(), [&](const ResidualRow& r) { return r.on_host && r.line == chosen.line; }));
        QVERIFY(window_->residual_table()->model()->total().contains("on the host"));
        QVERIFY(window_->notice()->text().contains("offloaded"));
        const std::vector<HandMark>& marks = *window_->session()->choices().by_hand;
        QCOMPARE(std::count_if(marks.begin(), marks.end(), [](const HandMark& m) { return m.offload; }), 1);
        action("Copy the Python of what was marked")->trigger();
        const QString python = QGuiApplication::clipboard()->text();
        QVERIFY2(python.contains("save_and_offload_only_these_names") && python.contains("pinned_host"), qPrintable(python));
        QVERIFY(window_->notice()->text().contains("made for this program"));
    }

    void what_cant_be_marked_is_told() {
        const ResidualReport& report = *window_->session()->current().residuals;
        for (const ResidualRow& row : report.rows)
            if (row.input >= 0) {
                pick(row);
                break;
            }
        action("Save it")->trigger();
        QVERIFY(window_->notice()->text().contains("Arguments are there anyway"));
        window_->selection()->clear();
        action("Recompute it")->trigger();
        QVERIFY(window_->notice()->text().contains("Nothing is selected"));
        action("Copy the Python of what was marked")->trigger();
        QVERIFY(window_->notice()->text().contains("Nothing was marked by hand"));
        QVERIFY(!window_->session()->choices().by_hand);
    }

    void whatever_can_be_selected_has_a_menu() {
        TimelineWidget* curve = window_->findChild<MemoryView*>()->timeline();
        const auto offered = [](const QWidget* where) {
            QStringList texts;
            for (const QAction* a : where->actions()) texts << a->text();
            return where->contextMenuPolicy() == Qt::ActionsContextMenu ? texts : QStringList();
        };
        const QWidget* const tables[] = {window_->residual_table()->table(), window_->donation_table()->table(),
                                         window_->buffer_table()->table()};
        const QWidget* const others[] = {curve, window_->split_view()->view(), window_->program_view()->view(), window_->outline()->tree()};
        for (const QWidget* where : tables) QVERIFY2(offered(where).contains("Copy the table"), qPrintable(where->accessibleName()));
        for (const auto& some :
             {QList<const QWidget*>(std::begin(tables), std::end(tables)), QList<const QWidget*>(std::begin(others), std::end(others))})
            for (const QWidget* where : some)
                QVERIFY2(offered(where).contains("Show it in the source"), qPrintable(where->accessibleName()));
        QVERIFY(offered(curve).contains("Export the picture"));
        window_->show_tab("memory");
        window_->selection()->clear();
        const int step = window_->session()->current().plan->peak_step;
        QTest::mousePress(curve, Qt::RightButton, {}, QPoint(static_cast<int>(curve->x_of(step)), curve->height() / 2));
        QVERIFY(!window_->selection()->picked().empty());  // the menu is about what is under the pointer
        window_->selection()->clear();
    }

    void menus_of_the_pictures_have_it() {
        for (const QWidget* where : std::initializer_list<const QWidget*>{window_->residual_table()->table(), window_->split_view()->view(),
                                                                          window_->program_view()->view()}) {
            QStringList texts;
            for (const QAction* a : where->actions()) texts << a->text();
            QVERIFY2(texts.filter("(by hand)").size() == 3, qPrintable(texts.join('|')));
            QCOMPARE(where->contextMenuPolicy(), Qt::ActionsContextMenu);
        }
    }

private:
    /// A value that an equation makes and a line of the user's ends with.
    const ResidualRow* markable_row(const ResidualReport& report) {
        const std::vector<HandMark> marks = marks_of(*window_->session()->current().inspection);
        for (const ResidualRow& row : report.rows)
            for (const HandMark& mark : marks)
                if (row.input < 0 &&
                    (row.name.empty() ? row.aval == mark.aval && row.source.ends_with(mark.place) : row.name == mark.place))
                    return &row;
        return nullptr;
    }
    void pick(const ResidualRow& row) {
        Picked picked;
        picked.residual = row.id;
        window_->selection()->pick(picked);
    }
    /// Of the differentiated function: it is no residual any more.
    void pick_equation_of(const ResidualRow& row) {
        const std::size_t from = row.source.rfind("from ");
        const std::string place = from == std::string::npos ? row.source : row.source.substr(from + 5);
        const Jaxpr& j = *window_->session()->program()->regions[0].jaxpr;
        for (std::size_t i = 0; i < j.eqns.size(); ++i)
            if (j.eqns[i].source->summary().str() == place && j.eqns[i].n_out > 0 && to_text(j.aval(j.output(j.eqns[i], 0))) == row.aval) {
                Picked picked;
                picked.region = EqnPath{{}, static_cast<std::uint32_t>(i)};
                window_->selection()->pick(picked);
                return;
            }
        QFAIL("no such equation");
    }
    /// Values of its type that its line makes and that are saved, under whatever name.
    std::ptrdiff_t saved_at(const ResidualRow& row) {
        const auto& rows = window_->session()->current().residuals->rows;
        return std::count_if(rows.begin(), rows.end(), [&](const ResidualRow& r) {
            return r.aval == row.aval && r.file == row.file && r.line == row.line && r.input < 0;
        });
    }
    void act(const char* begin) {
        const Choices before = window_->session()->choices();
        action(begin)->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!(window_->session()->choices() == before) && settled(*window_), kPatience);
    }
    QAction* action(const char* begin) const {
        for (QAction* a : window_->actions())
            if (a->text().startsWith(QString::fromUtf8(begin))) return a;
        return nullptr;
    }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(MarksTest)
#include "marks_test.moc"
