#include "ampc/model/name_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ampc {
namespace {

TEST(NameTable, FindsWhatWasInsertedThroughEveryGrowth) {
  std::vector<std::string> names;
  names.reserve(5000);
  for (int i = 0; i < 5000; ++i) names.push_back("value_" + std::to_string(i));
  NameTable table;
  for (std::uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(table.insert(names[i], i), i);
  for (std::uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(table.find(names[i]), i);
  EXPECT_EQ(table.find("value_5000"), NameTable::kAbsent);
}

TEST(NameTable, TheFirstOfANameStays) {
  NameTable table;
  EXPECT_EQ(table.find("x"), NameTable::kAbsent);
  EXPECT_EQ(table.insert("x", 1), 1U);
  EXPECT_EQ(table.insert("x", 2), 1U);
  table.reserve(1000);
  EXPECT_EQ(table.find("x"), 1U);
}

}  // namespace
}  // namespace ampc
