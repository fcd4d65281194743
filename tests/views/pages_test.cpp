// Pages beside the pictures: what differs from another program, a report or the program as it is, and what XLA's own texts say.
#include <QFile>
#include <QtTest>

#include "base/units.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class PagesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare() && folder_.isValid()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
    }
    void cleanup() { window_.reset(); }

    void the_same_program_differs_in_nothing() {
        window_->compare_with(kSample);
        QVERIFY2(page("Compare").contains("no difference"), qPrintable(page("Compare")));
        QCOMPARE(front(), QStringLiteral("Compare"));
    }

    void a_policy_chosen_here_is_compared_with_the_program_as_it_is() {
        window_->compare_with_as_it_is();
        QVERIFY(page("Compare").contains("no difference"));
        const std::int64_t before = window_->session()->current().residuals->total_bytes;
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        window_->compare_with_as_it_is();
        const QString text = page("Compare");
        QVERIFY2(text.contains("as chosen here") && text.contains(utf8(bytes_text(before))), qPrintable(text));
        QVERIFY(text.contains(utf8(bytes_text(window_->session()->current().residuals->total_bytes))));
    }

    void another_program_and_what_is_none() {
        window_->compare_with(other("mlp"));
        const QString text = page("Compare");
        QVERIFY2(text.contains("mlp") && !text.contains("no difference"), qPrintable(text));
        const QString broken = write("broken.jaxscope", "{\"format\": 1");
        window_->compare_with(broken);
        QVERIFY2(page("Compare").contains("expected"), qPrintable(page("Compare")));
        QVERIFY(window_->session()->program());  // what is open stays
    }

    void a_comparison_goes_with_the_program_that_was_compared() {
        window_->compare_with(other("mlp"));
        QVERIFY(page("Compare").contains("mlp"));
        QVERIFY(opens(*window_, other("mlp_adam")));
        QVERIFY2(page("Compare").contains("Another program was opened"), qPrintable(page("Compare")));
    }

    void what_xla_wrote_opens_beside_the_program() {
        const QString program = window_->windowTitle();
        window_->open(dump("gpu_oom.txt"));
        QCOMPARE(front(), QStringLiteral("XLA"));
        QString text = page("XLA");
        QVERIFY2(text.contains("3.00 GiB") && text.contains("/home/me/job/train.py:3"), qPrintable(text));
        QCOMPARE(window_->windowTitle(), program);
        window_->read_xla({dump("hlo.txt"), dump("live-range.txt"), dump("buffer-assignment.txt")});
        text = page("XLA");
        QVERIFY2(text.contains("alive together at the peak") && text.contains("jit_train_step"), qPrintable(text));
        window_->read_xla({write("a.txt", "HloModule jit_f\n")});
        QVERIFY2(page("XLA").contains("expected operations of a computation"), qPrintable(page("XLA")));
    }

    void pages_are_drawn_in_both_themes() {
        window_->compare_with(other("mlp"));
        page("Compare");
        window_->read_xla({dump("tpu_oom.txt")});
        page("XLA");
        for (const bool dark : {false, true}) {
            QVERIFY(takes_theme(*window_, dark));
            for (const char* name : {"Compare", "XLA"}) {
                QVERIFY2(wrong_on_tab(*window_, name).isEmpty(), qPrintable(wrong_on_tab(*window_, name)));
                if (const QString pictures = qEnvironmentVariable("JAXSCOPE_PICTURES"); !pictures.isEmpty())
                    window_->grab().save(QStringLiteral("%1/%2-%3.png").arg(pictures, name, dark ? "dark" : "light"));
            }
        }
        window_->set_dark(false);
    }

private:
    QString page(const char* name) {
        const bool made = QTest::qWaitFor([&] { return !window_->making_page(); }, kPatience);
        return made ? window_->page(QString::fromUtf8(name))->toPlainText() : QStringLiteral("it is still being made");
    }
    QString front() const {
        for (const QTabWidget* tabs : window_->findChildren<QTabWidget*>())
            if (tabs->isAncestorOf(window_->program_view())) return tabs->tabText(tabs->currentIndex());
        return {};
    }
    QString write(const char* name, const char* text) {
        QFile file(folder_.filePath(QString::fromUtf8(name)));
        if (file.open(QIODevice::WriteOnly)) file.write(text);
        return file.fileName();
    }
    static QString other(const char* name) {
        return QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/%1.jaxscope").arg(QString::fromUtf8(name));
    }
    static QString dump(const char* name) {
        return QStringLiteral(JAXSCOPE_SOURCE_DIR "/tests/fuzz/corpus/dump/%1").arg(QString::fromUtf8(name));
    }

    WindowFixture fixture_;
    QTemporaryDir folder_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(PagesTest)
#include "pages_test.moc"
