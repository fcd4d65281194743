// Input that is wrong in every place in turn: each JSON value of a capture replaced by others, each text and capture cut at each byte,
// each byte of a text exchanged. Whatever it is, it reads as a program that prints and is written again, or is refused by one short Error
// that says what was expected, what was found, and where.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "capture_builder.h"
#include "io/capture/reader.h"
#include "io/capture/writer.h"
#include "io/text/parser.h"
#include "ir/print/printer.h"
#include "support/sample_seed.h"

namespace jaxscope {
namespace {

using json = nlohmann::ordered_json;

/// What is wrong with how `read` takes its input; empty if nothing.
template <class F>
std::string complaint(F&& read, std::size_t& refused) {
    const auto begin = std::chrono::steady_clock::now();
    try {
        const ProgramPtr program = read();
        const std::string text = to_text(*program->jaxpr, {.source = true});
        const ProgramPtr again = read_capture_text(capture_text(*program), "written");
        if (to_text(*again->jaxpr).empty() || again->jaxpr->eqns.size() != program->jaxpr->eqns.size())
            return "what was written reads back as another program than\n" + text;
    } catch (const Error& e) {
        ++refused;
        const std::string text = full_text(e);
        const std::string line = text.substr(0, text.find('\n'));
        if (exit_code(e.code) != 2) return "exit code: " + text;
        if (text.size() > 1024) return "too long: " + text;
        static const std::regex in_jaxs_words(
            "mismatching|cond called with|cond branches take|does not accept dtype|to have the same dtypes|must be same dtype|the same "
            "number of dimensions|negative powers|got incompatible shapes for broadcasting");
        const bool jaxs_words = std::regex_search(line, in_jaxs_words);
        if (line.find("jaxscope: c:") == std::string::npos) return "no place: " + text;
        for (const char* part : {"expected ", ", found "})
            if (!jaxs_words && line.find(part) == std::string::npos) return std::string("no '") + part + "': " + text;
        if (std::any_of(text.begin(), text.end(),
                        [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F || c == '\x1b'; }))
            return "control characters: " + text;
    }
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return "took longer than 20 s";
    return {};
}

/// Pointers to all values of `j`; of long lists the first, second and last items.
void all_places(const json& j, const json::json_pointer& at, std::vector<json::json_pointer>& out) {
    out.push_back(at);
    if (j.is_object())
        for (auto it = j.begin(); it != j.end(); ++it) all_places(it.value(), at / it.key(), out);
    if (j.is_array())
        for (std::size_t i = 0; i < j.size(); ++i)
            if (i < 2 || i + 1 == j.size()) all_places(j[i], at / i, out);
}

const std::vector<json>& wrong_values() {
    static const std::vector<json> all = [] {
        json deep = 0;
        for (int i = 0; i < 1500; ++i) deep = json::array({deep});
        return std::vector<json>{nullptr,
                                 true,
                                 -1,
                                 0,
                                 1,
                                 7,
                                 1000000007,
                                 INT64_MAX,
                                 INT64_MIN,
                                 UINT64_MAX,
                                 1.5,
                                 1e300,
                                 "",
                                 "nan",
                                 "x\x1b[31m\n\x07y",
                                 std::string(5000, 'z'),
                                 "../../etc/passwd",
                                 json::array(),
                                 json::object(),
                                 json::array({0, 0, 0, 0}),
                                 json::array({json::array(), "x"}),
                                 json{{"closed_jaxpr", 0}},
                                 json{{"dtype", "float33"}},
                                 json{{"record", "R"}, {"fields", 3}},
                                 json{{"array", 0}},
                                 json{{"policy", 3}},
                                 json{{"rule", 99}},
                                 deep};
    }();
    return all;
}

/// The places of `capture` are each given each of the values, left out, and repeated: every `step`th of these with JAXSCOPE_FULL, else a
/// third of them, by the printed seed.
void sweep(const json& capture, std::size_t step) {
    static const std::size_t seed = seed_of_sample();
    if (!std::getenv("JAXSCOPE_FULL")) step *= 3;
    std::vector<json::json_pointer> places;
    all_places(capture, json::json_pointer(), places);
    std::size_t cases = 0, checked = 0, refused = 0;
    std::map<std::string, std::string> found;
    const auto asked = [&] { return (++cases + seed) % step == 0; };
    const auto check = [&](const json& changed, const std::string& what) {
        const std::string text = changed.dump();
        const bool compressed = ++checked % 3 == 0;
        const std::string wrong = complaint([&] { return read_capture_text(compressed ? test::zstd(text) : text, "c"); }, refused);
        if (!wrong.empty() && found.size() < 20) found.emplace(wrong.substr(0, 60), what + ": " + wrong);
    };
    for (const json::json_pointer& p : places) {
        const std::string at = p.to_string();
        for (const json& value : wrong_values()) {
            if (!asked()) continue;
            json changed = capture;
            changed[p] = value;
            check(changed, at + " = " + value.dump().substr(0, 40));
        }
        if (p.empty()) continue;
        const auto with_parent = [&](const char* what, const auto& change) {
            if (!asked()) return;
            json changed = capture;
            change(changed[p.parent_pointer()]);
            check(changed, at + what);
        };
        with_parent(" gone", [&](json& parent) { parent.is_object() ? void(parent.erase(p.back())) : parent.erase(std::stoul(p.back())); });
        if (capture[p.parent_pointer()].is_array())
            with_parent(" twice", [&](json& parent) {
                const std::size_t k = std::stoul(p.back());
                parent.insert(parent.begin() + static_cast<std::ptrdiff_t>(k), json(parent[k]));
            });
    }
    for (const auto& [kind, text] : found) ADD_FAILURE() << text;
    EXPECT_GT(refused, cases / step / 4) << "of " << cases / step;
}

TEST(HostileSweep, EveryValueOfASmallCapture) { sweep(test::small_capture(), 1); }

std::string contents(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
}
std::vector<std::filesystem::path> golden_texts(const char* folder) {
    std::vector<std::filesystem::path> out;
    for (const auto& e : std::filesystem::directory_iterator(std::filesystem::path(JAXSCOPE_SOURCE_DIR) / "tests/golden" / folder))
        if (e.path().extension() == ".jaxpr") out.push_back(e.path());
    std::sort(out.begin(), out.end());
    return out;
}

/// A program of one of the golden texts as a capture.
TEST(HostileSweep, EveryValueOfCapturesOfRealPrograms) {
    const auto files = golden_texts("primitives");
    for (std::size_t i = 0; i < files.size(); i += 12) {
        const std::string text = contents(files[i]);
        SCOPED_TRACE(files[i].filename().string());
        sweep(json::parse(capture_text(*read_jaxpr_text(text.substr(0, text.find("# RUN")), "c"))), 7);
    }
}

TEST(HostileSweep, CapturesCutAtEveryByte) {
    const std::string text = test::small_capture().dump();
    const std::string packed = test::zstd(text);
    std::size_t refused = 0;
    for (std::size_t n = 0; n < text.size(); ++n)
        ASSERT_EQ(complaint([&] { return read_capture_text(text.substr(0, n), "c"); }, refused), "") << n;
    for (std::size_t n = 4; n < packed.size(); ++n)
        ASSERT_EQ(complaint([&] { return read_capture_text(packed.substr(0, n), "c"); }, refused), "") << n;
    EXPECT_EQ(refused, text.size() + packed.size() - 4) << "each is refused";
}

TEST(HostileSweep, TextsCutAndChangedAtBytes) {
    const std::string wrong("(){}[]:;,=\0\xff 9\"'\x1b\n#", 20);
    std::size_t refused = 0, k = 0;
    for (const auto& file : golden_texts("primitives")) {
        std::string text = contents(file);
        text.resize(text.find("# RUN"));
        for (std::size_t n = k++ % 29; n < text.size(); n += 29) {
            ASSERT_EQ(complaint([&] { return read_jaxpr_text(text.substr(0, n), "c"); }, refused), "") << file << " cut at " << n;
            std::string changed = text;
            changed[n] = wrong[(n + k) % wrong.size()];
            ASSERT_EQ(complaint([&] { return read_jaxpr_text(changed, "c"); }, refused), "") << file << " changed at " << n << ":\n"
                                                                                             << changed;
        }
    }
    EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace jaxscope
