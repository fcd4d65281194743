// The Jaxpr tab: the program's text as `print` gives it, in step with the selection.
#include <QTextBlock>
#include <QtTest>

#include "ir/print/printer.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class TextTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
        window_->show_tab("jaxpr");
        QTRY_VERIFY_WITH_TIMEOUT(!view()->busy(), kPatience);
    }
    void cleanup() { window_.reset(); }

    void it_is_what_print_gives() {
        QCOMPARE(view()->toPlainText(), utf8(to_text(*window_->session()->program()->jaxpr)));
        QVERIFY(wrong_on_tab(*window_, "jaxpr").isEmpty());
    }

    void every_equation_has_its_line() {
        const Jaxpr& root = *window_->session()->program()->jaxpr;
        std::vector<EqnLine> equations;
        const std::string text = to_text(root, {.lines = &equations});
        const QStringList lines = utf8(text).split('\n');
        QVERIFY(equations.size() > 500);
        std::int64_t before = 0;
        for (const EqnLine& e : equations) {
            QVERIFY(e.line >= before);  // in the order of the text
            before = e.line;
            const QString primitive = QString::fromUtf8(e.jaxpr->eqns[e.eqn].prim->name.c_str());
            // Its name stands on that line, or on one of the next: results may fill lines of their own.
            QVERIFY2(lines.mid(static_cast<int>(e.line), 6).join('\n').contains(primitive),
                     qPrintable(lines[static_cast<int>(e.line)] + " " + primitive));
        }
    }

    void an_equation_that_is_selected_elsewhere_is_marked() {
        Picked picked;
        picked.program = parse_eqn_path("0");
        window_->selection()->pick(picked);
        QCOMPARE(view()->extraSelections().size(), 1);
        const int first = view()->marked();
        QVERIFY(first > 0);
        const auto line = [&](int n) { return view()->document()->findBlockByNumber(n - 1).text(); };
        const Jaxpr& root = *window_->session()->program()->jaxpr;
        QVERIFY2(line(first).contains(QString::fromUtf8(root.eqns[0].prim->name.c_str())), qPrintable(line(first)));
        window_->selection()->clear();
        QCOMPARE(view()->marked(), 0);
    }

    void every_colour_can_be_read_in_both_themes() {
        for (const bool dark : {true, false}) {
            QVERIFY(takes_theme(*window_, dark));
            QTRY_VERIFY_WITH_TIMEOUT(!view()->busy(), kPatience);
            const QColor ground = theme()(theme().palette().canvas);
            int coloured = 0;
            for (QTextBlock line = view()->document()->begin(); line.isValid() && line.blockNumber() < 200; line = line.next())
                for (const QTextLayout::FormatRange& part : line.layout()->formats()) {
                    if (part.format.foreground().style() == Qt::NoBrush) continue;
                    QVERIFY2(contrast(part.format.foreground().color(), ground) >= kReadableContrast, qPrintable(line.text()));
                    ++coloured;
                }
            QVERIFY(coloured > 0);
        }
    }

    void a_click_selects_its_equation() {
        Picked picked;
        picked.program = parse_eqn_path("0");
        window_->selection()->pick(picked);
        const int first = view()->marked();
        window_->selection()->clear();
        QTextCursor cursor(view()->document()->findBlockByNumber(first - 1));
        view()->setTextCursor(cursor);
        view()->centerCursor();
        QTest::mouseClick(view()->viewport(), Qt::LeftButton, {}, view()->cursorRect(cursor).center());
        QVERIFY(window_->selection()->picked().program.has_value());
        QCOMPARE(view()->marked(), first);
        QCOMPARE(to_text(*window_->selection()->picked().program), std::string("0"));
    }

    void pictures() {
        Picked picked;
        picked.program = parse_eqn_path("0");
        window_->selection()->pick(picked);
        if (!takes_pictures(*window_, "Jaxpr")) QSKIP("JAXSCOPE_PICTURES names no folder");
    }

private:
    JaxprView* view() const { return window_->text_view(); }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(TextTest)
#include "text_test.moc"
