// Item models and the selection, with made-up reports: no window, no file.
#include <QAbstractItemModelTester>
#include <QtTest>

#include "models/buffer_model.h"
#include "models/donation_model.h"
#include "models/residual_model.h"
#include "outline/outline_model.h"
#include "support/toy_programs.h"
#include "tables/table_panel.h"
#include "theme/theme.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using Mode = QAbstractItemModelTester::FailureReportingMode;

namespace {

std::shared_ptr<const ResidualReport> residuals() {
    auto report = std::make_shared<ResidualReport>();
    const auto add = [&](const char* aval, const char* source, std::int64_t bytes, int line) {
        ResidualRow row;
        row.aval = aval;
        row.source = source;
        row.bytes = bytes;
        row.file = "/w/model.py";
        row.line = line;
        row.equation = line > 0 ? "0" : "";
        row.id = line > 0 ? ResidualId{.derivation = 1, .eqn = line, .result = 0} : ResidualId{.input = 0};
        report->rows.push_back(row);
        report->total_bytes += bytes;
    };
    add("f32[9,1024,256]", "output of sin from model.py:3:4 (f)", 9 << 20, 3);
    add("f32[10,1024,256]", "named 'h' from model.py:7:4 (f)", 10 << 20, 7);
    add("f32[8]", "from the argument w", 32, 0);
    return report;
}

std::shared_ptr<const MemoryPlan> plan() {
    auto made = std::make_shared<MemoryPlan>();
    const auto add = [&](std::int64_t bytes, int first, int last, BufferRole role) {
        PlannedBuffer b;
        b.bytes = bytes;
        b.first_step = first;
        b.last_step = last;
        b.role = role;
        b.number = static_cast<int>(made->buffers.size());
        made->buffers.push_back(b);
    };
    add(100, -1, 2, BufferRole::Argument);
    add(40, 0, 1, BufferRole::Temporary);
    add(70, 1, 2, BufferRole::Output);
    made->steps.resize(3);
    made->peak_step = 1;
    made->planned_peak = 210;
    return made;
}

}  // namespace

class ModelsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { set_theme(false); }

    void residual_model_is_sound() {
        ResidualModel model;
        QAbstractItemModelTester tester(&model, Mode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        model.set_report(residuals());
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(model.data(model.index(2, ResidualModel::Bytes), TableModel::SortRole).toLongLong(), 32LL);
        QCOMPARE(model.data(model.index(0, ResidualModel::Bytes)).toString(), QStringLiteral("9.00 MiB"));
        QCOMPARE(model.data(model.index(0, ResidualModel::Line)).toString(), QStringLiteral("model.py:3"));
        QCOMPARE(model.total(), QStringLiteral("3 values, 19.0 MiB"));
    }

    void bytes_sort_by_value_and_not_by_text() {
        ResidualModel model;
        Selection selection;
        TablePanel panel(&model, &selection);
        model.set_report(residuals());
        panel.sort_by(ResidualModel::Bytes, Qt::DescendingOrder);
        QCOMPARE(panel.table()->model()->index(0, ResidualModel::Bytes).data().toString(), QStringLiteral("10.0 MiB"));
        panel.sort_by(ResidualModel::Bytes, Qt::AscendingOrder);
        QCOMPARE(panel.table()->model()->index(0, ResidualModel::Bytes).data().toString(), QStringLiteral("32 B"));
    }

    void filter_shows_rows_with_the_text_in_any_column() {
        ResidualModel model;
        Selection selection;
        TablePanel panel(&model, &selection);
        model.set_report(residuals());
        panel.filter()->setText("argument");
        QCOMPARE(panel.table()->model()->rowCount(), 1);
        panel.filter()->setText("MODEL.PY:7");
        QCOMPARE(panel.table()->model()->rowCount(), 1);
        panel.filter()->clear();
        QCOMPARE(panel.table()->model()->rowCount(), 3);
    }

    void rows_copy_as_tsv() {
        ResidualModel model;
        Selection selection;
        TablePanel panel(&model, &selection);
        model.set_report(residuals());
        panel.sort_by(ResidualModel::Bytes, Qt::AscendingOrder);
        panel.table()->selectRow(0);
        QCOMPARE(panel.selected_as_tsv().section('\t', 0, 2), QStringLiteral("32 B\tf32[8]\tfrom the argument w"));
    }

    void table_and_selection_follow_each_other() {
        ResidualModel model;
        Selection selection;
        TablePanel panel(&model, &selection);
        model.set_report(residuals());
        panel.sort_by(ResidualModel::Bytes, Qt::DescendingOrder);
        panel.table()->selectRow(0);
        const ResidualId named{.derivation = 1, .eqn = 7, .result = 0}, argument{.input = 0};
        QVERIFY(selection.picked().residual == named);
        Picked other;
        other.residual = argument;
        selection.pick(other);
        QCOMPARE(panel.table()->currentIndex().row(), 2);
        // Rows come and go: the selection stays with the value.
        auto fewer = std::make_shared<ResidualReport>(*residuals());
        std::swap(fewer->rows[0], fewer->rows[2]);
        fewer->rows.pop_back();
        model.set_report(fewer);
        QCOMPARE(panel.table()->currentIndex().data().toString(), QStringLiteral("32 B"));
        QVERIFY(selection.picked().residual == argument);
        // The same numbers in another forward part are another value.
        other.residual = ResidualId{.derivation = 2, .eqn = 7, .result = 0};
        QCOMPARE(model.row_of(other), -1);
        selection.clear();
        QVERIFY(!panel.table()->currentIndex().isValid());
    }

    void donation_model_is_sound() {
        DonationModel model;
        QAbstractItemModelTester tester(&model, Mode::QtTest);
        auto report = std::make_shared<DonationReport>();
        DonatedLeaf used, unused;
        used.path = "state.w";
        used.used = true;
        used.output = 3;
        used.bytes = 64;
        unused.path = "x";
        unused.reason = "no output has this shape and dtype";
        report->donated = {used, unused};
        report->saved_bytes = 64;
        model.set_report(report);
        QCOMPARE(model.data(model.index(0, DonationModel::Output)).toString(), QStringLiteral("result 3"));
        QCOMPARE(model.total(), QStringLiteral("1 of 2 reused, 64 B saved"));
    }

    void buffers_are_those_alive_at_the_peak() {
        BufferModel model;
        QAbstractItemModelTester tester(&model, Mode::QtTest);
        model.set_plan(plan());
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(model.total(), QStringLiteral("3 buffers, 210 B at the peak"));
        model.show_step(plan(), 2);
        QCOMPARE(model.rowCount(), 2);
        QVERIFY(model.picked(1).buffer == id_of(*plan(), 2));
    }

    void buffers_say_which_arguments_they_are_and_whose_memory_they_take() {
        auto made = std::make_shared<MemoryPlan>(*plan());
        made->buffers[2].alias_of = 0;  // from step 1 on
        made->buffers[2].primitive = Sym("add");
        auto step = std::make_shared<Step>();
        step->in_paths = {"params['w']"};
        BufferModel model;
        model.set_plan(made, step);
        const auto said = [&] { return model.data(model.index(0, BufferModel::Made)).toString(); };
        model.show_step(made, 0);
        QCOMPARE(said(), QStringLiteral("argument params['w'], donated"));
        model.show_step(made, 2);
        QCOMPARE(said(), QStringLiteral("add, in the memory of params['w']"));
        made->buffers[2].alias_of.reset();
        model.show_step(made, 2);
        QCOMPARE(said(), QStringLiteral("argument params['w']"));
        QCOMPARE(model.data(model.index(1, BufferModel::Made)).toString(), QStringLiteral("add"));
        auto inner = std::make_shared<MemoryPlan>(*made);
        inner->opened = {0};
        model.show_step(inner, 2);  // whose arguments are what it reads from outside
        QCOMPARE(said(), QStringLiteral("\u2014"));
    }

    void outline_makes_rows_when_branches_open() {
        const GraphModel graph(toy::chain(100'000, false));
        OutlineModel model;
        model.set_model(&graph);
        QCOMPARE(model.rowCount(), 0);
        QAbstractItemModelTester tester(&model, Mode::QtTest);  // opens the first level itself
        model.set_model(&graph);
        const QModelIndex deep = model.find(graph.keys_around(parse_eqn_path("54321")));
        QCOMPARE(deep.data(OutlineModel::KeyRole).toString(), QStringLiteral("54321"));
        QVERIFY(model.rowCount() <= static_cast<int>(kMaxLevelSize));
    }

    void text_colours_stand_out_from_their_ground() {
        const auto luminance = [](const char* colour) {
            const QColor c{QLatin1String(colour)};
            const auto channel = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
            return 0.2126 * channel(c.redF()) + 0.7152 * channel(c.greenF()) + 0.0722 * channel(c.blueF());
        };
        for (const Palette* p : {&light_palette(), &dark_palette()}) {
            for (const char* text :
                 {p->ink, p->muted, p->known_text, p->unknown_text, p->recomputed_text, p->residual_text, p->donated_text}) {
                for (const char* ground : {p->canvas, p->panel}) {
                    double a = luminance(text), b = luminance(ground);
                    if (a < b) std::swap(a, b);
                    QVERIFY2((a + 0.05) / (b + 0.05) >= 4.5, text);
                }
            }
        }
    }
};

JAXSCOPE_WINDOW_TESTS(ModelsTest)
#include "models_test.moc"
