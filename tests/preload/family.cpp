// C++'s operators come to the family: with and without alignment, sized and not, and those that throw.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

static int failures;

static void check(bool passed, const char *what) {
    if (!passed) {
        std::fprintf(stderr, "%s does not hold\n", what);
        failures++;
    }
}
#define CHECK(condition) check((condition), #condition)

struct alignas(4096) page {
    unsigned char bytes[4096];
};

struct alignas(64) line {
    double values[8];
};

static volatile std::size_t impossible = SIZE_MAX / 2;

static void aligned_news() {
    for (std::size_t n : {1, 3, 1000}) {
        std::unique_ptr<page[]> pages(new page[n]);
        CHECK(reinterpret_cast<std::uintptr_t>(pages.get()) % 4096 == 0);
        std::memset(pages.get(), 7, n * sizeof(page));
        std::unique_ptr<line[]> lines(new line[n]());
        CHECK(reinterpret_cast<std::uintptr_t>(lines.get()) % 64 == 0);
        CHECK(lines[n - 1].values[7] == 0.0);
    }
}

static void refusals() {
    bool thrown = false;
    try {
        ::operator delete(::operator new(impossible));
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
    CHECK(::operator new(impossible, std::nothrow) == nullptr);
}

static void containers() {
    std::vector<std::string> texts;
    std::vector<double> numbers;
    for (int i = 0; i < 20000; i++) {
        texts.push_back("text number " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 90), 'x'));
        numbers.insert(numbers.end(), 50, static_cast<double>(i));
    }
    CHECK(texts[19999].compare(0, 17, "text number 19999") == 0);
    CHECK(numbers.size() == 1000000 && numbers.back() == 19999.0 && numbers[50 * 777] == 777.0);
    // Another thread frees them.
    std::thread([moved = std::move(texts), more = std::move(numbers)]() mutable {
        moved.clear();
        moved.shrink_to_fit();
        more = std::vector<double>();
    }).join();
}

static std::vector<char> late(3 << 20, 'l'); // freed by a destructor of the program's

int main() {
    aligned_news();
    refusals();
    containers();
    CHECK(late.back() == 'l');
    return failures == 0 ? 0 : 1;
}
