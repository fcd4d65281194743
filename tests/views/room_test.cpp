// What has too little room: it ends in dots or stands in two lines, nothing lies over anything else, and what says nothing takes none.
#include <QLineEdit>
#include <QRegularExpression>
#include <QSet>
#include <QSplitter>
#include <QTabBar>
#include <QTableView>
#include <QtTest>

#include "commands/choice_box.h"
#include "commands/short_paths.h"
#include "commands/short_texts.h"
#include "compare/budget_box.h"
#include "donation/donation_view.h"
#include "graph/first_window.h"
#include "picture/graph_layout.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

const QChar kDots(0x2026);
const QString kSharded = QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp_sharded.jaxscope");

}  // namespace

class RoomTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() { window_ = new_window(); }
    void cleanup() { window_.reset(); }

    void a_label_without_room_ends_in_dots() {
        ShortLabel label(QStringLiteral("3 582 equations, JAX 0.10.2"));
        label.resize(label.sizeHint());
        QCOMPARE(label.shown_text(), label.text());
        label.resize(label.sizeHint().width() / 2, label.sizeHint().height());
        QVERIFY2(label.shown_text().endsWith(kDots), qPrintable(label.shown_text()));
        QVERIFY(QFontMetrics(label.font()).horizontalAdvance(label.shown_text()) <= label.width());
        QVERIFY(label.minimumSizeHint().width() < label.width());
        QVERIFY(label.text().endsWith(QStringLiteral("0.10.2")));
    }

    /// Blocks of a model have the same names inside: what tells them apart stays, what all of them begin with goes.
    void a_path_keeps_what_tells_it_apart() {
        QCOMPARE(parts_of_path("state[0].mu['a.b[c]'][\"d\"]"), (std::vector<std::string>{"state", "[0]", ".mu", "['a.b[c]']", "[\"d\"]"}));
        std::vector<std::string> paths;
        for (int block = 0; block < 6; ++block)
            for (const char* leaf : {"['attn']['key']['kernel']", "['attn']['key']['bias']", "['attn']['query']['bias']",
                                     "['mlp']['kernel']", "['mlp']['bias']"})
                paths.push_back("state.params['params']['h_" + std::to_string(block) + "']" + leaf);
        const ShortPaths known(paths);
        const QFontMetrics letters(mono_font(11));
        const int whole = letters.horizontalAdvance(utf8(paths[0]));
        for (const int percent : {100, 80, 65, 50}) {
            QSet<QString> shown;
            for (const std::string& path : paths) {
                const QString text = known.shown(path, letters, whole * percent / 100);
                QVERIFY2(letters.horizontalAdvance(text) <= whole * percent / 100, qPrintable(text));
                QVERIFY2(text.startsWith("state") && text.contains(QRegularExpression("'h_[0-5]'")), qPrintable(text));
                shown.insert(text);
            }
            if (percent > 60) QCOMPARE(shown.size(), static_cast<int>(paths.size()));
        }
        QCOMPARE(known.shown(paths[0], letters, whole * 80 / 100), utf8("state\u2026['h_0']['attn']['key']['kernel']"));
        QCOMPARE(known.shown(paths[0], letters, whole * 67 / 100), utf8("state\u2026['h_0']['attn']['key']['ker\u2026']"));
    }

    void donated_blocks_are_told_apart_in_a_narrow_window() {
        window_->resize(1280, 800);
        QVERIFY(opens(*window_));
        window_->show_tab("donated");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        const auto* canvas = window_->findChild<DonationCanvas*>();
        QVERIFY(canvas != nullptr && canvas->order().size() > 100);
        QSet<QString> shown;
        for (const int leaf : canvas->order()) shown.insert(canvas->shown_path(leaf));
        QStringList all = shown.values();
        all.sort();
        QVERIFY2(shown.size() * 100 >= 99 * static_cast<int>(canvas->order().size()), qPrintable(all.join('\n')));
    }

    void a_choice_without_room_ends_in_dots_and_its_list_is_wide_enough() {
        ChoiceBox box;
        box.addItems({QStringLiteral("next_token_loss (auto)"), QStringLiteral("next_token_loss \u00b7 wrt params state batch key")});
        box.resize(90, 26);
        box.show();
        QVERIFY2(box.shown_text().endsWith(kDots), qPrintable(box.shown_text()));
        box.showPopup();
        QVERIFY(box.view()->width() >= box.view()->sizeHintForColumn(0));
        box.hidePopup();
    }

    void boxes_of_the_top_bar_are_as_wide_as_their_choices_where_the_window_is() {
        window_->resize(1600, 1000);
        QVERIFY(opens(*window_));
        int seen = 0;
        for (const auto* button : window_->findChildren<QToolButton*>())
            if (const auto* donate = dynamic_cast<const ShortButton*>(button)) {
                QCOMPARE(donate->shown_text(), donate->text());
                ++seen;
            }
        QCOMPARE(seen, 1);
        const auto* region = static_cast<ChoiceBox*>(window_->top_bar()->region_box());
        QCOMPARE(region->shown_text(), region->currentText());
        // What is more belongs to the title: the boxes stay beside each other.
        window_->resize(3000, 1000);
        const QWidget* bar = window_->top_bar();
        const auto x_of = [&](const QWidget* w) { return w->mapTo(bar, QPoint()).x(); };
        QVERIFY(x_of(window_->top_bar()->policy_box()) - x_of(region) < region->width() + 20);
    }

    void the_window_fits_a_screen_of_540_lines_with_and_without_recent_files() {
        for (const QStringList& recent : {QStringList(), QStringList(kSample)}) {
            window_->start_page()->set_recent(recent);
            window_->resize(960, 540);
            QCoreApplication::processEvents();
            QCOMPARE(window_->size(), QSize(960, 540));
        }
    }

    void the_budget_stays_small_on_a_wide_screen() {
        window_->resize(3000, 1000);
        window_->show_tab("policies");
        QCoreApplication::processEvents();
        const auto* budget = window_->findChild<BudgetBox*>();
        QVERIFY(budget->isVisible());
        QVERIFY2(budget->width() < 260, qPrintable(QString::number(budget->width())));
    }

    void it_is_seen_where_the_keyboard_is() {
        QVERIFY(opens(*window_));
        QTRY_VERIFY(window_->session()->can_run());
        QWidget* elsewhere = window_->top_bar()->search();
        for (QWidget* at : std::initializer_list<QWidget*>{window_->top_bar()->run_button(), window_->top_bar()->target_button(),
                                                           window_->findChild<QTabBar*>()}) {
            elsewhere->setFocus();
            const QImage before = at->grab().toImage();
            at->setFocus(Qt::TabFocusReason);
            QVERIFY(at->hasFocus());
            QVERIFY2(at->grab().toImage() != before, at->metaObject()->className());
        }
    }

    void heads_of_the_split_are_never_cut() {
        QVERIFY(opens(*window_, kSharded));
        window_->show_tab("split");
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        int in_two_lines = 0;
        for (const int width : {1180, 1280, 2400}) {
            window_->resize(width, 800);
            QTRY_VERIFY_WITH_TIMEOUT(!window_->split_view()->busy(), kPatience);
            for (const SplitView::Head& half : window_->split_view()->heads()) {
                QVERIFY2(!half.title.isEmpty() && !half.title.contains(kDots), qPrintable(half.title));
                QVERIFY2(!half.detail.isEmpty() && !half.detail.contains(kDots), qPrintable(half.detail));
                QVERIFY(!half.title_at.intersects(half.detail_at) || !half.below);
                QVERIFY(!half.below || width < 2000);
                in_two_lines += half.below ? 1 : 0;
            }
        }
        QVERIFY(in_two_lines > 0);
    }

    void what_is_recomputed_is_said_in_whole() {
        QVERIFY(opens(*window_));
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        window_->show_tab("split");
        window_->resize(1280, 800);
        QCoreApplication::processEvents();
        const QString detail = window_->split_view()->heads()[1].detail;
        QVERIFY2(detail.endsWith("recomputed"), qPrintable(detail));
    }

    void figures_of_a_narrow_curve_stand_beside_its_title() {
        QVERIFY(opens(*window_));
        TimelineWidget curve(window_->selection(), true);
        curve.set_plan(window_->session()->current().plan, nullptr, 0);
        const auto widths = [&](int width) {
            curve.resize(width, 90);
            const TimelineWidget::HeadTexts texts = curve.head_texts();
            return QFontMetrics(head_font()).horizontalAdvance(texts.title) + QFontMetrics(text_font(11)).horizontalAdvance(texts.figures);
        };
        for (const int width : {120, 200, 240, 400}) QVERIFY2(widths(width) <= width - 32, qPrintable(QString::number(width)));
        curve.resize(200, 90);
        QVERIFY(curve.head_texts().figures.startsWith("planned "));
        curve.resize(900, 90);
        QCOMPARE(curve.head_texts().title, QStringLiteral("Memory over the run"));
    }

    /// The leftmost column of a widget with ink in it: further from the ground than its smooth edges.
    static int first_ink(QWidget* of) {
        const QImage image = of->grab().toImage();
        const QColor ground = theme()(theme().palette().panel);
        for (int x = 0; x < image.width(); ++x)
            for (int y = 0; y < image.height(); ++y)
                if (std::abs(image.pixelColor(x, y).lightness() - ground.lightness()) > 60) return x;
        return -1;
    }

    void the_head_of_the_peak_stands_over_its_figure() {
        QVERIFY(opens(*window_));
        QToolButton* head = window_->top_bar()->target_button();
        QLabel* figure = nullptr;
        for (QLabel* label : window_->top_bar()->findChildren<QLabel*>())
            if (label->text() == window_->top_bar()->peak_text()) figure = label;
        QVERIFY(figure != nullptr);
        const auto from = [&](QWidget* w) { return w->mapTo(window_->top_bar(), QPoint()).x() + first_ink(w); };
        QVERIFY2(std::abs(from(head) - from(figure)) <= 1, qPrintable(QStringLiteral("%1, %2").arg(from(head)).arg(from(figure))));
    }

    void a_high_window_has_more_rows_until_somebody_moves_the_border() {
        QVERIFY(opens(*window_));
        const auto foot = [&] { return window_->residual_table()->height(); };
        window_->resize(1600, 1000);
        QTest::qWait(50);
        const int usual = foot();
        window_->resize(3840, 2100);
        QTRY_VERIFY2(foot() > 2 * usual, qPrintable(QString::number(foot())));
        for (QSplitter* splitter : window_->findChildren<QSplitter*>())
            if (splitter->orientation() == Qt::Vertical && splitter->isAncestorOf(window_->residual_table())) {
                splitter->setSizes({1500, 500});
                Q_EMIT splitter->splitterMoved(1500, 1);
            }
        const int chosen = foot();
        window_->resize(3840, 2050);
        QTest::qWait(50);
        QCOMPARE(foot(), chosen);
    }

    void a_low_window_gives_the_tables_the_room_of_the_curve() {
        QVERIFY(opens(*window_));
        QTRY_VERIFY(window_->strip()->isVisible());
        window_->resize(960, 540);
        QTRY_VERIFY(!window_->strip()->isVisible());
        window_->show_tab("policies");
        QTRY_VERIFY_WITH_TIMEOUT(window_->policy_table()->table()->model()->rowCount() >= 4, kPatience);
        const QTableView* table = window_->policy_table()->table();
        QVERIFY2(table->rowAt(table->viewport()->height() - 1) < 0 || table->rowAt(table->viewport()->height() - 1) >= 3,
                 qPrintable(QString::number(table->rowAt(table->viewport()->height() - 1))));
        window_->resize(1280, 800);
        QTRY_VERIFY(window_->strip()->isVisible());
    }

    void a_pill_has_room_for_the_steps_of_a_loop() {
        const QString text = utf8("2.00 MiB \u00d7 200 steps");
        constexpr int kMargins = 12, kLargestLetters = 11;
        QVERIFY(QFontMetrics(text_font(kLargestLetters, true)).horizontalAdvance(text) <=
                graph_style::pill_width(text.toStdString()) - kMargins);
        // In a small picture letters are larger, so that they can be read.
        SplitPicture::Crossing crossing;
        crossing.label = text.toStdString();
        const CrossingItem line(crossing, {0, 0}, false);
        constexpr double kSmall = 0.64;
        const double wide = QFontMetricsF(text_font(15, true)).horizontalAdvance(text);
        QVERIFY(line.pill_at(kSmall).width() >= std::min(wide + kMargins, 216.0) && line.boundingRect().contains(line.pill_at(kSmall)));
        QVERIFY(line.pill_at(1).width() < line.pill_at(kSmall).width());
    }

    /// A picture that is wider than the view begins where there is something to see, and cuts no box at its left edge.
    void a_wide_program_begins_with_what_stands_at_its_top() {
        QVERIFY(opens(*window_));
        const GraphView* view = window_->program_view()->view();
        const QRectF all = view->scene()->sceneRect(), seen = view->mapToScene(view->viewport()->rect()).boundingRect();
        QVERIFY2(seen.width() < all.width(), qPrintable(QString::number(seen.width())));  // else this shows nothing
        int whole = 0;
        for (const QGraphicsItem* item : view->scene()->items()) {
            if (item->type() != NodeItem::Type || static_cast<const NodeItem*>(item)->is_frame()) continue;
            const QRectF box = static_cast<const NodeItem*>(item)->rect();
            if (!box.intersects(seen)) continue;
            QVERIFY2(box.left() >= seen.left() - 1, qPrintable(static_cast<const NodeItem*>(item)->words()));
            whole += seen.contains(box) ? 1 : 0;
        }
        QVERIFY(whole >= 4);
    }

    void a_large_window_opens_more_at_first() {
        QVERIFY(opens(*window_));
        const auto nodes = [&] { return window_->split_view()->scene()->nodes(); };
        const int usual = nodes();
        const GraphView* hidden = window_->split_view()->view();  // its page isn't in front
        QCOMPARE(hidden->room_for(16), std::size_t{16});
        const auto large = std::make_unique<MainWindow>();
        large->resize(3200, 2000);
        large->show();
        QVERIFY(opens(*large));
        QVERIFY2(large->split_view()->scene()->nodes() > usual + 8,
                 qPrintable(QStringLiteral("%1, %2").arg(usual).arg(large->split_view()->scene()->nodes())));
    }

    void the_first_window_cuts_what_it_must_alone() {
        const QRectF all(0, 0, 3000, 2000);
        const QSizeF window(1000, 500);
        // Nothing at the left edge, a row further to the right, and what is out of sight below.
        const std::vector<QRectF> row{{1200, 20, 200, 40}, {1500, 20, 200, 40}, {1800, 20, 300, 40}, {0, 900, 800, 40}};
        const double left = first_window(row, all, window, {}).left;
        QVERIFY2(left <= 1200 && left + 1000 >= 2100, qPrintable(QString::number(left)));
        QCOMPARE(first_window({{40, 20, 200, 40}}, all, window, {}).left, 0.0);
        QCOMPARE(first_window({}, all, window, {}).left, 0.0);
        // A boundary stays near the middle, whatever stands elsewhere.
        for (const double boundary : {600.0, 1500.0, 2400.0}) {
            const double at = boundary - first_window(row, all, window, boundary).left;
            QVERIFY2(at >= 199 && at <= 801, qPrintable(QString::number(at)));
        }
        // Of two halves something of each is shown, though one has more at its side.
        const std::vector<QRectF> halves{{1000, 20, 200, 40}, {1210, 20, 200, 40}, {1210, 80, 200, 40}, {1900, 20, 200, 40}};
        const double both = first_window(halves, all, window, 1500.0).left;
        QVERIFY2(both <= 1210 && both + 1000 >= 2100, qPrintable(QString::number(both)));
    }

    void the_sentence_over_a_file_ends_in_dots() {
        QVERIFY(opens(*window_));
        window_->show_tab("source");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        const ShortLabel* sentence = nullptr;
        for (const auto* label : window_->source_view()->findChildren<QLabel*>())
            if (label->text().contains("alive at the peak")) sentence = dynamic_cast<const ShortLabel*>(label);
        QVERIFY(sentence != nullptr);
        QVERIFY(sentence->fontMetrics().horizontalAdvance(sentence->shown_text()) <= sentence->contentsRect().width());
    }

    void a_column_that_says_nothing_takes_no_room() {
        QVERIFY(opens(*window_));
        const QTableView* table = window_->residual_table()->table();
        QVERIFY(table->isColumnHidden(ResidualModel::Change));
        window_->top_bar()->enter_policy("dots_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(!table->isColumnHidden(ResidualModel::Change));
        window_->session()->undo();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_) && table->isColumnHidden(ResidualModel::Change), kPatience);
    }

    void the_curve_of_other_specs_is_shown_with_these_alone() {
        QVERIFY(opens(*window_, kSharded));
        window_->show_tab("sharding");
        ShardingView& view = *window_->sharding_view();
        QTRY_VERIFY_WITH_TIMEOUT(!view.busy() && view.values()->model()->rowCount() > 0, kPatience);
        const auto* curve = view.findChild<TimelineWidget*>();
        QVERIFY(!curve->isVisible());  // the strip below shows it
        view.try_specs(QStringLiteral("params['w1']=P()"));
        QTRY_VERIFY_WITH_TIMEOUT(!view.busy() && curve->isVisible(), kPatience);
    }

    void the_start_page_says_where_files_will_be() {
        window_->start_page()->set_recent({});
        QVERIFY(says(*window_, "None yet."));
        window_->start_page()->set_recent({kSample});
        QVERIFY(!says(*window_, "None yet."));
        QVERIFY(window_->start_page()->recent()->isVisible());
    }

    void what_is_found_is_shown_in_the_picture_in_front() {
        QVERIFY(opens(*window_));
        const auto front = [&] {
            const QTabWidget* tabs = window_->findChild<QTabWidget*>();
            return tabs->tabText(tabs->currentIndex());
        };
        const auto find = [&](const char* text) {
            window_->selection()->clear();
            window_->top_bar()->search()->setText(QString::fromUtf8(text));
            Q_EMIT window_->top_bar()->search()->returnPressed();
            return QTest::qWaitFor([&] { return window_->selection()->picked().program.has_value() && settled(*window_); }, kPatience);
        };
        for (const char* tab : {"Split", "Source", "Jaxpr"}) {
            window_->show_tab(tab);
            QVERIFY(find("tanh"));
            QCOMPARE(front(), QString::fromUtf8(tab));
        }
        window_->show_tab("memory");
        QVERIFY(find("tanh"));
        QCOMPARE(front(), QStringLiteral("Program"));
    }

private:
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(RoomTest)
#include "room_test.moc"
