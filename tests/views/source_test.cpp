// The Source tab: what each line holds, in step with every other view.
#include <QComboBox>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QtTest>

#include "base/units.h"
#include "io/capture/writer.h"
#include "picture/find.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class SourceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
        window_->show_tab("source");
    }
    void cleanup() { window_.reset(); }

    void lines_hold_what_the_residual_table_says() {
        QVERIFY(code().isVisible());
        QVERIFY(code().toPlainText().contains("checkpoint_name"));
        const ResidualReport& report = *window_->session()->current().residuals;
        std::map<int, std::int64_t> saved;
        std::int64_t all = 0;
        for (const ResidualRow& row : report.rows)
            if (row.line > 0) saved[row.line] += row.bytes, all += row.bytes;
        QVERIFY(saved.size() > 5);
        for (const auto& [line, bytes] : saved) QCOMPARE(code().margin_text(line).section('|', 0, 0), utf8(bytes_text(bytes)));
        QVERIFY(view().files()->currentText().contains(utf8(bytes_text(all))));
        // What stands on them at the peak is what the plan says.
        const MemoryPlan& plan = *window_->session()->current().plan;
        std::map<int, std::int64_t> at_peak;
        for (const int b : plan.at_peak) {
            const PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
            if (const Frame* own = buffer.source.user_frame(); own != nullptr && buffer.role != BufferRole::Argument)
                at_peak[own->line] += buffer.bytes;
        }
        QVERIFY(!at_peak.empty());
        for (const auto& [line, bytes] : at_peak) QCOMPARE(code().margin_text(line).section('|', 1), utf8(bytes_text(bytes)));
        QVERIFY(code().margin_text(1).isEmpty());
    }

    void a_click_on_a_line_picks_what_it_saves() {
        const ResidualReport& report = *window_->session()->current().residuals;
        const auto row = std::find_if(report.rows.begin(), report.rows.end(), [](const ResidualRow& r) { return r.name == "mlp_in"; });
        QVERIFY(row != report.rows.end());
        click(row->line);
        const Picked& picked = window_->selection()->picked();
        QVERIFY(picked.residual && picked.program);
        QCOMPARE(find_residual(report, *picked.residual)->line, row->line);
        QCOMPARE(code().marked(), row->line);
        // A line that holds nothing is its equation; one without any, nothing.
        const auto plain = plain_line();
        QVERIFY(plain > 0);
        click(plain);
        QVERIFY(window_->selection()->picked().program && !window_->selection()->picked().residual);
        click(1);
        QVERIFY(window_->selection()->picked().empty());
    }

    void it_follows_the_other_views() {
        const ResidualReport& report = *window_->session()->current().residuals;
        for (const ResidualRow& row : report.rows) {
            if (row.line <= 0) continue;
            Picked picked;
            picked.residual = row.id;
            window_->selection()->pick(picked);
            QCOMPARE(code().marked(), row.line);
            const QTextBlock block = code().document()->findBlockByNumber(row.line - 1);
            QVERIFY(block.isValid());
        }
        window_->selection()->clear();
        QCOMPARE(code().marked(), 0);
    }

    void a_policy_changes_the_figures_and_keeps_the_file() {
        const QString before = view().files()->currentData().toString();
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->shows_choices() && settled(*window_), kPatience);
        QCOMPARE(view().files()->currentData().toString(), before);
        const ResidualReport& report = *window_->session()->current().residuals;
        for (int line = 1; line <= code().blockCount(); ++line) {
            std::int64_t bytes = 0;
            for (const ResidualRow& row : report.rows) bytes += row.line == line ? row.bytes : 0;
            QCOMPARE(code().margin_text(line).section('|', 0, 0), bytes > 0 ? utf8(bytes_text(bytes)) : QString());
        }
    }

    void a_run_brings_the_time_of_each_line() {
        window_->session()->run();
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->running(), kPatience);
        const Look& look = window_->session()->current();
        QVERIFY2(look.run && look.line_times, qPrintable(look.problems.value("run")));
        QVERIFY(look.line_times->size() > 5);
        for (const LineTime& time : *look.line_times) {
            QVERIFY(time.seconds > 0);
            QVERIFY(code().margin_text(time.line).endsWith('|' + utf8(seconds_text(time.seconds))));
        }
        window_->top_bar()->enter_policy("nothing_saveable");  // which was not run
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->shows_choices() && settled(*window_), kPatience);
        QVERIFY(!window_->session()->current().line_times);
    }

    void what_has_no_text_says_why() {
        QTemporaryDir folder;
        Program bare = *window_->session()->program();
        for (SourceFile& file : bare.files) file.text.reset();
        const QString file = folder.filePath("bare.jaxscope");
        write_capture(bare, file.toStdString());
        QVERIFY(opens(*window_, file));
        QTRY_VERIFY_WITH_TIMEOUT(says(view(), "--no-source"), kPatience);
        QVERIFY(!code().isVisible());
    }

    void a_program_of_cpp_shows_its_lines() {
        QVERIFY(opens(*window_, QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp_adam.jaxscope")));
        QTRY_VERIFY_WITH_TIMEOUT(code().isVisible() && view().files()->currentText().startsWith("mlp_adam.cpp"), kPatience);
        QVERIFY(code().toPlainText().contains("#include <jaxscope/jax.h>"));
        const ResidualReport& report = *window_->session()->current().residuals;
        const auto row = std::find_if(report.rows.begin(), report.rows.end(), [](const ResidualRow& r) { return r.name == "hidden"; });
        QVERIFY(row != report.rows.end());
        QVERIFY(code().document()->findBlockByNumber(row->line - 1).text().contains("\"hidden\""));
        QCOMPARE(code().margin_text(row->line).section('|', 0, 0), utf8(bytes_text(row->bytes)));
    }

    void the_editor_gets_file_and_line() {
        QTemporaryDir folder;
        const QString said = folder.filePath("said");
        const QString script = folder.filePath("an editor");
        QFile file(script);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(("#!/bin/sh\nprintf '%s' \"$1\" > '" + said + "'\n").toUtf8());
        file.close();
        QVERIFY(file.setPermissions(QFileDevice::ReadOwner | QFileDevice::ExeOwner));
        qputenv("JAXSCOPE_EDITOR", ("\"" + script + "\" {file}:{line}").toUtf8());
        Q_EMIT view().open_requested(folder.filePath("model {line}.py"), 12);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(said) && QFileInfo(said).size() > 0, kPatience);
        QFile read(said);
        QVERIFY(read.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(read.readAll()), folder.filePath("model {line}.py") + ":12");
        qputenv("JAXSCOPE_EDITOR", "no-such-editor-at-all");
        Q_EMIT view().open_requested(folder.filePath("model.py"), 1);
        QVERIFY(window_->notice()->text().contains("no-such-editor-at-all"));
        qunsetenv("JAXSCOPE_EDITOR");
    }

private:
    SourceView& view() { return *window_->source_view(); }
    CodePane& code() { return *view().code(); }
    void click(int line) { Q_EMIT code().line_clicked(line); }
    /// A line with an equation that holds nothing.
    int plain_line() {
        for (int line = 1; line <= code().blockCount(); ++line)
            if (code().margin_text(line).isEmpty() &&
                equation_at_line(*window_->session()->program()->jaxpr, view().files()->currentData().toString().toStdString(), line))
                return line;
        return 0;
    }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(SourceTest)
#include "source_test.moc"
