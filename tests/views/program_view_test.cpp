// The Program tab shows what the tool is for: what is saved, how much, and which inputs' memory the results take.
#include <QScrollBar>
#include <QtTest>

#include "base/units.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

namespace {

template <class Item>
std::vector<const Item*> items_of(const GraphScene& scene) {
    std::vector<const Item*> out;
    for (const QGraphicsItem* item : scene.items())
        if (item->type() == Item::Type) out.push_back(static_cast<const Item*>(item));
    return out;
}

}  // namespace

/// But for how smooth edges are rounded where a part that is painted ends.
static bool look_alike(const QImage& a, const QImage& b) {
    constexpr int kRounding = 3;
    if (a.size() != b.size()) return false;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x) {
            const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
            const std::initializer_list<int> off{qRed(p) - qRed(q), qGreen(p) - qGreen(q), qBlue(p) - qBlue(q)};
            if (std::any_of(off.begin(), off.end(), [](int d) { return std::abs(d) > kRounding; })) return false;
        }
    return true;
}

class ProgramViewTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        QVERIFY(fixture_.prepare());
        window_ = new_window();
        QVERIFY(opens(*window_));
    }
    void cleanupTestCase() { window_.reset(); }

    void saved_values_are_marked_with_their_bytes() {
        const ResidualReport& report = *window_->session()->current().residuals;
        std::int64_t computed = 0, shown = 0;
        for (const ResidualRow& row : report.rows)
            if (row.input < 0 && !row.equation.empty()) computed += row.bytes;
        QVERIFY(computed > 0);
        for (const auto& node : graph().nodes) {
            if (node.kind == GraphItem::Kind::Inputs || node.kind == GraphItem::Kind::Input) continue;
            if (node.frame == VisibleGraph::kTop) shown += node.mark.saved_bytes;
            const NodeItem* item = view()->node(node.key);
            QCOMPARE(item->mark().isEmpty(), node.mark.saved_values == 0);
            if (node.mark.saved_values == 1) QCOMPARE(item->mark(), utf8("saved " + bytes_text(node.mark.saved_bytes)));
        }
        QCOMPARE(shown, computed);
    }

    void tags_and_marks_of_a_frame_stand_side_by_side() {
        VisibleGraph::Node node;
        node.title = "jit step";
        node.expanded = true;
        node.mark = {.saved_bytes = 26 << 20, .saved_values = 28};
        const Rect rect{0, 0, 600, 300}, tag{500, 4, 94, 20}, below{100, 286, 94, 20};
        NodeItem frame(node, rect, 0, 0);
        const QRectF alone = frame.mark_rect();
        frame.keep_clear(below);
        QCOMPARE(frame.mark_rect(), alone);
        frame.keep_clear(tag);
        QVERIFY(alone.right() > tag.x && frame.mark_rect().right() < tag.x);
        QCOMPARE(frame.mark_rect().size(), alone.size());
    }

    void what_is_open_holds_what_is_saved() {
        std::int64_t total = 0, open = 0;
        for (const auto& node : graph().nodes) {
            const bool argument = node.kind == GraphItem::Kind::Inputs || node.kind == GraphItem::Kind::Input;
            if (node.frame == VisibleGraph::kTop && !argument) total += node.mark.saved_bytes;
            if (node.expanded) QVERIFY2(node.mark.saved_bytes > 0, node.title.c_str());
            if (node.expanded && node.frame == VisibleGraph::kTop) open += node.mark.saved_bytes;
        }
        QVERIFY2(open * 10 >= total * 9, qPrintable(QStringLiteral("%1 of %2 bytes in open groups").arg(open).arg(total)));
    }

    void blocks_are_folded_and_unfold() {
        const VisibleGraph::Node* fold = nullptr;
        for (const auto& node : graph().nodes)
            if (node.title == "block \u00d76") fold = &node;
        QVERIFY(fold != nullptr);
        QVERIFY(fold->mark.saved_values > 6);
        const std::string key = fold->key;
        const bool was_open = fold->expanded;
        view()->set_expanded(key, !was_open);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QCOMPARE(graph().nodes[graph().by_key.at(key)].expanded, !was_open);
        view()->set_expanded(key, true);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        int blocks = 0;
        for (const auto& node : graph().nodes) blocks += node.frame == static_cast<int>(graph().by_key.at(key)) ? 1 : 0;
        QVERIFY(blocks >= 6);
    }

    void donated_inputs_lead_to_their_results_and_back() {
        const auto ties = items_of<TieItem>(*view()->scene());
        QVERIFY(ties.size() >= 2);
        for (const TieItem* tie : ties) {
            QVERIFY(tie->text().contains("iB"));
            view()->view()->resetTransform();
            view()->view()->centerOn(tie->boundingRect().center());
            QTest::mouseClick(view()->view()->viewport(), Qt::LeftButton, {}, view()->view()->mapFromScene(tie->boundingRect().center()));
            QVERIFY(view()->scene()->picked() != nullptr);
            QCOMPARE(view()->scene()->picked()->index(), tie->target());
        }
    }

    void inputs_and_results_are_connected() {
        for (const char* key : {"in", "out"}) {
            const auto found = graph().by_key.find(key);
            QVERIFY2(found != graph().by_key.end(), key);
            int lines = 0;
            for (const LineItem* line : items_of<LineItem>(*view()->scene()))
                lines += line->from == found->second || line->to == found->second ? 1 : 0;
            QVERIFY2(lines > 0, key);
        }
    }

    void the_picture_is_no_thin_chain() {
        const QRectF scene = view()->scene()->sceneRect();
        QVERIFY2(scene.height() < 2.5 * scene.width(), qPrintable(QStringLiteral("%1x%2").arg(scene.width()).arg(scene.height())));
    }

    void nodes_and_marks_overlap_nothing() {
        std::vector<QRectF> taken;
        for (const NodeItem* node : items_of<NodeItem>(*view()->scene()))
            if (!node->is_frame()) taken.push_back(node->rect());
        for (std::size_t a = 0; a < taken.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) QVERIFY(!taken[a].intersects(taken[b]));
        for (const TieItem* tie : items_of<TieItem>(*view()->scene()))
            for (const QRectF& node : taken) QVERIFY(!node.intersects(tie->boundingRect().adjusted(2, 2, -2, -2)));
    }

    void a_crowd_that_moves_is_painted_as_if_anew() {
        for (int turn = 0; turn < 12 && view()->scene()->crowd() < 2000; ++turn) {
            std::set<std::string> keys = view()->expanded();
            for (const auto& node : graph().nodes)
                if (node.expandable) keys.insert(node.key);
            view()->expand(std::move(keys));
            QTRY_VERIFY_WITH_TIMEOUT(!view()->busy(), kPatience);
        }
        QVERIFY(view()->scene()->crowd() >= 2000);
        GraphView* picture = view()->view();
        const auto seen = [&] { return picture->viewport()->grab().toImage(); };
        for (const double zoom : {0.15, 0.5}) {
            picture->resetTransform();
            picture->zoom_by(zoom);
            picture->centerOn(view()->scene()->sceneRect().center());
            QImage before = seen();
            for (const QPoint step : {QPoint(7, 9), QPoint(-40, 0), QPoint(0, -900), QPoint(3, 250)}) {
                picture->horizontalScrollBar()->setValue(picture->horizontalScrollBar()->value() + step.x());
                picture->verticalScrollBar()->setValue(picture->verticalScrollBar()->value() + step.y());
                const QImage moved = seen();
                QVERIFY(moved != before || picture->items(picture->viewport()->rect()).isEmpty());
                view()->restyle();  // nothing is kept then
                QVERIFY(look_alike(seen(), moved));
                before = moved;
            }
        }
        // Whatever changes is seen at once.
        picture->resetTransform();
        const auto boxes = items_of<NodeItem>(*view()->scene());
        const NodeItem* node = *std::find_if(boxes.rbegin(), boxes.rend(), [](const NodeItem* one) { return !one->is_frame(); });
        picture->centerOn(node->rect().center());
        const QImage plain = seen();
        QTest::mouseClick(picture->viewport(), Qt::LeftButton, {}, picture->mapFromScene(node->rect().center()));
        QVERIFY(view()->scene()->picked() != nullptr);
        QVERIFY(seen() != plain);
        window_->selection()->clear();
        QCOMPARE(seen(), plain);
    }

    void the_right_button_selects_what_its_menu_is_about() {
        const auto [first, second] = two_nodes();
        const auto press = [&](const NodeItem* node, Qt::MouseButton button) {
            GraphView* picture = view()->view();
            picture->resetTransform();
            picture->centerOn(node->rect().center());
            QTest::mousePress(picture->viewport(), button, {}, picture->mapFromScene(node->rect().center()));
            QTest::mouseRelease(picture->viewport(), button, {}, picture->mapFromScene(node->rect().center()));
        };
        press(first, Qt::LeftButton);
        QCOMPARE(view()->scene()->picked(), first);
        press(second, Qt::RightButton);
        QCOMPARE(view()->scene()->picked(), second);
        window_->selection()->clear();
    }

    void what_was_dimmed_for_the_pointer_is_lit_when_it_leaves() {
        const NodeItem* node = two_nodes().first;
        GraphView* picture = view()->view();
        picture->centerOn(node->rect().center());
        QTest::mouseMove(picture->viewport(), picture->mapFromScene(node->rect().center()) + QPoint(3, 0));
        QTest::mouseMove(picture->viewport(), picture->mapFromScene(node->rect().center()));
        QTRY_VERIFY_WITH_TIMEOUT(view()->scene()->dimmed(), kPatience);
        for (const PortalItem* tag : items_of<PortalItem>(*view()->scene()))
            if (const NodeItem* of = view()->scene()->node(0, tag->node()); !of->is_frame()) QCOMPARE(tag->opacity(), of->opacity());
        QEvent left(QEvent::Leave);
        QCoreApplication::sendEvent(picture->viewport(), &left);
        QVERIFY(!view()->scene()->dimmed());
        for (const NodeItem* item : items_of<NodeItem>(*view()->scene())) QCOMPARE(item->opacity(), 1.0);
    }

    void equations_inside_of_a_call_have_its_colour() {
        const GraphModel& model = *view()->model();
        for (const auto& node : graph().nodes)
            if (node.kind == GraphItem::Kind::Call && node.role != Role::Plain)
                for (const GraphItem& inner : model.children(node)) QVERIFY2(inner.role >= node.role, inner.key.c_str());
    }

    void a_message_moves_nothing() {
        const QPoint before = view()->mapTo(window_.get(), QPoint(0, 0));
        const QSize size = view()->size();
        window_->notice()->tell("Something to be told.");
        QCoreApplication::processEvents();
        QVERIFY(window_->notice()->isVisible());
        QCOMPARE(view()->mapTo(window_.get(), QPoint(0, 0)), before);
        QCOMPARE(view()->size(), size);
        window_->notice()->hide();
    }

    void places_and_functions_are_found_and_the_message_of_what_is_not_goes() {
        const ResidualReport& report = *window_->session()->current().residuals;
        const auto row = std::find_if(report.rows.begin(), report.rows.end(), [](const ResidualRow& r) { return r.line > 0; });
        QVERIFY(row != report.rows.end());
        const auto find = [&](const QString& text) {
            window_->top_bar()->search()->setText(text);
            Q_EMIT window_->top_bar()->search()->returnPressed();
            return QTest::qWaitFor([&] { return !window_->searching() && window_->top_bar()->found_text().contains(" of "); }, kPatience);
        };
        QVERIFY(find("no such thing at all"));
        QTRY_COMPARE(window_->top_bar()->found_text(), QStringLiteral("0 of 0"));
        QVERIFY(window_->notice()->isVisible());
        const std::string file = row->file.substr(row->file.rfind('/') + 1);
        QVERIFY(find(utf8(file + ":" + std::to_string(row->line))));
        QTRY_VERIFY(window_->top_bar()->found_text() != QStringLiteral("0 of 0"));
        QVERIFY(!window_->notice()->isVisible());
        window_->selection()->clear();
    }

    void lines_are_as_wide_as_their_bytes() {
        std::map<std::int64_t, double> widths;
        for (const LineItem* line : items_of<LineItem>(*view()->scene()))
            for (const auto& edge : view()->layout_of_graph().lines)
                if (edge.from == line->from && edge.to == line->to) widths[edge.bytes] = line->pen().widthF();
        QVERIFY(widths.size() > 3);
        double last = 0;
        for (const auto& [bytes, width] : widths) {
            QVERIFY(width >= last);
            last = width;
        }
        QVERIFY(last > 1.5 * widths.begin()->second);
    }

    void groups_of_what_is_recomputed_say_how_much() {
        const auto window = new_window();
        QVERIFY(opens(*window, QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/transformer_lm_scan.jaxscope")));
        std::set<std::string> all;
        int recomputed = 0;
        for (int level = 0; level < 4; ++level) {
            for (const auto& node : window->program_view()->graph().nodes) {
                if (node.expandable) all.insert(node.key);
                if (node.role != Role::Recomputed || !node.expandable || node.mark.saved_values > 0) continue;
                ++recomputed;
                const NodeItem* item = window->program_view()->node(node.key);
                QCOMPARE(item->mark(), utf8("recomputed " + bytes_text(node.bytes)));
                QVERIFY(item->words().contains(item->mark()));
            }
            window->program_view()->expand(all);
            QTRY_VERIFY_WITH_TIMEOUT(settled(*window), kPatience);
        }
        QVERIFY(recomputed > 0);
        takes_pictures(*window, "recomputed");
    }

    /// Wherever one scrolls, in the program and in the split.
    void the_map_lies_over_no_node_and_no_line() {
        int shown = 0;
        for (const char* tab : {"program", "split"}) {
            window_->show_tab(QString::fromUtf8(tab));
            GraphView* picture = tab == std::string_view("split") ? window_->split_view()->view() : view()->view();
            QTRY_VERIFY(picture->isVisible());
            for (const double zoom : {1.0, 0.5}) {
                picture->resetTransform();
                picture->scale(zoom, zoom);
                const QRectF all = picture->scene()->sceneRect();
                for (int place = 0; place < 25; ++place) {
                    picture->centerOn(all.left() + all.width() * (place % 5) / 4, all.top() + all.height() * (place / 5) / 4);
                    picture->viewport()->grab();
                    if (picture->map_rect().isEmpty()) continue;
                    ++shown;
                    const QRectF under = picture->mapToScene(picture->map_rect()).boundingRect();
                    for (const QGraphicsItem* item : picture->scene()->items(under))
                        QVERIFY2(!item->isVisible() || !covers(*item, under, zoom), qPrintable(item->toolTip()));
                }
            }
        }
        QVERIFY2(shown >= 10, qPrintable(QString::number(shown)));
        window_->show_tab("program");
    }

    void labels_are_never_too_small_to_read() {
        // At a third of the size a node still says its name: more than the ground, the outline and the bar.
        GraphView* picture = view()->view();
        picture->resetTransform();
        picture->zoom_by(0.4);
        const NodeItem* node = nullptr;
        for (const NodeItem* item : items_of<NodeItem>(*view()->scene()))
            if (!item->is_frame() && item->expandable()) node = item;
        QVERIFY(node != nullptr);
        picture->centerOn(node->rect().center());
        const QImage image = picture->viewport()->grab().toImage();
        const QRect inside = picture->mapFromScene(node->rect().adjusted(14, 6, -6, -6)).boundingRect();
        int rows = 0;
        for (int y = inside.top(); y <= inside.bottom(); ++y) {
            bool ink = false;
            for (int x = inside.left(); x <= inside.right(); ++x)
                ink = ink || (image.rect().contains(x, y) && qGray(image.pixel(x, y)) < 140);
            rows += ink ? 1 : 0;
        }
        QVERIFY2(rows >= 6, qPrintable(QString::number(rows)));
    }

private:
    std::pair<const NodeItem*, const NodeItem*> two_nodes() {
        std::vector<const NodeItem*> boxes;
        for (const NodeItem* item : items_of<NodeItem>(*view()->scene()))
            if (!item->is_frame() && !item->expandable()) boxes.push_back(item);
        return {boxes.front(), boxes.back()};
    }
    ProgramView* view() { return window_->program_view(); }
    const VisibleGraph& graph() { return view()->graph(); }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(ProgramViewTest)
#include "program_view_test.moc"
