// Selecting anywhere selects everywhere: the same value is found from each of the window's views.
#include <QSettings>
#include <QTemporaryDir>
#include <QTreeWidget>
#include <QtTest>

#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

/// The parts of a selection, each of which a view sets when it is clicked.
std::vector<std::pair<const char*, Picked>> parts_of(const Picked& whole) {
    std::vector<std::pair<const char*, Picked>> out;
    const auto add = [&](const char* name, auto set) {
        Picked part;
        set(part);
        if (!part.empty()) out.emplace_back(name, part);
    };
    add("residual row", [&](Picked& p) { p.residual = whole.residual; });
    add("program graph", [&](Picked& p) { p.program = whole.program; });
    add("known part", [&](Picked& p) { p.known = whole.known; });
    add("donation row", [&](Picked& p) { p.donated = whole.donated; });
    add("buffer", [&](Picked& p) { p.buffer = whole.buffer; });
    add("argument", [&](Picked& p) { p.input = whole.input; });
    return out;
}

}  // namespace

class SelectionTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        QVERIFY(fixture_.prepare());
        window_ = new_window();
        QVERIFY(opens(*window_));
    }
    void cleanupTestCase() { window_.reset(); }

    void every_residual_has_its_counterparts() {
        const auto& rows = look().residuals->rows;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const Picked whole = pick_row(static_cast<int>(r));
            const std::string name = std::to_string(r) + ": " + rows[r].aval + " " + rows[r].source;
            QVERIFY2(whole.known.has_value(), name.c_str());
            QVERIFY2(whole.program.has_value(), name.c_str());
            // Of computed values some are fused into their readers and have no memory of their own.
            QVERIFY2(rows[r].input < 0 || whole.buffer, name.c_str());
        }
    }

    void a_line_of_the_split_is_the_saved_value() {
        window_->show_tab("split");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        std::set<std::string> found;
        for (const auto& crossing : window_->split_view()->picture().crossings)
            for (const std::uint32_t residual : crossing.residuals) {
                Q_EMIT const_cast<GraphScene*>(window_->split_view()->scene())->crossing_clicked(static_cast<int>(residual));
                const ResidualRow* row = look().stages().find(window_->selection()->picked().residual);
                if (crossing.arguments || row == nullptr) continue;
                QVERIFY2(explained(*window_).saved, row->source.c_str());
                found.insert(row->name);
            }
        QVERIFY(found.contains("mlp_in") && found.contains("attn_out"));
        window_->selection()->clear();
    }

    /// What it says of one equation doesn't contradict itself.
    void no_equation_is_told_two_things() {
        const Jaxpr& known = *look().split->known;
        for (std::uint32_t e = 0; e < known.eqns.size(); ++e) {
            Picked picked;
            picked.known = EqnPath{{}, e};
            window_->selection()->pick(picked);
            std::string all;
            for (const std::string& s : explained(*window_).sentences) all += s + "\n";
            const bool needless = all.find("nothing in the backward pass needs") != std::string::npos;
            QVERIFY2(!needless || all.find(", residual)") == std::string::npos, all.c_str());
        }
        window_->selection()->clear();
    }

    void a_computed_value_is_found_from_each_view() { round_trip(false); }
    void an_argument_is_found_from_each_view() { round_trip(true); }

    /// A click on a tab and the Tab key bring a list to the front, and select nothing in it.
    void lists_that_are_come_to_select_nothing() {
        window_->selection()->clear();
        QApplication::setActiveWindow(window_.get());
        QAbstractItemView* lists[] = {window_->residual_table()->table(), window_->donation_table()->table(),
                                      window_->buffer_table()->table(), window_->outline()->tree(), window_->outline()->lines()};
        for (QAbstractItemView* list : lists) {
            for (QTabWidget* tabs : window_->findChildren<QTabWidget*>())
                if (QWidget* page = list->parentWidget(); tabs->indexOf(page) >= 0) tabs->setCurrentWidget(page);
            list->setFocus(Qt::TabFocusReason);
            QTRY_VERIFY(list->hasFocus());
            QVERIFY2(window_->selection()->picked().empty(), qPrintable(list->accessibleName()));
            QTest::keyClick(list, Qt::Key_Down);  // leads to the first row
            QCOMPARE(list->currentIndex().row(), 0);
            QVERIFY2(!window_->selection()->picked().empty(), qPrintable(list->accessibleName()));
            window_->selection()->clear();
            QTest::keyClick(list, Qt::Key_Down);  // and there again, once it is no longer selected
            QVERIFY2(!window_->selection()->picked().empty(), qPrintable(list->accessibleName()));
            QTest::keyClick(list, Qt::Key_Tab);  // leads on
            QVERIFY2(!list->hasFocus(), qPrintable(list->accessibleName()));
            window_->selection()->clear();
        }
    }

    void lines_and_groups_follow() {
        const Picked computed = pick_row(row_where(false));
        const ResidualRow& row = *find_residual(*look().residuals, *computed.residual);
        const QTreeWidgetItem* line = window_->outline()->lines()->currentItem();
        QVERIFY(line != nullptr);
        QVERIFY2(line->text(0).endsWith(":" + QString::number(row.line)), qPrintable(line->text(0)));
        Picked group;
        group.group = window_->program_view()->model()->keys_around(*computed.program).front();
        window_->selection()->pick(group);
        QCOMPARE(window_->outline()->tree()->currentIndex().data(OutlineModel::KeyRole).toString(), QString::fromStdString(group.group));
        QVERIFY(window_->outline()->lines()->currentItem() == nullptr);
        window_->selection()->clear();
        QVERIFY(!window_->outline()->tree()->currentIndex().isValid());
    }

    void tables_outline_and_inspector_follow() {
        const Picked whole = pick_row(row_where(true));
        QCOMPARE(window_->residual_table()->table()->selectionModel()->selectedRows().size(), 1);
        QCOMPARE(window_->donation_table()->table()->selectionModel()->selectedRows().size(), 1);
        QVERIFY(window_->outline()->tree()->currentIndex().isValid());
        const DonatedLeaf& leaf = *find_donated(*look().donation, whole.donated);
        QCOMPARE(explained(*window_).title, leaf.path);
        // A click on the donation's row leads back.
        const QModelIndex row = window_->donation_table()->table()->currentIndex();
        window_->selection()->clear();
        window_->donation_table()->table()->setCurrentIndex({});
        window_->donation_table()->table()->setCurrentIndex(row);
        QVERIFY(window_->selection()->picked().residual == whole.residual);
        // So does the outline's.
        const Picked computed = pick_row(row_where(false));
        const QModelIndex at = window_->outline()->tree()->currentIndex();
        window_->selection()->clear();
        window_->outline()->tree()->setCurrentIndex({});
        window_->outline()->tree()->setCurrentIndex(at);
        QVERIFY(window_->selection()->picked().residual == computed.residual);
    }

    /// What a policy around everything saves of a checkpoint is a value of the checkpoint's body: the user's equation, not the checkpoint.
    void a_value_inside_of_a_checkpoint_is_found() {
        window_->top_bar()->enter_policy("dots_saveable", true);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        int inside = 0;
        std::optional<EqnPath> last;
        for (const ResidualRow& row : std::vector<ResidualRow>(look().residuals->rows)) {
            if (row.id.eqn < 0 || look().split->known->eqns[static_cast<std::size_t>(row.id.eqn)].prim->flow != Flow::Remat) continue;
            ++inside;
            Picked picked;
            picked.residual = row.id;
            window_->selection()->pick(picked);
            last = window_->selection()->picked().program;
            QVERIFY2(last.has_value(), row.source.c_str());
            const Frame* place = resolve(*window_->session()->program()->jaxpr, last->jaxpr).eqns[last->eqn].source.user_frame();
            QVERIFY2(place != nullptr && place->line == row.line, row.source.c_str());
            QVERIFY2(explained(*window_).saved, row.source.c_str());
        }
        QVERIFY(inside > 0);
        // So its mark stands in the program, too.
        std::int64_t computed = 0, shown = 0;
        for (const ResidualRow& row : look().residuals->rows) computed += row.input < 0 && !row.equation.empty() ? row.bytes : 0;
        for (const auto& node : window_->program_view()->graph().nodes)
            if (node.frame == VisibleGraph::kTop && node.kind != GraphItem::Kind::Inputs) shown += node.mark.saved_bytes;
        QCOMPARE(shown, computed);
        window_->session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(window_->selection()->picked().program == last);
        window_->selection()->clear();
    }

