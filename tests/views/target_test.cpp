// Figures for a device that isn't there: estimated for it, and as XLA's own compiler says (a script stands for Python and XLA).
#include <QAction>
#include <QFile>
#include <QMenu>
#include <QtTest>

#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class TargetTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare() && scripts_.isValid()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
    }
    void cleanup() { window_.reset(); }

    void peaks_are_estimated_for_a_device() {
        TopBar* top = window_->top_bar();
        const std::int64_t here = window_->session()->current().plan->planned_peak;
        top->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        choose(QStringLiteral("tpu:v5p"));
        const Look &now = window_->session()->current(), &before = window_->session()->as_it_is();
        QVERIFY(now.plan->target && before.plan->target);  // like is compared with like
        QVERIFY(before.plan->planned_peak != here);
        QVERIFY2(top->target_button()->text().contains("tpu:v5p"), qPrintable(top->target_button()->text()));
        QVERIFY(top->target_button()->toolTip().contains("within"));  // how far such estimates were off
        QVERIFY(!window_->session()->can_run() && !top->run_button()->isEnabled());
        QVERIFY(top->run_button()->toolTip().contains("estimated for tpu:v5p"));
        window_->session()->undo();  // the policy; the device stays
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(window_->session()->current().plan->target);
        choose(QString());
        QCOMPARE(window_->session()->current().plan->planned_peak, here);
        QVERIFY(window_->session()->can_run());
    }

    void the_table_of_policies_follows() {
        compare();
        const std::int64_t here = window_->policies()->rows()[0].planned_peak.value();
        choose(QStringLiteral("tpu:v5p"));
        compare();
        QVERIFY(window_->policies()->rows()[0].planned_peak.value() != here);
        QCOMPARE(window_->policies()->headerData(PolicyModel::Peak, Qt::Horizontal, Qt::DisplayRole).toString(),
                 QStringLiteral("ON TPU:V5P"));
    }

    void xla_s_word_stands_beside_ours() {
        stand_in(
            "for p in asked['programs']:\n"
            "    peak = 1000 * len(p['label'])\n"
            "    print(json.dumps({'label': p['label'], 'target': 'cpu2', 'facts': {'device': 'TPU v5', 'libtpu': '1.2', "
            "'compile_seconds': 2.5,\n"
            "        'memory_analysis': {'peak_memory_in_bytes': peak, 'temp_size_in_bytes': 7}}} if p['label'] != 'dots_saveable' else\n"
            "        {'label': p['label'], 'target': 'cpu2', 'problem': 'XLA refuses the program: no'}))\n");
        action("Ask XLA about the policies (TPU")->trigger();
        QVERIFY(window_->session()->asking_xla());
        QVERIFY(window_->notice()->text().contains("XLA compiles the step under each policy"));
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->asking_xla(), kPatience);
        QVERIFY(!window_->notice()->isVisible());
        PolicyModel* model = window_->policies();
        QCOMPARE(xla("as it is", Qt::DisplayRole), QStringLiteral("7.81 KiB"));
        QCOMPARE(xla("dots_saveable", Qt::DisplayRole), QStringLiteral("\u2014"));
        QVERIFY(xla("dots_saveable", Qt::ToolTipRole).contains("XLA refuses the program"));
        QVERIFY(xla("nothing_saveable", Qt::ToolTipRole).contains("TPU v5, compiler 1.2"));
        // It stays when the figures are made again.
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        compare();
        QCOMPARE(xla("nothing_saveable", Qt::DisplayRole), QStringLiteral("15.6 KiB"));
        QVERIFY(model->rows()[0].residual_bytes.has_value());
    }

    void a_python_without_jax_is_told() {
        stand_in("sys.stderr.write(\"ModuleNotFoundError: No module named 'jax'\\n\"); sys.exit(1)\n");
        action("Ask XLA about the policies (this")->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->asking_xla(), kPatience);
        QVERIFY2(window_->notice()->text().contains("expected a Python with JAX"), qPrintable(window_->notice()->text()));
    }

    void asking_can_be_stopped() {
        stand_in("import time; time.sleep(600)\n");
        action("Ask XLA about the policies (this")->trigger();
        QTest::qWait(kAtOnce);
        QElapsedTimer timer;
        timer.start();
        action("Ask XLA about the policies (this")->trigger();
        QVERIFY(!window_->session()->asking_xla());
        QVERIFY(timer.elapsed() < kAtOnce);
        QVERIFY(!window_->notice()->isVisible());
    }

private:
    void choose(const QString& device) {
        for (QAction* a : window_->top_bar()->target_button()->menu()->actions())
            if (a->data().toString() == device) a->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
    }
    void compare() {
        window_->show_tab("policies");
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->comparing() && !window_->session()->compared().empty(), kPatience);
    }
    QAction* action(const char* begin) const {
        for (QAction* a : window_->actions())
            if (a->text().startsWith(QString::fromUtf8(begin))) return a;
        return nullptr;
    }
    QString xla(const char* policy, int role) const {
        for (int r = 0; r < window_->policies()->rowCount(); ++r)
            if (window_->policies()->words(r) == policy)
                return window_->policies()->data(window_->policies()->index(r, PolicyModel::Xla), role).toString();
        return {};
    }
    /// What `python -m jaxscope.targets.ask` is to say.
    void stand_in(const char* body) {
        QFile script(scripts_.filePath(QStringLiteral("python")));
        QVERIFY(script.open(QIODevice::WriteOnly | QIODevice::Truncate));
        script.write("#!/usr/bin/env python3\nimport json, sys\nasked = json.loads(sys.stdin.read())\n");
        script.write(body);
        script.close();
        script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        QSettings().setValue("capture/python", script.fileName());
    }

    WindowFixture fixture_;
    QTemporaryDir scripts_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(TargetTest)
#include "target_test.moc"
