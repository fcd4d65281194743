// Choices made in the window: typed, refused, undone, kept when a file is read again; and what the figures are said to be of.
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>

#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

const QString kSmall = QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp.jaxscope");

/// It has a derivative, but no pullback: reverse mode can't go through a loop of unknown length.
constexpr const char* kForwardOnly = R"({ lambda ; a:f32[8]. let
    b:f32[8] = sin a
    c:i32[] d:f32[8] = while[
      body_jaxpr={ lambda ; e:i32[] f:f32[8]. let
          g:i32[] = add e 1:i32[]
          h:f32[8] = mul f 2.0:f32[]
        in (g, h) }
      body_nconsts=0
      cond_jaxpr={ lambda ; i:i32[] j:f32[8]. let
          k:bool[] = lt i 20:i32[]
        in (k,) }
      cond_nconsts=0
    ] 0:i32[] b
  in (d,) }
)";

/// Three equal layers, one after the other.
constexpr const char* kBlocks = R"({ lambda ; x:f32[64,8] a:f32[8,8] b:f32[8,8] c:f32[8,8]. let
    d:f32[64,8] = dot_general[dimension_numbers=(([1], [0]), ([], []))] x a
    e:f32[64,8] = sin d
    f:f32[64,8] = dot_general[dimension_numbers=(([1], [0]), ([], []))] e b
    g:f32[64,8] = sin f
    h:f32[64,8] = dot_general[dimension_numbers=(([1], [0]), ([], []))] g c
    i:f32[64,8] = sin h
    j:f32[] = reduce_sum[axes=(0, 1)] i
  in (j,) }
)";

}  // namespace

class ChoicesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_, kSmall));
    }
    void cleanup() { window_.reset(); }

    void enter_is_one_choice() {
        // One that the box offers and one that it doesn't, each typed and entered.
        for (const char* policy : {"around: nothing_saveable", "save_only_these_names(h)"}) {
            type(policy);
            QVERIFY(session().choices().policy != nullptr);
            session().undo();
            QVERIFY2(!session().can_undo(), policy);
            QCOMPARE(box().currentText(), QStringLiteral("as it is"));
        }
        // To choose again what is chosen is no choice; however it is written.
        type("nothing_saveable");
        type("jax.checkpoint_policies.nothing_saveable");
        session().undo();
        QVERIFY(!session().can_undo());
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
    }

    void a_policy_stands_around_each_block() {
        open("blocks.jaxpr", kBlocks);
        type("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        const std::int64_t around_all = session().current().residuals->total_bytes;
        type("each block: nothing_saveable");
        QVERIFY(session().choices().each_block);
        QCOMPARE(box().currentText(), QStringLiteral("each block: nothing_saveable"));
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        // What goes from block to block is kept: two values of 2 KiB that are kept by nothing around the whole function.
        QCOMPARE(session().current().residuals->total_bytes, around_all + 2 * 64 * 8 * 4);
        type("as it is");
        QVERIFY(!session().choices().each_block && !session().choices().changes_program());
    }

    void undo_in_the_policy_box_undoes_the_choice() {
        window_->activateWindow();
        type("nothing_saveable");
        QVERIFY(session().can_undo());
        // What is typed is undone first, as in any line.
        box().setFocus();
        box().lineEdit()->selectAll();
        QTest::keyClicks(&box(), "dots");
        QCOMPARE(box().currentText(), QStringLiteral("dots"));
        while (box().lineEdit()->isUndoAvailable()) QTest::keySequence(&box(), QKeySequence::Undo);
        QVERIFY(session().can_undo());
        QTest::keySequence(&box(), QKeySequence::Undo);
        QVERIFY(!session().can_undo());
        QCOMPARE(box().currentText(), QStringLiteral("as it is"));
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
    }

    void what_is_no_policy_is_told_once_and_the_box_shows_what_applies() {
        type("dots_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        const QString peak = window_->top_bar()->peak_text();
        type("save_evrything(");
        QVERIFY(!session().busy());
        QCOMPARE(box().currentText(), QStringLiteral("around: dots_saveable"));
        QCOMPARE(window_->top_bar()->peak_text(), peak);
        QCOMPARE(times_said(*window_, "save_evrything( is no policy") + times_said(*window_, "save_evrything(\u201d is no policy"), 1);
        QVERIFY2(window_->notice()->text().contains("\u201caround: dots_saveable\u201d"), qPrintable(window_->notice()->text()));
        // Other choices are made in spite of it, under the policy that applies.
        Choices other = session().choices();
        other.region = Choices::kProgram;
        session().choose(other);
        QVERIFY(session().choices().policy != nullptr);
        // It can be corrected where it was written.
        window_->notice()->findChild<QPushButton*>()->click();
        QCOMPARE(box().currentText(), QStringLiteral("save_evrything("));
        type("everything_saveable");
        QCOMPARE(box().currentText(), QStringLiteral("around: everything_saveable"));
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
    }

    void what_was_typed_but_not_entered_goes_with_the_focus() {
        window_->activateWindow();
        box().setFocus();
        box().lineEdit()->selectAll();
        QTest::keyClicks(&box(), "nothing");
        QVERIFY(says(*window_, "Enter applies it"));
        window_->top_bar()->search()->setFocus();
        QCOMPARE(box().currentText(), QStringLiteral("as it is"));
        QVERIFY(!says(*window_, "Enter applies it"));
    }

    void a_window_goes_while_somebody_chooses_in_it() {
        type("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        window_->activateWindow();
        box().setFocus();
        QTRY_VERIFY(box().hasFocus());
        // What the box does when the focus leaves it, it does while there is a session.
        bool there = true, left_in_time = false;
        connect(&session(), &QObject::destroyed, this, [&] { there = false; });
        connect(box().lineEdit(), &QLineEdit::editingFinished, this, [&] { left_in_time = there; });
        window_.reset();
        QVERIFY(left_in_time && !there);
    }

    void reading_the_file_again_keeps_choices_and_history() {
        type("nothing_saveable");
        type("everything_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        const Choices chosen = session().choices();
        const ProgramPtr before = session().program();
        const std::int64_t bytes = session().current().residuals->total_bytes;
        QTest::keyClick(window_.get(), Qt::Key_F5);
        QTRY_VERIFY_WITH_TIMEOUT(session().program() != before && settled(*window_), kPatience);
        QVERIFY(session().choices() == chosen);
        QCOMPARE(session().current().residuals->total_bytes, bytes);
        QCOMPARE(box().currentText(), QStringLiteral("around: everything_saveable"));
        QVERIFY(session().as_it_is().residuals && session().as_it_is().residuals != session().current().residuals);
        session().undo();
        QCOMPARE(box().currentText(), QStringLiteral("around: nothing_saveable"));
        session().undo();
        QVERIFY(!session().can_undo());
        // Another file has none of them.
        type("nothing_saveable");
        window_->open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(window_->windowTitle().startsWith("transformer_lm") && settled(*window_), kPatience);
        QVERIFY(!session().can_undo() && !session().choices().policy);
    }

    void choices_follow_names_into_another_capture() {
        Region first, second;
        first.name = Sym("loss");
        second.name = Sym("penalty");
        Program from, to;
        from.regions = {first, second};
        from.arg_names = {Sym("params"), Sym("x"), Sym("key")};
        to.regions = {second, first};
        to.arg_names = {Sym("x"), Sym("params")};
        Choices c;
        c.region = 1;
        c.donate = std::vector<int>{0, 2};
        c.wrt = std::vector<int>{3};
        from.in_paths = {Sym("params['w']"), Sym("x")};
        to.in_paths = {Sym("x"), Sym("params['w']")};
        c.kept_back = {0};
        const Choices moved = carried_over(c, from, to);
        QCOMPARE(moved.region, 0);
        QVERIFY(moved.donate == std::vector<int>{1});
        QVERIFY2(moved.kept_back == std::vector<int>{1}, "a leaf is found by its path");
        QVERIFY(moved.wrt == c.wrt);
        to.regions = {first};
        QCOMPARE(carried_over(c, from, to).region, Choices::kAuto);
        QVERIFY(!carried_over(c, from, to).wrt);
    }

    void the_overview_says_what_its_figures_are_of() {
        // A loss that differentiates nothing is planned as it is, until its gradient is asked for: then its residuals and its peak are
        // that's.
        const auto overview = [&] {
            QString all;
            for (const std::string& s : window_->inspector()->explanation().sentences) all += QString::fromStdString(s) + "\n";
            return all;
        };
        open("loss.jaxpr",
             "{ lambda ; a:f32[1024]. let b:f32[1024] = sin a; c:f32[1024] = mul b b; d:f32[] = reduce_sum[axes=(0,)] c in (d,) }");
        QVERIFY2(overview().contains("Memory of the program peaks"), qPrintable(overview()));
        QVERIFY2(overview().contains("Differentiated, it would keep"), qPrintable(overview()));
        QVERIFY(says(*window_, "if this were differentiated"));
        differentiate();
        QVERIFY2(overview().contains("Memory of value and gradient peaks"), qPrintable(overview()));
        QVERIFY2(overview().contains("The backward pass keeps"), qPrintable(overview()));
        QVERIFY(!says(*window_, "if this were differentiated"));
        // Nor is a gradient promised that can't be had.
        open("forward.jaxpr", kForwardOnly);
        QTRY_VERIFY_WITH_TIMEOUT(overview().contains("The program has no backward pass"), kPatience);
        QVERIFY2(!overview().contains("Differentiated, it would keep"), qPrintable(overview()));
        differentiate();
        QCOMPARE(window_->top_bar()->difference_text(), QStringLiteral("not differentiable"));
        QVERIFY2(overview().contains("Memory of the program peaks"), qPrintable(overview()));
        QVERIFY2(!overview().contains("The backward pass keeps"), qPrintable(overview()));
        QVERIFY2(overview().contains("The program has no backward pass, and the peak is without one"), qPrintable(overview()));
    }

    void what_means_nothing_here_is_not_offered_and_goes_back() {
        const auto offers = [&](const char* where) {
            for (int i = 0; i < box().count(); ++i)
                if (box().itemText(i).startsWith(QString::fromUtf8(where))) return true;
            return false;
        };
        open("blocks.jaxpr", kBlocks);
        QVERIFY(offers("around:") && offers("each block:") && !offers("inside:"));
        open("plain.jaxpr",
             "{ lambda ; a:f32[1024]. let b:f32[1024] = sin a; c:f32[1024] = mul b b; d:f32[] = reduce_sum[axes=(0,)] c in (d,) }");
        QVERIFY(offers("around:") && !offers("each block:") && !offers("inside:"));
        const Choices before = session().choices();
        type("each block: nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(window_->notice()->text().contains("can't be applied here"), kPatience);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(session().choices() == before);
        QCOMPARE(box().currentText(), QStringLiteral("as it is"));
        QVERIFY(session().current().residuals != nullptr);
    }

    void a_program_without_a_gradient_is_planned_as_it_is_until_it_is_differentiated() {
        open("plain.jaxpr", "{ lambda ; a:f32[1024]. let b:f32[1024] = sin a; c:f32[1024] = mul b b in (c,) }");
        const QString differentiated = QStringLiteral("the program, differentiated");
        QComboBox& region = *window_->top_bar()->region_box();
        QCOMPARE(region.currentText(), QStringLiteral("the program as it is"));
        QCOMPARE(session().current().plan->planned_peak, Inspection(session().program(), {}).plan().planned_peak);
        QCOMPARE(window_->top_bar()->difference_text(), QString());
        const QString as_it_is = window_->top_bar()->peak_text();
        differentiate();
        QCOMPARE(region.currentText(), differentiated);
        QVERIFY(session().current().step->of.kind == StepName::Kind::ValueAndPullback);
        // What it is told against is the same kind of step.
        type("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(session().as_it_is().step->of == session().current().step->of);
        // To take the gradient away takes the policy along; both come back.
        region.setCurrentIndex(0);
        Q_EMIT region.activated(0);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(!session().choices().changes_program());
        QCOMPARE(window_->top_bar()->peak_text(), as_it_is);
        session().undo();
        QCOMPARE(region.currentText(), differentiated);
        QVERIFY(session().choices().policy);
        // A policy is about a gradient.
        session().undo();
        session().undo();
        QCOMPARE(region.currentText(), QStringLiteral("the program as it is"));
        type("dots_saveable");
        QCOMPARE(region.currentText(), differentiated);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(session().as_it_is().step->of == session().current().step->of);
    }

private:
    void differentiate() {
        window_->top_bar()->differentiate(true);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QTest::qWait(1);  // the overview follows
    }
    Session& session() { return *window_->session(); }
    QComboBox& box() { return *window_->top_bar()->policy_box(); }
    void type(const char* text) {
        box().setFocus();
        box().lineEdit()->selectAll();
        QTest::keyClicks(box().lineEdit(), text);
        QTest::keyClick(box().lineEdit(), Qt::Key_Return);
    }
    void open(const char* name, const char* text) {
        QFile file(folder_.filePath(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
        file.close();
        window_->open(file.fileName());
        QTRY_VERIFY_WITH_TIMEOUT(window_->windowTitle().startsWith(name) && settled(*window_), kPatience);
    }

    WindowFixture fixture_;
    QTemporaryDir folder_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(ChoicesTest)
#include "choices_test.moc"
