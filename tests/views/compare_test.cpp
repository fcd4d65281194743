// Policies side by side, the program as it is behind what is chosen, and donated inputs beside their outputs.
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QtTest>

#include "base/units.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class CompareTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
    }
    void cleanup() { window_.reset(); }

    void policies_are_tried_when_somebody_looks() {
        PolicyModel* model = window_->policies();
        QVERIFY(!window_->session()->comparing());
        QCOMPARE(model->rowCount(), 1);  // as it is
        compare();
        QVERIFY(model->rowCount() >= 6);
        QCOMPARE(model->words(0), QStringLiteral("as it is"));
        QCOMPARE(model->rows()[0].residual_bytes.value(), window_->session()->current().residuals->total_bytes);
        QCOMPARE(model->applied(), 0);
        QVERIFY(row_of("save_only_these_names(attn_out, mlp_in)") > 0);
        const int nothing = row_of("nothing_saveable");
        QVERIFY(nothing > 0);
        QVERIFY(*model->rows()[static_cast<std::size_t>(nothing)].residual_bytes < *model->rows()[0].residual_bytes);
    }

    void a_click_applies_a_row_and_a_point() {
        compare();
        const int nothing = row_of("nothing_saveable"), dots = row_of("dots_saveable");
        QTableView* table = window_->policy_table()->table();
        for (int r = 0; r < table->model()->rowCount(); ++r) {
            const QModelIndex at = table->model()->index(r, PolicyModel::Policy);
            if (at.data().toString() != "nothing_saveable") continue;
            table->scrollTo(at);
            QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(at).center());
        }
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(window_->session()->choices().policy != nullptr);
        QCOMPARE(window_->policies()->applied(), nothing);
        QCOMPARE(window_->session()->current().residuals->total_bytes,
                 window_->policies()->rows()[static_cast<std::size_t>(nothing)].residual_bytes.value());
        const std::optional<QPointF> point = window_->policy_plot()->point_of(dots);
        QVERIFY(point.has_value());
        QTest::mouseClick(window_->policy_plot(), Qt::LeftButton, {}, point->toPoint());
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QCOMPARE(window_->policies()->applied(), dots);
        window_->session()->undo();
        QCOMPARE(window_->policies()->applied(), nothing);
    }

    void what_was_measured_stays_in_its_row() {
        window_->open(QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp.jaxscope"));
        QTRY_VERIFY_WITH_TIMEOUT(window_->windowTitle().startsWith("mlp") && settled(*window_), kPatience);
        window_->session()->run();
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->running(), kPatience);
        const std::int64_t measured = window_->session()->current().run->result.measured_peak.value();
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        compare();
        QCOMPARE(window_->policies()->rows()[0].measured_peak.value(), measured);
        const int nothing = row_of("nothing_saveable");
        QVERIFY(!window_->policies()->rows()[static_cast<std::size_t>(nothing)].measured_peak);
        // Memory is drawn against time, too, of what has one.
        PolicyPlot* plot = window_->policy_plot();
        QVERIFY(plot->point_of(0).has_value() && plot->point_of(nothing).has_value());
        plot->findChild<QToolButton*>()->menu()->actions().back()->trigger();
        QCOMPARE(plot->findChild<QToolButton*>()->text(), QStringLiteral("Time"));
        QVERIFY(plot->point_of(0).has_value() && !plot->point_of(nothing).has_value());
    }

    void residuals_that_came_and_went_are_marked() {
        const ResidualReport before = *window_->session()->current().residuals;
        const auto* model = static_cast<const ResidualModel*>(
            static_cast<QSortFilterProxyModel*>(window_->residual_table()->table()->model())->sourceModel());
        for (int r = 0; r < model->rowCount(); ++r) QVERIFY(!model->is_added(r) && !model->is_removed(r));
        window_->top_bar()->enter_policy("everything_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        const ResidualReport& now = *window_->session()->current().residuals;
        int added = 0, removed = 0;
        for (int r = 0; r < model->rowCount(); ++r) {
            added += model->is_added(r);
            removed += model->is_removed(r);
        }
        QVERIFY(added > 0);
        QCOMPARE(static_cast<int>(before.rows.size()) - removed + added, static_cast<int>(now.rows.size()));
        QVERIFY2(model->total().contains(QStringLiteral("%1 added").arg(added)), qPrintable(model->total()));
        // The curve of the program as it is stands behind this one, and its peak beside.
        const auto curve = [&](const std::shared_ptr<const MemoryPlan>& as_it_is) {
            TimelineWidget timeline(window_->selection(), false);
            timeline.resize(600, 300);
            timeline.set_plan(window_->session()->current().plan, as_it_is, 0);
            return std::pair(timeline.grab(QRect(88, 66, 488, 194)).toImage(), timeline.head_texts().figures);
        };
        const auto& as_it_is = window_->session()->as_it_is().plan;
        QVERIFY(as_it_is && as_it_is->planned_peak < window_->session()->current().plan->planned_peak);  // else the axis is another one
        const auto with = curve(as_it_is), without = curve(nullptr);
        QVERIFY(with.first != without.first);
        QVERIFY2(with.second.contains("as it is " + utf8(bytes_text(as_it_is->planned_peak))), qPrintable(with.second));
        QVERIFY(!without.second.contains("as it is"));
        window_->session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        for (int r = 0; r < model->rowCount(); ++r) QVERIFY(!model->is_added(r) && !model->is_removed(r));
    }

    void donated_inputs_stand_beside_their_outputs() {
        window_->show_tab("donated");
        const DonationCanvas* canvas = window_->donation_view()->canvas();
        const DonationReport& report = *window_->session()->current().donation;
        QCOMPARE(canvas->order().size(), report.donated.size());
        // Lost ones first; each kind by bytes.
        for (std::size_t k = 1; k < canvas->order().size(); ++k) {
            const DonatedLeaf &a = report.donated[static_cast<std::size_t>(canvas->order()[k - 1])],
                              &b = report.donated[static_cast<std::size_t>(canvas->order()[k])];
            QVERIFY(!a.used || b.used);
            QVERIFY(a.used != b.used || a.bytes >= b.bytes);
        }
        const int leaf = canvas->order()[3];
        QTest::mouseClick(window_->donation_view()->canvas(), Qt::LeftButton, {}, canvas->row_rect(leaf).center());
        QCOMPARE(window_->selection()->picked().donated, report.donated[static_cast<std::size_t>(leaf)].input);
        // What is picked elsewhere is scrolled into view.
        const int last = canvas->order().back();
        Picked picked;
        picked.donated = report.donated[static_cast<std::size_t>(last)].input;
        window_->selection()->pick(picked);
        const QRect seen(QPoint(0, -canvas->pos().y()), window_->donation_view()->viewport()->size());
        QVERIFY(seen.contains(canvas->row_rect(last).center()));
    }

    void leaves_are_ticked_one_by_one() {
        window_->show_tab("donated");
        window_->show_tab("donation");
        DonationCanvas* canvas = window_->donation_view()->canvas();
        const DonationReport before = *window_->session()->current().donation;
        const int number = canvas->order().front();
        const DonatedLeaf leaf = before.donated[static_cast<std::size_t>(number)];
        QVERIFY(leaf.used);
        QTest::mouseClick(canvas, Qt::LeftButton, {}, canvas->tick_rect(number).center());
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->shows_choices() && settled(*window_), kPatience);
        QVERIFY(window_->session()->choices().kept_back == std::vector<int>{leaf.input});
        const DonationReport kept = *window_->session()->current().donation;
        QCOMPARE(kept.donated.size() + 1, before.donated.size());
        QCOMPARE(kept.kept_back.size(), std::size_t{1});
        QCOMPARE(kept.kept_back[0].path, leaf.path);
        QCOMPARE(kept.saved_bytes, before.saved_bytes - leaf.bytes);
        // It stands last, and a tick in the table gives it back.
        QCOMPARE(canvas->order().size(), before.donated.size());
        QCOMPARE(canvas->shown_path(canvas->order().back()).left(6), utf8(leaf.path).left(6));
        QVERIFY(window_->donation_view()->canvas()->tool_tip_at(canvas->row_rect(canvas->order().back()).center()).contains("by hand"));
        takes_pictures(*window_, "ticked");
        QAbstractItemModel* table = window_->donation_table()->table()->model();
        QCOMPARE(table->rowCount(), static_cast<int>(before.donated.size()));
        int unticked = -1;
        for (int row = 0; row < table->rowCount(); ++row)
            if (table->index(row, DonationModel::Used).data(Qt::CheckStateRole).toInt() == Qt::Unchecked) unticked = row;
        QVERIFY(unticked >= 0 && (table->index(unticked, DonationModel::Used).flags() & Qt::ItemIsUserCheckable));
        QVERIFY(table->index(unticked, DonationModel::Path).data().toString() == utf8(leaf.path));
        QVERIFY(table->setData(table->index(unticked, DonationModel::Used), Qt::Checked, Qt::CheckStateRole));
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->shows_choices() && settled(*window_), kPatience);
        QVERIFY(window_->session()->choices().kept_back.empty());
        QCOMPARE(window_->session()->current().donation->saved_bytes, before.saved_bytes);
        window_->session()->undo();
        QVERIFY(window_->session()->choices().kept_back == std::vector<int>{leaf.input});
    }

    void pairs_of_other_places_are_told() {
        DonatedLeaf leaf;
        leaf.used = true;
        leaf.path = "state['mu']['w']";
        leaf.output_path = "[0]['mu']['w']";
        QVERIFY(!DonationCanvas::crosses(leaf));
        leaf.output_path = "[0]['nu']['w']";
        QVERIFY(DonationCanvas::crosses(leaf));
        leaf.used = false;
        QVERIFY(!DonationCanvas::crosses(leaf));
    }

private:
    void compare() {
        window_->show_tab("policies");
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->comparing() && !window_->session()->compared().empty(), kPatience);
    }
    int row_of(const char* policy) const {
        for (int r = 0; r < window_->policies()->rowCount(); ++r)
            if (window_->policies()->words(r) == policy) return r;
        return -1;
    }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(CompareTest)
#include "compare_test.moc"