private:
    const Look& look() const { return window_->session()->current(); }

    int row_where(bool argument) const {
        const auto& rows = look().residuals->rows;
        for (std::size_t r = 0; r < rows.size(); ++r)
            if (argument ? rows[r].input >= 0 : rows[r].name == "mlp_in") return static_cast<int>(r);
        return -1;
    }

    Picked pick_row(int row) {
        Picked picked;
        picked.residual = look().residuals->rows.at(static_cast<std::size_t>(row)).id;
        window_->selection()->clear();
        window_->selection()->pick(picked);
        return window_->selection()->picked();
    }

    void round_trip(bool argument) {
        const Picked whole = pick_row(row_where(argument));
        const auto parts = parts_of(whole);
        QVERIFY(parts.size() >= 4);
        for (const auto& [name, part] : parts) {
            // The equation that reads an argument is itself when it is picked, not the argument.
            if (argument && (part.program || part.known)) continue;
            window_->selection()->clear();
            window_->selection()->pick(part);
            const Picked found = window_->selection()->picked();
            QVERIFY2(found.residual == whole.residual, name);
            QVERIFY2(found.buffer == whole.buffer, name);
            // The buffer of a named value is made by the equation before the name.
            if (part.buffer && !argument) continue;
            QVERIFY2(found.program == whole.program, name);
            QVERIFY2(found.known == whole.known, name);
            QVERIFY2(found.donated == whole.donated, name);
        }
    }

    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(SelectionTest)
#include "selection_test.moc"
