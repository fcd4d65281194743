#include "io/arrays/npz.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "ir/types/element.h"

namespace jaxscope {
namespace {

namespace fs = std::filesystem;

std::string data(const char* name) { return (fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/arrays" / name).string(); }
double number(const ArrayPtr& a, std::size_t i) {
    const auto width = static_cast<std::size_t>(byte_size(a->aval->dtype));
    const Element e = load_element(a->aval->dtype, a->data.data() + i * width);
    return is_inexact(a->aval->dtype) ? e.number.real() : static_cast<double>(e.integer);
}
class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "jaxscope-npz-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Folder() { fs::remove_all(path_); }
    std::string file(const char* name) const { return (path_ / name).string(); }

private:
    fs::path path_;
};
std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(Npz, ReadsWhatNumpyWrote) {
    const NpzReader npz(data("stored.npz"));
    EXPECT_EQ(npz.names().size(), 9u);
    EXPECT_EQ(to_text(npz.read("f")->aval), "f32[2,3]");
    EXPECT_EQ(number(npz.read("f"), 5), 5.0);
    EXPECT_EQ(to_text(npz.read("i")->aval), "i16[2,2]");
    EXPECT_EQ(number(npz.read("i"), 1), -2) << "big endian";
    EXPECT_EQ(number(npz.read("b"), 0), 1);
    EXPECT_EQ(to_text(npz.read("c")->aval), "c64[1]");
    EXPECT_EQ(to_text(npz.read("scalar")->aval), "f64[]");
    EXPECT_EQ(to_text(npz.read("empty")->aval), "u8[0,3]");
    const ArrayPtr fortran = npz.read("fortran");
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(number(fortran, i), static_cast<double>(i));
    EXPECT_EQ(number(NpzReader(data("deflated.npz")).read("f"), 999), 999.0);
}

TEST(Npz, TakesTheAvalThatTheCallerKnows) {
    const NpzReader npz(data("stored.npz"));
    EXPECT_EQ(number(npz.read("bf", AvalRef(DType::BF16, {2})), 0), 1.5);
    EXPECT_EQ(to_text(npz.read("key", AvalRef(DType::KeyFry, {2}))->aval), "key<fry>[2]");
    EXPECT_THROW(npz.read("bf"), Error) << "raw bytes alone say nothing";
    EXPECT_THROW(npz.read("f", AvalRef(DType::F32, Dims({3, 2}))), Error);
    EXPECT_THROW(npz.read("f", AvalRef(DType::S32, Dims({2, 3}))), Error);
    EXPECT_THROW(npz.read("nobody"), Error);
}

TEST(Npz, ReadsWhatItWrote) {
    const Folder folder;
    const std::string path = folder.file("out.npz");
    std::vector<NpzArray> arrays;
    for (const DType d : {DType::F32, DType::BF16, DType::Bool, DType::KeyFry, DType::C128, DType::F8E4M3FN, DType::S4}) {
        auto a = std::make_shared<ArrayConst>();
        a->aval = AvalRef(d, {2, 3});
        a->data.assign(static_cast<std::size_t>(a->aval->bytes()), std::byte{1});
        arrays.push_back({"arg" + std::to_string(arrays.size()), a});
    }
    write_npz(path, arrays);
    const NpzReader npz(path);
    ASSERT_EQ(npz.names().size(), arrays.size());
    for (const NpzArray& a : arrays) EXPECT_EQ(npz.read(a.name, a.array->aval)->data, a.array->data) << a.name;
    EXPECT_EQ(fs::file_size(path), bytes_of(path).size());
}

TEST(Npz, DamagedArchivesAreErrorsAndNothingElse) {
    const Folder folder;
    for (const char* name : {"stored.npz", "deflated.npz"}) {
        const std::string whole = bytes_of(data(name));
        const auto read_all = [&](const std::string& bytes) {
            std::ofstream(folder.file("bad.npz"), std::ios::binary) << bytes;
            try {
                const NpzReader npz(folder.file("bad.npz"));
                for (const std::string& n : npz.names()) npz.read(n, AvalRef(DType::F32, {1000}));
            } catch (const Error&) {
            }
        };
        for (std::size_t n = 0; n < whole.size(); n += 11) read_all(whole.substr(0, n));
        for (std::size_t at = 0; at < whole.size(); at += 5) {
            std::string bad = whole;
            bad[at] = static_cast<char>(~bad[at]);
            read_all(bad);
        }
    }
    EXPECT_THROW(NpzReader(folder.file("none.npz")), Error);
}

TEST(Npz, ACaptureWithoutItsArchiveStillOpens) {
    auto a = std::make_shared<ArrayConst>();
    a->aval = AvalRef(DType::F32, {2, 3});
    a->npz = "f";
    read_archive_arrays("/nonexistent/x.npz", {a});
    EXPECT_FALSE(a->known());
    read_archive_arrays(data("stored.npz"), {a});
    EXPECT_TRUE(a->known());
}

}  // namespace
}  // namespace jaxscope
