// Places in a text, and diagnostics as a terminal shows them.
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "ampc/diag/diagnostic.h"
#include "ampc/diag/utf8.h"

namespace ampc {
namespace {

std::string rendered(const Diagnostics& d, const SourceMap& s, const RenderOptions& options = {}) {
  std::ostringstream out;
  render(out, d, s, options);
  return out.str();
}

TEST(SourceMap, CountsLinesAndCodePointsFromOne) {
  SourceMap sources;
  const FileId id = sources.add("a.amp", "one\n\xc3\xb6\xc3\x9fx\r\n\nlast");
  EXPECT_EQ(sources.where({id, 0, 1}), "a.amp:1:1");
  EXPECT_EQ(sources.where({id, 8, 9}), "a.amp:2:3");  // after two code points of two bytes
  EXPECT_EQ(sources.where({id, 12, 13}), "a.amp:4:1");
  EXPECT_EQ(sources.where({id, 999, 1000}), "a.amp:4:5");  // beyond the end is the end
  EXPECT_EQ(sources.line_text(id, 2), "\xc3\xb6\xc3\x9fx");
  EXPECT_EQ(sources.line_text(id, 3), "");
  EXPECT_EQ(sources.line_text(id, 4), "last");
  EXPECT_EQ(sources.line_text(id, 5), "");
  EXPECT_EQ(sources.where(Span{}), "");
}

TEST(Utf8, FindsTheFirstFault) {
  EXPECT_FALSE(utf8::first_invalid("plain").has_value());
  EXPECT_FALSE(utf8::first_invalid("\xc3\xb6 \xe2\x82\xac \xf0\x9f\x99\x82").has_value());
  EXPECT_EQ(utf8::first_invalid("ab\xf6"), 2U);             // Latin-1
  EXPECT_EQ(utf8::first_invalid("a\x80"), 1U);              // a stray continuation
  EXPECT_EQ(utf8::first_invalid("\xc0\xaf"), 0U);           // overlong
  EXPECT_EQ(utf8::first_invalid("\xe2\x82"), 0U);           // cut short
  EXPECT_EQ(utf8::first_invalid("\xed\xa0\x80"), 0U);       // a surrogate
  EXPECT_EQ(utf8::first_invalid("x\xf4\x90\x80\x80"), 1U);  // beyond U+10FFFF
  EXPECT_EQ(utf8::count("\xc3\xb6\xe2\x82\xac!"), 3U);
}

TEST(Render, ShowsLineCaretLabelNotesAndHelp) {
  SourceMap sources;
  const FileId id = sources.add("rules/a.amp", "amp 1\nallow MatMull\ndeny Exp\n");
  Diagnostics d;
  d.error("AMPC0101", "no operator is called 'MatMull'")
      .at({id, 12, 19}, "did you mean 'MatMul'?")
      .also({id, 25, 28}, "another place")
      .note("a note")
      .note("another")
      .fix("write it right");
  EXPECT_EQ(rendered(d, sources),
            "rules/a.amp:2:7: error[AMPC0101]: no operator is called 'MatMull'\n"
            "  2 | allow MatMull\n"
            "    |       ^^^^^^^ did you mean 'MatMul'?\n"
            "  rules/a.amp:3:6: another place\n"
            "  3 | deny Exp\n"
            "    |      ^^^\n"
            "  note: a note\n"
            "  note: another\n"
            "  help: write it right\n");
}

TEST(Render, ShowsAPlaceWithoutASpan) {
  SourceMap sources;
  Diagnostics d;
  d.error("AMPC1001", "two nodes make one value").in("model.onnx: node 'fc1' (MatMul), value 'x'");
  d.warning("AMPC2001", "nothing was lowered");
  EXPECT_EQ(rendered(d, sources),
            "warning[AMPC2001]: nothing was lowered\n"
            "model.onnx: node 'fc1' (MatMul), value 'x': error[AMPC1001]: two nodes make one value\n");
}

TEST(Render, KeepsCaretsUnderTheirWord) {
  SourceMap sources;
  const FileId id = sources.add("a.amp", "\tdeny\t\xce\xb1\xce\xb2 Exp\n");
  Diagnostics d;
  d.error("AMPC0101", "m").at({id, 11, 14});
  EXPECT_EQ(rendered(d, sources),
            "a.amp:1:10: error[AMPC0101]: m\n  1 |  deny \xce\xb1\xce\xb2 Exp\n    |          ^^^\n");
}

TEST(Render, ShowsAWindowOfALongLine) {
  SourceMap sources;
  const FileId id = sources.add("a.amp", std::string(500, 'a') + "HERE" + std::string(500, 'b'));
  Diagnostics d;
  d.error("AMPC0101", "m").at({id, 500, 504});
  EXPECT_EQ(rendered(d, sources), "a.amp:1:501: error[AMPC0101]: m\n  1 | ..." + std::string(60, 'a') + "HERE" +
                                      std::string(56, 'b') + "...\n    |    " + std::string(60, ' ') + "^^^^\n");
}

TEST(Render, MarksOnlyTheFirstOfSeveralLines) {
  SourceMap sources;
  const FileId id = sources.add("a.amp", "one two\nthree\n");
  Diagnostics d;
  d.error("AMPC0101", "m").at({id, 4, 13});
  EXPECT_EQ(rendered(d, sources), "a.amp:1:5: error[AMPC0101]: m\n  1 | one two\n    |     ^^^\n");
}

TEST(Render, ColoursOnRequestAndHidesNotesOnRequest) {
  SourceMap sources;
  Diagnostics d;
  d.error("AMPC0001", "e");
  d.note("AMPC0002", "n");
  EXPECT_EQ(rendered(d, sources, {.colour = true, .quiet_notes = true}),
            "\033[1;31merror[AMPC0001]:\033[0m \033[1me\033[0m\n");
}

TEST(Diagnostics, AreSortedAndSaidOnce) {
  SourceMap sources;
  const FileId b = sources.add("b.amp", "xxxxxxxx");
  const FileId a = sources.add("a.amp", "xxxxxxxx");
  Diagnostics d;
  d.error("AMPC0002", "second").at({b, 1, 2});
  d.error("AMPC0001", "no place");
  d.warning("AMPC0003", "third").at({b, 5, 6});
  d.error("AMPC0002", "first").at({a, 7, 8});
  d.error("AMPC0002", "second").at({b, 1, 2});
  std::vector<std::string> messages;
  for (const Diagnostic* one : d.sorted(sources)) messages.push_back(one->message);
  EXPECT_EQ(messages, (std::vector<std::string>{"first", "second", "third", "no place"}));
  EXPECT_EQ(d.warnings(), 1U);
  EXPECT_TRUE(d.failed());
}

TEST(Diagnostics, TakeReportsFromManyThreads) {
  SourceMap sources;
  Diagnostics d;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&d, t] {
      for (int i = 0; i < 250; ++i) d.error("AMPC0001", std::to_string(t) + "-" + std::to_string(i)).note("n");
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(d.errors(), 1000U);
  EXPECT_EQ(d.sorted(sources).size(), 1000U);
}

}  // namespace
}  // namespace ampc
