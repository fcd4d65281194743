// The view of programs over several devices: how values lie, what is sent and why, other specs.
#include <QAbstractItemModelTester>
#include <QtTest>

#include "base/units.h"
#include "sharding/sharding_view.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class ShardingTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_, QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp_sharded.jaxscope")));
        window_->show_tab("sharding");
        QTRY_VERIFY_WITH_TIMEOUT(!view().busy() && view().values()->model()->rowCount() > 0, kPatience);
    }
    void cleanup() { window_.reset(); }

    void each_device_and_what_it_sends() {
        const std::int64_t peak = window_->session()->current().plan->planned_peak;
        QVERIFY2(view().head().contains(utf8(bytes_text(peak))) && view().head().contains("Mesh("), qPrintable(view().head()));
        QVERIFY(cell(view().values(), "params['w1']", 3).startsWith("P("));
        QVERIFY(view().collectives()->model()->rowCount() > 0);
        QAbstractItemModelTester tester(view().values()->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
    }

    void a_collective_selects_the_equation_that_needs_it() {
        view().collectives()->table()->selectRow(0);
        const std::optional<EqnPath> picked = window_->selection()->picked().program;
        QVERIFY(picked);
        QVERIFY(view().collectives()->table()->currentIndex().isValid());  // and stays selected
        const QString line = view().collectives()->table()->currentIndex().siblingAtColumn(8).data().toString();
        const Eqn& e = resolve(*window_->session()->program()->jaxpr, *picked);
        QVERIFY2(line.endsWith(":" + QString::number(e.source.loc().line)), qPrintable(line));
    }

    void the_picture_names_the_devices_of_each_part() {
        const int row = row_of(view().values(), "params['w1']");
        view().values()->table()->selectRow(row);
        ShardPicture& picture = *view().picture();
        QVERIFY(picture.rows() * picture.columns() > 1);
        QSet<QString> all;
        for (int r = 0; r < picture.rows(); ++r)
            for (int c = 0; c < picture.columns(); ++c)
                for (const QString& d : picture.devices_at(r, c).split(", ")) {
                    all.insert(d);
                }
        QCOMPARE(all.size(), static_cast<int>(window_->session()->current().inspection->per_device().program->mesh.devices()));
        QVERIFY(picture.devices_at(99, 0).isEmpty());
        const int input = window_->selection()->picked().input;
        QVERIFY(input >= 0 && window_->session()->program()->in_paths[static_cast<std::size_t>(input)].str() == "params['w1']");
    }

    void words_above_the_picture_have_the_room_that_they_need() {
        ShardPicture picture;
        const ShardingReport report = *sharding_report(*window_->session()->current().inspection);
        picture.show_value(report.inputs.front(), report.over);
        int lines = 0;
        for (const int width : {600, 240, 180}) {
            picture.resize(width, 300);
            const QRect head = picture.head_rect();
            QVERIFY(head.right() < width);
            QVERIFY2(head.height() > lines, qPrintable(picture.about()));  // narrower, and so higher
            lines = head.height();
            const QRect needed =
                QFontMetrics(text_font(12)).boundingRect(QRect(0, 0, head.width(), 1000), Qt::TextWordWrap, picture.about());
            QVERIFY(head.height() >= needed.height());
        }
    }

    void tables_of_which_no_row_has_a_picture_take_its_room() {
        auto* tabs = view().findChild<QTabWidget*>();
        QVERIFY(view().picture()->isVisible());
        const int before = tabs->width();
        tabs->setCurrentWidget(view().collectives());
        QTRY_VERIFY_WITH_TIMEOUT(!view().picture()->isVisible() && tabs->width() > before + 100, kAtOnce);
        try_specs("params['w1']=P()");  // whose curve stands there, whatever table is shown
        QTRY_VERIFY_WITH_TIMEOUT(tabs->width() < view().width() - 100 && !view().picture()->isVisible(), kAtOnce);
        tabs->setCurrentWidget(view().values());
        QTRY_VERIFY_WITH_TIMEOUT(view().picture()->isVisible(), kAtOnce);
    }

    void other_specs_show_memory_and_what_is_sent_beside_the_captured_ones() {
        const QString before = view().head();
        try_specs("params['w1']=P(); params['w2']=P()");
        QVERIFY2(view().head().contains("As captured"), qPrintable(view().head()));
        QCOMPARE(cell(view().values(), "params['w1']", 3), QStringLiteral("P()"));
        QCOMPARE(view().layouts()->model()->rowCount(), 2 + static_cast<int>(window_->session()->program()->xla.known));
        try_specs("params['w1']=P(None, 'model')");  // the others stay as they were tried
        QCOMPARE(cell(view().values(), "params['w2']", 3), QStringLiteral("P()"));
        QCOMPARE(cell(view().values(), "params['w1']", 3), QStringLiteral("P(None, 'model')"));
        view().forget_specs();
        QCOMPARE(view().head(), before);
        QVERIFY(cell(view().values(), "params['w2']", 3) != QStringLiteral("P()"));
    }

    void what_the_program_cannot_have_is_said_and_changes_nothing() {
        const QString before = view().head();
        for (const char* bad :
             {"params['w1']", "params['w1']=P('nowhere')", "nothing=P()", "params['w1']=P('data", "params['w1']=P('data', None, None)"}) {
            try_specs(bad);
            QVERIFY2(view().problem().contains("expected"), bad);
            QCOMPARE(view().head(), before);
        }
        try_specs("params['w1']=P()");
        QVERIFY(view().problem().isEmpty());
    }

    void a_layout_that_was_tried_can_be_the_windows() {
        try_specs("params['w1']=P()");
        const std::int64_t before = window_->session()->current().plan->planned_peak;
        const QString tried = view().head().section("peak", 0, 0);
        for (QPushButton* button : view().findChildren<QPushButton*>())
            if (button->text() == "Use it everywhere") button->click();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_) && !view().busy() && view().head().startsWith(tried), kPatience);
        QVERIFY(window_->session()->current().plan->planned_peak != before);
    }

    void a_policy_is_looked_at_anew_and_one_device_says_so() {
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_) && !view().busy() && view().values()->model()->rowCount() > 0, kPatience);
        QVERIFY(view().head().contains(utf8(bytes_text(window_->session()->current().plan->planned_peak))));
        QVERIFY(opens(*window_));
        QTRY_VERIFY_WITH_TIMEOUT(!view().busy() && view().head().contains("one device"), kPatience);
        QCOMPARE(view().values()->model()->rowCount(), 0);
        QVERIFY(!view().spec_box()->isEnabled());
    }

    void it_is_drawn_in_both_themes() {
        view().values()->table()->selectRow(row_of(view().values(), "params['w1']"));
        takes_pictures(*window_, "sharding");
        for (const bool dark : {false, true}) {
            QVERIFY(takes_theme(*window_, dark));
            QVERIFY2(wrong_on_tab(*window_, "sharding").isEmpty(), qPrintable(wrong_on_tab(*window_, "sharding")));
        }
        window_->set_dark(false);
    }

private:
    ShardingView& view() { return *window_->sharding_view(); }
    void try_specs(const char* text) {
        view().try_specs(QString::fromUtf8(text));
        QVERIFY(QTest::qWaitFor([&] { return !view().busy(); }, kPatience));
    }
    /// As the table shows it now.
    static int row_of(const TablePanel* panel, const char* path) {
        const QAbstractItemModel& shown = *panel->table()->model();
        for (int r = 0; r < shown.rowCount(); ++r)
            if (shown.index(r, 1).data().toString() == QLatin1String(path)) return r;
        return -1;
    }
    static QString cell(const TablePanel* panel, const char* path, int column) {
        return panel->table()->model()->index(row_of(panel, path), column).data().toString();
    }

    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(ShardingTest)
#include "sharding_test.moc"
