// From the start page to memory's strips: what one does with the window day by day, by mouse and by keyboard.
#include <QAbstractButton>
#include <QAccessible>
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QTableView>
#include <QToolButton>
#include <QtTest>

#include "memory/timeline_widget.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

constexpr const char* kText = "{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = cos b in (c,) }";

void wheel(QWidget& widget, QPointF at, int delta, Qt::KeyboardModifiers keys) {
    QWheelEvent event(at, widget.mapToGlobal(at.toPoint()), {}, {0, delta}, Qt::NoButton, keys, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&widget, &event);
}

}  // namespace

class DailyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() { window_ = new_window(); }
    void cleanup() { window_.reset(); }

    void the_start_page_opens_samples_and_recent_files() {
        QVERIFY(window_->start_page()->isVisible());
        QListWidget* samples = window_->start_page()->samples();
        const auto found = samples->findItems("mlp", Qt::MatchExactly);
        QCOMPARE(found.size(), 1);
        QTest::mouseClick(samples->viewport(), Qt::LeftButton, {}, samples->visualItemRect(found.front()).center());
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->program() && settled(*window_), kPatience);
        QVERIFY(!window_->start_page()->isVisible());
        QVERIFY(window_->program_view()->isVisible());
        open_sample();
        MainWindow next;
        next.show();
        QVERIFY(next.start_page()->recent()->count() > 0);
        QCOMPARE(next.start_page()->recent()->item(0)->text(), QStringLiteral("transformer_lm.jaxscope"));
    }

    void text_is_pasted() {
        QGuiApplication::clipboard()->setText({});
        window_->start_page()->paste_button()->click();
        QVERIFY2(window_->notice()->text().contains("clipboard"), qPrintable(window_->notice()->text()));
        QGuiApplication::clipboard()->setText(kText);
        window_->start_page()->paste_button()->click();
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->program() && settled(*window_), kPatience);
        QCOMPARE(window_->session()->program()->jaxpr->eqns.size(), std::size_t{2});
        for (const QString& file : window_->recent_files()) QVERIFY2(!file.endsWith("pasted.jaxpr"), qPrintable(file));
    }

    void a_file_is_dropped() {
        QTemporaryDir folder;
        QFile file(folder.filePath("dropped.jaxpr"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(kText);
        file.close();
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(file.fileName())});
        QDragEnterEvent enter({200, 200}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);  // says who gets the drop
        QCoreApplication::sendEvent(window_.get(), &enter);
        QVERIFY(enter.isAccepted());
        // A file manager that offers to move it would delete it: it is copied.
        QDropEvent event(QPointF(200, 200), Qt::CopyAction | Qt::MoveAction, &data, Qt::LeftButton, Qt::ShiftModifier);
        event.setDropAction(Qt::MoveAction);
        QCoreApplication::sendEvent(window_.get(), &event);
        QVERIFY(event.isAccepted());
        QCOMPARE(event.dropAction(), Qt::CopyAction);
        QTRY_VERIFY_WITH_TIMEOUT(window_->session()->program() && window_->windowTitle().startsWith("dropped") && settled(*window_),
                                 kPatience);
    }

    void arrows_walk_through_the_graph() {
        open_sample();
        ProgramView* view = window_->program_view();
        const auto& graph = view->graph();
        const VisibleGraph::Edge* edge = nullptr;
        for (const auto& e : graph.edges)
            if (edge == nullptr && !e.tag && graph.nodes[e.from].kind == GraphItem::Kind::Equation &&
                graph.nodes[e.from].frame == graph.nodes[e.to].frame)
                edge = &e;
        QVERIFY(edge != nullptr);
        Picked picked;
        picked.program = graph.nodes[edge->from].equation();
        window_->selection()->pick(picked);
        const NodeItem* first = view->scene()->picked();
        QCOMPARE(first->index(), static_cast<int>(edge->from));
        QVERIFY(view->view()->accessibleDescription().contains(utf8(graph.nodes[edge->from].title)));
        view->view()->setFocus();
        QTest::keyClick(view->view(), Qt::Key_Down);
        const NodeItem* below = view->scene()->picked();
        QVERIFY(below != first);
        QVERIFY(below->rect().y() > first->rect().y());
        bool reads = false;
        for (const auto& e : graph.edges) reads = reads || (e.from == edge->from && static_cast<int>(e.to) == below->index());
        QVERIFY(reads);
        QTest::keyClick(view->view(), Qt::Key_Up);
        QVERIFY(view->scene()->picked() != below);
        // Enter opens a group and closes it.
        for (const auto& node : graph.nodes)
            if (node.expandable && !node.expanded && node.kind == GraphItem::Kind::Group) picked = {}, picked.group = node.key;
        QVERIFY(!picked.group.empty());
        const std::string key = picked.group;
        window_->selection()->pick(picked);
        for (const bool open : {true, false}) {
            QTest::keyClick(view->view(), Qt::Key_Return);
            QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
            QCOMPARE(view->graph().nodes[view->graph().by_key.at(key)].expanded, open);
        }
    }

    /// A view's shortcut brings the keyboard into it, and the first arrow what is in view.
    void shortcuts_of_views_bring_the_keyboard_there() {
        open_sample();
        const auto go = [&](const char* name) {
            for (QAction* action : window_->findChildren<QAction*>())
                if (action->text() == QLatin1String(name) && action->shortcut().toString().startsWith("Alt+")) action->trigger();
            QCoreApplication::processEvents();
        };
        go("Split");
        QCOMPARE(window_->focusWidget(), window_->split_view()->view());
        go("Memory");
        QVERIFY(qobject_cast<TimelineWidget*>(window_->focusWidget()) != nullptr);
        go("Jaxpr");
        QCOMPARE(window_->focusWidget()->accessibleName(), QStringLiteral("Text of the program"));
        go("Program");
        const GraphView* view = window_->program_view()->view();
        QCOMPARE(window_->focusWidget(), view);
        window_->selection()->clear();
        QVERIFY(window_->program_view()->scene()->picked() == nullptr);
        QTest::keyClick(window_->focusWidget(), Qt::Key_Down);
        const NodeItem* picked = window_->program_view()->scene()->picked();
        QVERIFY(picked != nullptr);
        QVERIFY(view->mapToScene(view->viewport()->rect()).boundingRect().contains(picked->rect()));
    }

    void a_screen_reader_finds_the_nodes() {
        open_sample();
        ProgramView* view = window_->program_view();
        QAccessibleInterface* graph = QAccessible::queryAccessibleInterface(view->view());
        QVERIFY(graph != nullptr && graph->isValid());
        QCOMPARE(graph->childCount(), static_cast<int>(view->graph().nodes.size()));
        QAccessibleInterface* group = nullptr;
        for (int n = 0; n < graph->childCount(); ++n) {
            QAccessibleInterface* node = graph->child(n);
            QVERIFY(node != nullptr && node->isValid() && node->parent() == graph);
            QVERIFY2(node->text(QAccessible::Name).startsWith(utf8(view->graph().nodes[static_cast<std::size_t>(n)].title)),
                     qPrintable(node->text(QAccessible::Name)));
            QCOMPARE(graph->indexOfChild(node), n);
            const bool in_view = !node->state().offscreen && graph->rect().contains(node->rect().center());
            if (group == nullptr && node->state().collapsed && in_view) group = node;
        }
        QVERIFY(graph->child(-1) == nullptr && graph->child(graph->childCount()) == nullptr);
        // Pressing one picks it, as a click does; toggling opens it.
        QVERIFY(group != nullptr);
        QCOMPARE(graph->childAt(group->rect().center().x(), group->rect().center().y()), group);
        group->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
        QVERIFY(group->state().selected && graph->focusChild() == group);
        const QString name = group->text(QAccessible::Name);
        QVERIFY(name.endsWith("closed"));
        group->actionInterface()->doAction(QAccessibleActionInterface::toggleAction());
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(graph->focusChild()->state().expanded);
        QVERIFY(graph->focusChild()->text(QAccessible::Name).endsWith("open"));
    }

    void every_control_has_a_name() {
        open_sample();
        const auto named = [](const QWidget* widget, const QString& text) {
            return !widget->accessibleName().isEmpty() || !text.isEmpty();
        };
        for (const QAbstractButton* button : window_->findChildren<QAbstractButton*>())
            if (button->isVisible() && !button->objectName().startsWith("qt_"))
                QVERIFY2(named(button, button->text() + button->toolTip()), button->metaObject()->className());
        for (const QLineEdit* line : window_->findChildren<QLineEdit*>())
            if (line->isVisible())
                QVERIFY2(named(line, {}) || qobject_cast<QComboBox*>(line->parent()), qPrintable(line->placeholderText()));
        for (const QComboBox* box : window_->findChildren<QComboBox*>()) QVERIFY2(named(box, {}), qPrintable(box->currentText()));
        for (const QAbstractItemView* view : window_->findChildren<QAbstractItemView*>())
            if (view->isVisible() && !qobject_cast<const QHeaderView*>(view)) QVERIFY2(named(view, {}), view->metaObject()->className());
        for (const QGraphicsView* view : window_->findChildren<QGraphicsView*>()) QVERIFY(named(view, {}));
        // What a screen reader says is Qt's business: of a box what is chosen in it, so its name is its label's.
        for (const QComboBox* box : {window_->top_bar()->region_box(), window_->top_bar()->policy_box()}) {
            bool labelled = false;
            for (const QLabel* label : window_->findChildren<QLabel*>()) labelled = labelled || label->buddy() == box;
            QVERIFY2(labelled, qPrintable(box->accessibleName()));
        }
        int own = 0;
        for (const QWidget* widget : window_->findChildren<QWidget*>()) {
            if (!widget->isVisible() || (widget->focusPolicy() & Qt::TabFocus) == 0) continue;
            const QString kind = QString::fromLatin1(widget->metaObject()->className());
            if (!kind.startsWith("jaxscope::") || qobject_cast<const QAbstractScrollArea*>(widget)) continue;
            QVERIFY2(named(widget, {}) || qobject_cast<const QAbstractButton*>(widget), qPrintable(kind));
            ++own;
        }
        QVERIFY(own > 0);
        QVERIFY(window_->findChild<TimelineWidget*>()->accessibleDescription().contains("planned"));
    }

    void what_is_copied_from_the_inspector_is_plain_text() {
        open_sample();
        QLabel* whole = nullptr;
        for (QLabel* label : window_->inspector()->findChildren<QLabel*>())
            if (label->text().contains(QChar(0x200B))) whole = label;
        QVERIFY(whole != nullptr);
        const QString plain = whole->accessibleName();
        QVERIFY(!plain.isEmpty() && !plain.contains(QChar(0x200B)));
        whole->setSelection(0, static_cast<int>(whole->text().size()));
        QGuiApplication::clipboard()->setText(whole->selectedText());
        QCoreApplication::processEvents();  // which may replace the label
        QCOMPARE(QGuiApplication::clipboard()->text(), plain);
    }

    void arrows_walk_through_time() {
        open_sample();
        window_->show_tab("memory");
        TimelineWidget* timeline = window_->memory_view()->timeline();
        const MemoryPlan& plan = *window_->session()->current().plan;
        QSignalSpy picked(timeline, &TimelineWidget::step_picked);
        QTest::keyClick(timeline, Qt::Key_Right);
        QCOMPARE(picked.last()[1].toInt(), plan.peak_step + 1);
        QVERIFY(!window_->selection()->picked().empty());
        QVERIFY(timeline->accessibleDescription().startsWith("step " + QString::number(plan.peak_step + 1)));
        QTest::keyClick(timeline, Qt::Key_Home);
        QTest::keyClick(timeline, Qt::Key_Left);
        QCOMPARE(picked.last()[1].toInt(), 0);
        const auto told = [&] { return window_->buffer_table()->findChild<QLabel*>()->text(); };
        QVERIFY2(told().endsWith("in step 0"), qPrintable(told()));
        QTest::keyClick(window_.get(), Qt::Key_Escape);  // of nothing in particular the peak is shown
        QVERIFY2(told().endsWith("at the peak"), qPrintable(told()));
    }

    void time_is_zoomed_and_moved() {
        open_sample();
        window_->show_tab("memory");
        TimelineWidget* timeline = window_->memory_view()->timeline();
        const TimeScale& scale = timeline->scale();
        QVERIFY(scale.shows_all());
        const QPointF middle(timeline->width() / 2.0, timeline->height() / 2.0);
        wheel(*timeline, middle, 480, Qt::ControlModifier);
        const double first = scale.first(), length = scale.last() - scale.first();
        QVERIFY(first > 0 && length > 0 && !scale.shows_all());
        wheel(*timeline, middle, -120, Qt::NoModifier);
        QVERIFY(scale.first() > first);
        QCOMPARE(qRound(scale.last() - scale.first()), qRound(length));
        QTest::mouseDClick(timeline, Qt::LeftButton, {}, middle.toPoint());
        QVERIFY(scale.shows_all());
        wheel(*timeline, middle, -480, Qt::ControlModifier);
        QVERIFY(scale.shows_all());
    }

    void forward_and_backward_pass_have_grounds_of_their_own() {
        open_sample();
        window_->show_tab("memory");
        const TimelineWidget* timeline = window_->memory_view()->timeline();
        const MemoryPlan& plan = *window_->session()->current().plan;
        const std::vector<TimelineWidget::Band>& bands = timeline->bands();
        QVERIFY(bands.size() >= 2 && !bands.front().backward && bands.back().backward);
        int steps[2] = {0, 0}, last = 0;
        for (const TimelineWidget::Band& band : bands) {
            QVERIFY(band.first >= last && band.last > band.first);
            last = band.last;
            steps[band.backward ? 1 : 0] += band.last - band.first;
            for (int s = band.first; s < band.last; ++s) {
                const NameStack& stack = plan.steps[static_cast<std::size_t>(s)].source->name_stack;
                QVERIFY2(band.backward || !stack.has_transform(stack_names::kTranspose), stack.str().c_str());
            }
        }
        QVERIFY(steps[0] > 10 && steps[1] > 10);
        // Where little is alive the ground is seen.
        const QImage picture = window_->memory_view()->timeline()->grab().toImage();
        const QColor cool(theme().palette().known_canvas), warm(theme().palette().unknown_canvas);
        const auto seen = [&](const QColor& colour) {
            for (int y = 68; y < 100; ++y)
                for (int x = 0; x < picture.width(); ++x)
                    if (picture.pixelColor(x, y) == colour) return true;
            return false;
        };
        QVERIFY(seen(cool) && seen(warm));
        takes_pictures(*window_, "bands");
    }

    void buffers_are_strips_that_can_be_picked() {
        open_sample();
        window_->show_tab("memory");
        MemoryView* memory = window_->memory_view();
        TimelineWidget* timeline = memory->timeline();
        const QImage curve = timeline->grab().toImage();
        memory->strips_button()->click();
        memory->arguments_button()->click();
        QVERIFY(timeline->mode() == TimelineWidget::Mode::Strips);
        QVERIFY(timeline->grab().toImage() != curve);
        const MemoryPlan& plan = *window_->session()->current().plan;
        int largest = -1;
        for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
            const PlannedBuffer& buffer = plan.buffers[b];
            if (buffer.role != BufferRole::Residual || buffer.offset < 0) continue;
            if (largest < 0 || buffer.bytes > plan.buffers[static_cast<std::size_t>(largest)].bytes) largest = static_cast<int>(b);
        }
        QVERIFY(largest >= 0);
        const QRectF strip = timeline->strip_of(largest);
        QCOMPARE(timeline->strip_at(strip.center()), largest);
        QTest::mouseClick(timeline, Qt::LeftButton, {}, strip.center().toPoint());
        QVERIFY(window_->selection()->picked().buffer == id_of(plan, largest));
        // Strips that are alive at one time don't overlap: they have memory of their own.
        for (std::size_t a = 0; a < plan.buffers.size(); ++a)
            if (plan.buffers[a].role == BufferRole::Argument)
                QVERIFY(timeline->strip_at(timeline->strip_of(static_cast<int>(a)).center()) != static_cast<int>(a));
    }

    void small_residuals_are_put_together_in_the_split() {
        open_sample();
        const SplitPicture& picture = window_->split_view()->picture();
        std::int64_t total = 0, all = 0;
        std::set<std::uint32_t> residuals;
        for (const auto& crossing : picture.crossings) {
            total += crossing.bytes;
            residuals.insert(crossing.residuals.begin(), crossing.residuals.end());
        }
        for (const ResidualRow& row : window_->session()->current().residuals->rows) all += row.bytes;
        QVERIFY(total >= all * 9 / 10);
        std::map<std::uint32_t, int> tiny;
        for (const auto& crossing : picture.crossings) {
            if (crossing.arguments || crossing.bytes > total / 500) continue;
            QVERIFY2(++tiny[crossing.to] == 1, crossing.label.c_str());
            if (!crossing.small.empty()) QVERIFY2(crossing.label.find("small") != std::string::npos, crossing.label.c_str());
        }
    }

    void residuals_that_were_added_are_marked_in_the_split() {
        open_sample();
        window_->top_bar()->enter_policy("everything_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        int added = 0, others = 0;
        for (const QGraphicsItem* item : window_->split_view()->scene()->items()) {
            if (item->type() != CrossingItem::Type) continue;
            const bool plus = static_cast<const CrossingItem*>(item)->crossing().label.rfind("+ ", 0) == 0;
            ++(plus ? added : others);
        }
        QVERIFY(added > 0 && others > 0);
    }

private:
    void open_sample() {
        window_->open(kSample);
        QTRY_VERIFY_WITH_TIMEOUT(window_->windowTitle().startsWith("transformer_lm") && settled(*window_), kPatience);
    }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(DailyTest)
#include "daily_test.moc"
