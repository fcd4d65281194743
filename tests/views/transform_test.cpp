// The Transforms tab: what the transformations make of the loss, and what becomes of one equation.
#include <QTextBlock>
#include <QtTest>

#include "analysis/equations/eqn_path.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;
using Kind = TransformStage::Kind;

class TransformTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
        window_->show_tab("transforms");
        QTRY_VERIFY_WITH_TIMEOUT(made(), kPatience);
    }
    void cleanup() { window_.reset(); }

    void every_stage_has_its_text() {
        QVERIFY(wrong_on_tab(*window_, "transforms").isEmpty());
        const auto& stages = window_->session()->current().inspection->transformed();
        QCOMPARE(stages.size(), std::size_t(7));
        for (const TransformStage& stage : stages) {
            QVERIFY2(stage.jaxpr, stage.problem.c_str());
            view()->show_stage(stage.kind, true);
            QTRY_VERIFY_WITH_TIMEOUT(!view()->text(stage.kind)->equations().empty() && !view()->busy(), kPatience);
            QVERIFY(view()->text(stage.kind)->toPlainText().startsWith(QStringLiteral("{ lambda")) ||
                    view()->text(stage.kind)->toPlainText().startsWith(QStringLiteral("let ")));
        }
        view()->show_stage(Kind::Vmap, false);
        QVERIFY(!view()->is_shown(Kind::Vmap));
    }

    void the_split_is_the_one_of_the_other_tab() {
        const auto& split = *window_->session()->current().split;
        QCOMPARE(lines_of(Kind::Known), count_of(*split.known));
    }

    /// A product of the forward pass has two in the backward pass, and all stand at its place in the program.
    void what_an_equation_became_is_marked_everywhere() {
        const EqnLine product = first(Kind::Function, "dot_general");
        const TracebackRef place = product.jaxpr->eqns[product.eqn].source->traceback;
        Picked picked;
        picked.program = traced_at(*window_->session()->program()->jaxpr, place);
        QVERIFY(picked.program.has_value());
        window_->selection()->pick(picked);
        for (const Kind kind : {Kind::Function, Kind::Known, Kind::Transposed}) {
            const std::vector<int> lines = view()->text(kind)->marked_lines();
            QVERIFY(!lines.empty());
            QString marked;
            for (const int line : lines)
                for (int below = 0; below < 4; ++below) marked += view()->text(kind)->document()->findBlockByNumber(line + below).text();
            QVERIFY2(marked.contains("dot_general"), qPrintable(marked));
        }
        window_->selection()->clear();
        for (const Kind kind : {Kind::Function, Kind::Known, Kind::Transposed}) QVERIFY(view()->text(kind)->marked_lines().empty());
    }

    void pointing_at_it_does_so_for_as_long_as_that() {
        const EqnLine product = first(Kind::Transposed, "dot_general");
        JaxprText* text = view()->text(Kind::Transposed);
        Q_EMIT text->pointed_at(&product);
        QVERIFY(!view()->text(Kind::Function)->marked_lines().empty());
        Q_EMIT text->pointed_at(nullptr);
        QVERIFY(view()->text(Kind::Function)->marked_lines().empty());
    }

    void a_click_selects_what_it_came_from() {
        JaxprText* text = view()->text(Kind::Transposed);
        const EqnLine product = first(Kind::Transposed, "dot_general");
        const QTextCursor cursor(text->document()->findBlockByNumber(static_cast<int>(product.line)));
        text->setTextCursor(cursor);
        text->centerCursor();
        QTest::mouseClick(text->viewport(), Qt::LeftButton, {}, text->cursorRect(cursor).center());
        const auto path = window_->selection()->picked().program;
        QVERIFY(path.has_value());
        const Eqn& e = resolve(*window_->session()->program()->jaxpr, *path);
        QCOMPARE(e.source->traceback.id(), product.jaxpr->eqns[product.eqn].source->traceback.id());
    }

    /// Under another policy the stages are others: what is recomputed moves behind the split.
    void a_policy_changes_them() {
        const int before = lines_of(Kind::Known);
        window_->top_bar()->enter_policy(QStringLiteral("nothing_saveable"));
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_) && window_->session()->shows_choices() && made(), kPatience);
        QTRY_VERIFY_WITH_TIMEOUT(lines_of(Kind::Known) != before, kPatience);
        QVERIFY(view()->text(Kind::Function)->toPlainText().contains("remat"));
    }

    void pictures() {
        const EqnLine product = first(Kind::Function, "dot_general");
        Q_EMIT view()->text(Kind::Function)->clicked(&product);
        if (!takes_pictures(*window_, "Transforms")) QSKIP("JAXSCOPE_PICTURES names no folder");
    }

private:
    TransformView* view() const { return window_->transform_view(); }
    bool made() const { return !view()->busy() && !view()->text(Kind::Function)->equations().empty(); }
    int lines_of(Kind kind) const { return static_cast<int>(view()->text(kind)->equations().size()); }
    static int count_of(const Jaxpr& j) {
        std::vector<EqnLine> equations;
        to_text(j, {.lines = &equations});
        return static_cast<int>(equations.size());
    }
    EqnLine first(Kind kind, const char* primitive) const {
        for (const EqnLine& e : view()->text(kind)->equations())
            if (std::string_view(e.jaxpr->eqns[e.eqn].prim->name.c_str()) == primitive) return e;
        return {};
    }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(TransformTest)
#include "transform_test.moc"
