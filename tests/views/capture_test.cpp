// Captures made from the window: a Python file, its functions, what is said when it can't be, and what happens when it is saved.
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

#include "capture_dialog.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using namespace jaxscope::app;

namespace {

const QString kPython = QStringLiteral(JAXSCOPE_SOURCE_DIR "/.venv/bin/python");

QString script(int layers) {
    return QStringLiteral(R"(import jax, jax.numpy as jnp
import shapes

def loss(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return (x ** 2).sum()

def program():
    params = [jnp.ones((64, 64)) for _ in range(%1)]
    return dict(fn=jax.value_and_grad(loss), args=(params, jnp.ones((shapes.BATCH, 64))))

def endless():
    import time
    print("it sleeps", flush=True)
    time.sleep(600)
)")
        .arg(layers);
}

}  // namespace

class CaptureTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        QVERIFY(fixture_.prepare());
        QVERIFY2(QFileInfo::exists(kPython), "test.sh makes this environment");
    }
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        window_ = new_window();
        write("train.py", script(2));
        write("shapes.py", "BATCH = 8\n");
        window_->capture();
        CaptureRequest request = request_for(path("train.py"));
        request.name = "program";
        request.python = kPython;
        dialog().set_request(request);
    }
    void cleanup() {
        window_.reset();
        folder_.reset();
    }

    void a_name_without_a_folder_lies_beside_the_script() {
        CaptureRequest request = dialog().request();
        request.output = "mine.jaxscope";
        dialog().set_request(request);
        QCOMPARE(dialog().request().output, path("mine.jaxscope"));
        dialog().start();
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->program() && settled(*window_), kPatience);
        QVERIFY(QFileInfo::exists(path("mine.jaxscope")));
    }

    void a_function_is_captured_and_opened() {
        QVERIFY(dialog().isVisible());
        const auto boxes = dialog().findChildren<QComboBox*>();
        QVERIFY(std::any_of(boxes.begin(), boxes.end(), [](const QComboBox* box) { return box->findText("endless") >= 0; }));
        button("Capture")->click();
        QVERIFY(dialog().running());
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->program() && settled(*window_), kPatience);
        QVERIFY(!dialog().isVisible());
        QVERIFY(QFileInfo::exists(path("train.jaxscope")));
        QVERIFY(window_->session()->current().residuals && !window_->session()->current().residuals->rows.empty());
        window_->show_tab("source");
        QVERIFY(window_->source_view()->code()->toPlainText().contains("jnp.tanh"));
        QCOMPARE(window_->source_view()->file_here(), path("train.py"));
    }

    void what_is_saved_is_captured_again() {
        dialog().set_watching(true);
        dialog().start();
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->program() && settled(*window_), kPatience);
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->shows_choices() && settled(*window_), kPatience);
        const auto rows = window_->session()->as_it_is().residuals->rows.size();
        write("train.py", script(3));
        QTRY_VERIFY_WITH_TIMEOUT(window_->notice()->text().startsWith("Captured again."), kPatience);
        QVERIFY2(window_->notice()->text().contains("\u2192"), qPrintable(window_->notice()->text()));
        QVERIFY(window_->session()->choices().policy != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_) && window_->session()->as_it_is().residuals->rows.size() > rows, kPatience);
        // A module that it imports is part of it; what can't be captured leaves what is there.
        window_->notice()->hide();
        write("shapes.py", "BATCH = \n");
        QTRY_VERIFY_WITH_TIMEOUT(window_->notice()->isVisible() && window_->notice()->text().contains("was saved, but not captured"),
                                 kPatience);
        QVERIFY(window_->session()->program() != nullptr);
        QVERIFY2(dialog().output_text().contains("SyntaxError"), qPrintable(dialog().output_text()));
        write("shapes.py", "BATCH = 16\n");
        QTRY_VERIFY_WITH_TIMEOUT(window_->notice()->text().startsWith("Captured again."), kPatience);
    }

    void what_went_wrong_is_told_in_the_words_of_the_dialog() {
        write("list.py", "def step():\n    return [1]\n");
        CaptureRequest request = request_for(path("list.py"));
        request.name = "step";
        request.python = kPython;
        dialog().set_request(request);
        dialog().start();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog().running(), kPatience);
        const QString said = dialog().status_text();
        QVERIFY2(said.contains(QStringLiteral("(\u201cArguments\u201d captures the function itself)")) && !said.contains("--"),
                 qPrintable(said));
    }

    /// What is there already may be somebody's: it goes by a second click alone, and not at all under another name.
    void a_file_that_is_there_is_overwritten_when_asked_twice() {
        write("train.jaxscope", "somebody's");
        QPushButton* start = button("Capture");
        start->click();
        QVERIFY(!dialog().running());
        QVERIFY2(dialog().status_text().startsWith("train.jaxscope is there already."), qPrintable(dialog().status_text()));
        QCOMPARE(start->text(), QStringLiteral("Overwrite"));
        CaptureRequest request = dialog().request();
        request.output = path("mine.jaxscope");
        dialog().set_request(request);
        QCOMPARE(start->text(), QStringLiteral("Capture"));
        request.output = path("train.jaxscope");
        dialog().set_request(request);
        start->click();
        QVERIFY(dialog().running());
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->program() && settled(*window_), kPatience);
        // Its own it writes again without asking.
        window_->capture();
        start->click();
        QVERIFY(dialog().running());
        QTRY_VERIFY_WITH_TIMEOUT(!dialog().running(), kPatience);
    }

    void a_python_file_that_is_opened_is_asked_about() {
        const auto window = new_window();
        window->open(path("train.py") + ":endless");
        QVERIFY(window->capture_dialog() != nullptr);
        QTRY_VERIFY(window->capture_dialog()->isVisible() && !window->capture_dialog()->running());
        QCOMPARE(window->capture_dialog()->request().file, path("train.py"));
        QCOMPARE(window->capture_dialog()->request().name, QStringLiteral("endless"));
        QVERIFY(window->notice()->text().isEmpty() && window->nothing_open());
    }

    void functions_that_say_what_to_capture_come_first() {
        QCOMPARE(functions_of(path("train.py")), (QStringList{"program", "endless", "loss"}));
    }

    void a_capture_is_cancelled() {
        CaptureRequest request = dialog().request();
        request.name = "endless";
        dialog().set_request(request);
        dialog().start();
        QTRY_VERIFY_WITH_TIMEOUT(dialog().output_text().contains("it sleeps"), kPatience);
        button("Cancel")->click();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog().running(), 5000);
        QCOMPARE(dialog().status_text(), QStringLiteral("The capture was cancelled."));
        QVERIFY(!QFileInfo::exists(path("train.jaxscope")) && !window_->session()->program());
    }

    void a_script_is_run_as_it_is() {
        write("main.py",
              "import sys, jax, jax.numpy as jnp\n@jax.jit\ndef step(x):\n    return jnp.sin(x).sum()\nstep(jnp.ones(int(sys.argv[1])))\n");
        CaptureRequest request = request_for(path("main.py"));
        request.how = CaptureRequest::How::Script;
        request.name = "step";
        request.arguments = "24";
        request.python = kPython;
        dialog().set_request(request);
        QCOMPARE(dialog().request().output, path("main.jaxscope"));
        dialog().start();
        QTRY_VERIFY2_WITH_TIMEOUT(window_->session()->program() && settled(*window_), qPrintable(dialog().output_text()), kPatience);
        const Jaxpr& jaxpr = *window_->session()->program()->jaxpr;
        QCOMPARE(to_text(jaxpr.in_avals().front()), std::string("f32[24]"));
    }

    void what_is_missing_is_said() {
        const auto said = [&](auto change) {
            CaptureRequest request = request_for(path("train.py"));
            request.name = "program";
            request.python = kPython;
            change(request);
            return request.problem();
        };
        QVERIFY(said([](CaptureRequest&) {}).isEmpty());
        QVERIFY(said([](CaptureRequest& r) { r.file = "/nowhere/at all.py"; }).contains("/nowhere/at all.py"));
        QVERIFY(said([](CaptureRequest& r) { r.name.clear(); }).contains("function"));
        CaptureRequest request = dialog().request();
        request.name = "progam";
        dialog().set_request(request);
        dialog().start();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog().running(), kPatience);
        QVERIFY2(dialog().status_text().contains("progam"), qPrintable(dialog().status_text()));
        QVERIFY(dialog().isVisible() && !window_->session()->program());
        set_runner("/no/such/program");
        dialog().start();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog().running(), kPatience);
        set_runner(kRunner);
        QVERIFY2(dialog().status_text().contains("/no/such/program"), qPrintable(dialog().status_text()));
    }

private:
    CaptureDialog& dialog() { return *window_->capture_dialog(); }
    QPushButton* button(const char* text) {
        for (QPushButton* one : dialog().findChildren<QPushButton*>())
            if (one->text() == QLatin1String(text)) return one;
        qFatal("no button %s", text);
    }
    QString path(const char* name) const { return folder_->filePath(QString::fromUtf8(name)); }
    void write(const char* name, const QString& text) {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly)) qFatal("can't write %s", name);
        file.write(text.toUtf8());
    }
    WindowFixture fixture_;
    std::unique_ptr<QTemporaryDir> folder_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(CaptureTest)
#include "capture_test.moc"
