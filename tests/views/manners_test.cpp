// What the window owes to whoever looks at it all day: what is looked for can be read, nothing jumps, what can't be done isn't offered.
#include <QAction>
#include <QLineEdit>
#include <QMenuBar>
#include <QScreen>
#include <QTabBar>
#include <QTableView>
#include <QtTest>

#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

/// Moves the pointer onto a node and waits until what is around it is lit.
void hover(const GraphView& view, QPointF scene_point) {
    const QPoint at = view.mapFromScene(scene_point);
    QTest::mouseMove(view.viewport(), at + QPoint(1, 0));
    QTest::mouseMove(view.viewport(), at);
    QTest::qWait(400);
}

bool can_be_read(const GraphView& view, const NodeItem* node) {
    const QRectF seen = view.mapToScene(view.viewport()->rect()).boundingRect();
    return node != nullptr && view.zoom() >= kFullZoom && seen.contains(node->rect().adjusted(2, 2, -2, -2));
}

}  // namespace

class MannersTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }

    void init() {
        window_ = new_window();
        QVERIFY(opens(*window_));
    }
    void cleanup() { window_.reset(); }

    void a_group_that_is_opened_keeps_its_contents_bright() {
        ProgramView* view = window_->program_view();
        view->collapse_all();
        QTRY_VERIFY_WITH_TIMEOUT(!view->busy(), kPatience);
        const auto& nodes = view->graph().nodes;
        const auto group = std::find_if(nodes.begin(), nodes.end(), [](const auto& n) { return n.expandable; });
        QVERIFY(group != nodes.end());
        const std::string key = group->key;
        Picked picked;
        picked.group = key;
        window_->selection()->pick(picked);
        view->set_expanded(key, true);
        QTRY_VERIFY_WITH_TIMEOUT(!view->busy(), kPatience);
        const NodeItem* frame = view->node(key);
        QVERIFY(frame != nullptr && frame->is_frame());
        hover(*view->view(), frame->rect().topLeft() + QPointF(60, 10));
        int inside = 0;
        for (std::size_t n = 0; n < view->graph().nodes.size(); ++n) {
            const NodeItem* item = view->scene()->node(0, static_cast<int>(n));
            if (view->graph().nodes[n].frame == frame->index()) {
                QCOMPARE(item->opacity(), 1.0);
                ++inside;
            }
        }
        QVERIFY(inside > 0);
    }

    void residuals_of_others_fade() {
        window_->show_tab("split");
        SplitView* split = window_->split_view();
        QTRY_VERIFY_WITH_TIMEOUT(!split->busy(), kPatience);
        const SplitPicture& picture = split->picture();
        QVERIFY(picture.crossings.size() > 1);
        const auto& one = picture.crossings.front();
        const NodeItem* from = split->scene()->node(0, static_cast<int>(one.from));
        split->view()->centerOn(from->rect().center());
        hover(*split->view(), from->rect().center());
        int related = 0, others = 0;
        for (const auto& crossing : picture.crossings) {
            const CrossingItem* item = split->scene()->crossing_of(static_cast<int>(crossing.residuals.front()));
            QVERIFY(item != nullptr);
            if (item->crossing().from == one.from) {
                QCOMPARE(item->opacity(), 1.0);
                ++related;
            } else {
                QVERIFY(item->opacity() < 1);
                ++others;
            }
        }
        QVERIFY(related > 0 && others > 0);
    }

    void what_is_found_can_be_read() {
        GraphView* view = window_->program_view()->view();
        view->fit();
        window_->top_bar()->search()->setText("tanh");
        Q_EMIT window_->top_bar()->search()->returnPressed();
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_) && window_->selection()->picked().program, kPatience);
        const NodeItem* node = window_->program_view()->node(to_text(*window_->selection()->picked().program));
        QVERIFY(can_be_read(*view, node));
        QVERIFY2(window_->top_bar()->found_text().startsWith("1 of "), qPrintable(window_->top_bar()->found_text()));
        QTest::keyClick(window_.get(), Qt::Key_F3);
        QTRY_VERIFY_WITH_TIMEOUT(window_->top_bar()->found_text().startsWith("2 of "), kPatience);
    }

    void a_row_of_a_table_brings_its_node_into_view() {
        ProgramView* view = window_->program_view();
        const auto* table = window_->residual_table()->table();
        for (const bool fitted : {true, false}) {
            for (int row = 0; row < table->model()->rowCount(); row += 13) {
                window_->selection()->clear();
                if (fitted) view->view()->fit();
                window_->residual_table()->table()->selectRow(row);
                const NodeItem* node = view->scene()->picked();
                QVERIFY(node != nullptr);
                if (!node->is_frame()) QVERIFY(can_be_read(*view->view(), node));
            }
        }
    }

    void a_click_on_a_node_moves_nothing() {
        ProgramView* view = window_->program_view();
        view->view()->fit();
        const double zoom = view->view()->zoom();
        const auto& nodes = view->graph().nodes;
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const NodeItem* item = view->scene()->node(0, static_cast<int>(n));
            if (item->is_frame()) continue;
            QTest::mouseClick(view->view()->viewport(), Qt::LeftButton, {}, view->view()->mapFromScene(item->rect().center()));
            QCOMPARE(view->view()->zoom(), zoom);
            break;
        }
        QVERIFY(view->scene()->picked() != nullptr);
    }

    void what_was_undone_is_done_again() {
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        const Choices chosen = window_->session()->choices();
        window_->session()->undo();
        QVERIFY(window_->session()->can_redo());
        QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(window_->session()->choices() == chosen);
        QVERIFY(!window_->session()->can_redo());
        window_->session()->undo();
        window_->top_bar()->enter_policy("dots_saveable");
        QVERIFY(!window_->session()->can_redo());
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
    }

    void the_tool_bar_stands_still() {
        window_->open(QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/mlp.jaxscope"));
        QTRY_VERIFY_WITH_TIMEOUT(window_->windowTitle().startsWith("mlp") && settled(*window_), kPatience);
        const auto places = [&] {
            QTest::qWait(50);
            QList<QRect> out;
            TopBar* bar = window_->top_bar();
            for (const QWidget* box : std::initializer_list<const QWidget*>{bar->policy_box(), bar->run_button(), bar->search()})
                out << QRect(box->mapTo(window_.get(), QPoint()), box->size());
            return out;
        };
        const QList<QRect> before = places();
        window_->session()->run();
        QCOMPARE(places(), before);
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->running(), kPatience);
        QVERIFY(window_->top_bar()->measured_text().startsWith("measured"));
        QCOMPARE(places(), before);
        window_->top_bar()->enter_policy("nothing_saveable");
        QCOMPARE(places(), before);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QCOMPARE(places(), before);
        window_->top_bar()->show_found("1 234 of 10 000+");
        QCOMPARE(places(), before);
    }

    void ctrl_minus_zooms_out() {
        ProgramView* view = window_->program_view();
        const double zoom = view->view()->zoom();
        const std::size_t nodes = view->graph().nodes.size();
        QTest::keyClick(window_.get(), Qt::Key_Minus, Qt::ControlModifier);
        QTRY_VERIFY_WITH_TIMEOUT(!view->busy(), kPatience);
        QVERIFY(view->view()->zoom() < zoom);
        QCOMPARE(view->graph().nodes.size(), nodes);
    }

    void tabs_have_room_for_their_names() {
        const QFont usual = qApp->font();
        for (const QTabBar* tabs : window_->findChildren<QTabBar*>())
            for (int t = 0; t < tabs->count(); ++t) {
                QFont bold = tabs->font();
                bold.setWeight(QFont::DemiBold);
                QVERIFY2(tabs->tabRect(t).width() >= QFontMetrics(bold).horizontalAdvance(tabs->tabText(t)) + 8,
                         qPrintable(tabs->tabText(t)));
            }
        QCOMPARE(qApp->font(), usual);
    }

    void summaries_change_with_the_theme() {
        QLabel* total = nullptr;
        for (QLabel* label : window_->residual_table()->findChildren<QLabel*>())
            if (label->text().contains("values")) total = label;
        QVERIFY(total != nullptr);
        const auto darkest = [&] {
            const QImage image = total->grab().toImage();
            int least = 255, most = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x) {
                    least = std::min(least, qGray(image.pixel(x, y)));
                    most = std::max(most, qGray(image.pixel(x, y)));
                }
            return std::pair(least, most);
        };
        QVERIFY(takes_theme(*window_, true));
        const auto [ground, letters] = darkest();
        QVERIFY2(ground < 60 && letters > 130, qPrintable(QStringLiteral("%1 on %2").arg(letters).arg(ground)));
        QVERIFY(takes_theme(*window_, false));
        const auto [ink, paper] = darkest();
        QVERIFY2(ink < 130 && paper > 230, qPrintable(QStringLiteral("%1 on %2").arg(ink).arg(paper)));
    }

    void the_window_fits_small_screens() {
        const MainWindow fresh;
        const QSize screen = QGuiApplication::primaryScreen()->availableSize();
        const QSize least = fresh.minimumSizeHint();
        QVERIFY(fresh.width() <= std::max(screen.width(), least.width()) && fresh.height() <= std::max(screen.height(), least.height()));
        // 1920x1080 at scale 2.
        QVERIFY2(least.width() <= 960 && least.height() <= 540, qPrintable(QStringLiteral("%1x%2").arg(least.width()).arg(least.height())));
    }

    void what_cannot_run_offers_no_run() {
        QVERIFY(window_->top_bar()->run_button()->isEnabled());
        QTemporaryDir folder;
        QFile file(folder.filePath("unknown.jaxpr"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{ lambda ; a:f32[3]. let b:f32[3] = my_own_thing[k=3] a in (b,) }");
        file.close();
        window_->open(file.fileName());
        QTRY_VERIFY_WITH_TIMEOUT(window_->windowTitle().startsWith("unknown") && settled(*window_), kPatience);
        QVERIFY(!window_->top_bar()->run_button()->isEnabled());
        QVERIFY2(window_->top_bar()->run_button()->toolTip().contains("my_own_thing"),
                 qPrintable(window_->top_bar()->run_button()->toolTip()));
        window_->session()->run();
        QVERIFY(!window_->session()->running());
    }

    void the_menu_bar_has_every_action() {
        QSet<QAction*> in_menus;
        for (const QAction* menu : window_->menuBar()->actions())
            for (QAction* action : menu->menu()->actions()) in_menus << action;
        QVERIFY(window_->actions().size() > 20);
        QSet<QString> keys;
        for (QAction* action : window_->actions()) {
            QVERIFY2(in_menus.contains(action), qPrintable(action->text()));
            if (action->shortcut().isEmpty()) continue;
            QVERIFY2(!keys.contains(action->shortcut().toString()), qPrintable(action->shortcut().toString()));
            keys << action->shortcut().toString();
        }
    }

    void pictures_are_exported_in_whole() {
        QTemporaryDir folder;
        for (const char* tab : {"program", "split", "memory"}) {
            window_->show_tab(QString::fromUtf8(tab));
            for (const auto& [suffix, begins] : {std::pair("png", "\x89PNG"), std::pair("svg", "<?xml"), std::pair("pdf", "%PDF")}) {
                const QString name = folder.filePath(QStringLiteral("%1.%2").arg(tab, suffix));
                QVERIFY2(window_->export_picture(name), qPrintable(window_->notice()->text()));
                QFile file(name);
                QVERIFY(file.open(QIODevice::ReadOnly));
                QVERIFY(file.size() > 2000);
                QVERIFY(file.readAll().startsWith(begins));
            }
        }
        // More than the window shows, and what it shows.
        window_->show_tab("program");
        const QImage image(folder.filePath("program.png"));
        const QRectF scene = window_->program_view()->scene()->sceneRect();
        QVERIFY(image.width() >= scene.width() && image.height() >= scene.height());
        // Of texts all lines, without what is around them.
        for (const char* tab : {"source", "jaxpr", "donated"}) {
            window_->show_tab(QString::fromUtf8(tab));
            QCoreApplication::processEvents();
            const QSize seen = window_->size();
            const QString name = folder.filePath(QStringLiteral("%1.png").arg(tab));
            QVERIFY2(window_->export_picture(name), qPrintable(window_->notice()->text()));
            QVERIFY2(QImage(name).height() > seen.height(), tab);
            QCOMPARE(window_->size(), seen);
        }
        QVERIFY(!window_->export_picture(folder.filePath("no/such/folder.png")));
        QVERIFY(window_->notice()->text().contains("no/such/folder.png"));
        QVERIFY(!window_->export_picture(folder.filePath("picture.bmp")));
    }

private:
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(MannersTest)
#include "manners_test.moc"
