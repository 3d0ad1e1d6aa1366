/** How one language writes a small test file, and the ways to make one of its tests say less. */
export interface Sample {
  path: string
  /** The file around its tests. */
  file(tests: readonly string[]): string
  /** A test that calls `add` twice; `x` is a variable of its own. */
  test(name: string, value: number, x: string): string
  comment(text: string): string
  /** Whether line breaks and indentation have no meaning. */
  isFree: boolean
  /** Leaves out a test: each takes a test and gives one that does not run. */
  skips: ((test: string) => string)[]
  /** Makes a test detect less. */
  weakens: ((test: string) => string)[]
  /** Words in strings and names that look like tampering and are none. */
  alike: string[]
}

const swap = (from: string | RegExp, to: string) => (test: string) => {
  const changed = test.replace(from, to)
  if (changed === test) throw new Error(`${from} is not in ${test}`)
  return changed
}
const slashes = (text: string) => `// ${text}`
const hash = (text: string) => `# ${text}`

export const SAMPLES: Record<string, Sample> = {
  javascript: {
    path: 'test/sum.test.ts',
    file: tests => `import { test } from 'node:test'\nimport assert from 'node:assert'\n${tests.join('\n')}\n`,
    test: (name, value, x) =>
      `test('${name}', () => {\n  const ${x} = add(${value}, 1)\n  assert.equal(${x}, ${value + 1})\n  expect(add(${x}, 0)).toBe(1${value})\n  assert.ok(${x})\n})`,
    comment: slashes,
    isFree: true,
    skips: [
      swap('test(', 'test.skip('),
      swap('test(', 'test.todo('),
      swap('test(', 'xit('),
      swap("', () =>", "', { skip: true }, () =>"),
      swap('() => {\n', 't => {\n  t.skip()\n'),
      swap('() => {\n', 'given => {\n  given.skip("later")\n'),
      test => `if (false) {\n${test}\n}`,
    ],
    weakens: [
      swap(/ {2}assert.*\n/, ''),
      swap(/assert\.equal\((\w+), \d+\)/, 'assert.ok($1)'),
      swap(/assert\.equal\((\w+), \d+\)/, 'assert.ok(true)'),
      swap(/( {2}assert.*)\n/, '  try {\n  $1\n  } catch {}\n'),
      swap(/ {2}assert/, '  if (maybe) assert'),
      swap(/ {2}assert/, '  return\n  assert'),
      swap(/(expect.*)toBe\(.*\)/, '$1toBeDefined()'),
      swap(/expect.*$/m, 'expect(true).toBe(true)'),
    ],
    alike: ["const skip = 'it.skip(1) test.only'", 'const only = skip.length', 'log(`xit(${only}) expect(true)`)'],
  },
  python: {
    path: 'tests/test_sum.py',
    file: tests => `import pytest\nimport unittest\nfrom sums import add\n${tests.join('\n')}\n`,
    test: (name, value, x) =>
      `def test_${name}():\n    ${x} = add(${value}, 1)\n    assert ${x} == ${value + 1}\n    assert add(${x}, 0) == 1${value}`,
    comment: hash,
    isFree: false,
    skips: [
      test => `@pytest.mark.skip\n${test}`,
      test => `@pytest.mark.skip(reason="later")\n${test}`,
      test => `@unittest.skip("later")\n${test}`,
      test => `@pytest.mark.xfail\n${test}`,
      test => `@pytest.mark.skipif(True, reason="x")\n${test}`,
      swap(':\n', ':\n    pytest.skip("later")\n'),
      test => `if False:\n${test.replace(/^/gm, '    ')}`,
    ],
    weakens: [
      swap(/ {4}assert.*\n/, ''),
      swap(/assert (\w+) == \d+/, 'assert $1 is not None'),
      swap(/assert (\w+) == \d+/, 'assert True'),
      swap(/ {4}(assert.*)\n/, '    try:\n        $1\n    except AssertionError:\n        pass\n'),
      swap(/ {4}(assert.*)\n/, '    if maybe:\n        $1\n'),
      swap(/ {4}assert/, '    return\n    assert'),
      swap(/assert (\w+ == \d+)/, 'assert $1 or True'),
      swap(/assert (\w+ == \d+)/, 'assert ($1, "adds")'),
    ],
    alike: ['skip = "@pytest.mark.skip"', 'xfail = len(skip)', 'log(f"pytest.skip({xfail})")'],
  },
  go: {
    path: 'sum_test.go',
    file: tests => `package sum\n\nimport "testing"\n\n${tests.join('\n')}\n`,
    test: (name, value, x) =>
      `func Test${name}(t *testing.T) {\n\t${x} := Add(${value}, 1)\n\tif ${x} != ${value + 1} {\n\t\tt.Errorf("got %d", ${x})\n\t}\n\tassert.Equal(t, 1${value}, Add(${x}, 0))\n}`,
    comment: slashes,
    isFree: false,
    skips: [
      swap('{\n', '{\n\tt.Skip("later")\n'),
      swap('{\n', '{\n\tt.SkipNow()\n'),
      swap('(t *testing.T) {\n', '(tt *testing.T) {\n\ttt.Skip()\n'),
    ],
    weakens: [
      swap(/\tif[\s\S]*?\n\t}\n/, ''),
      swap(/(if \w+) != \d+/, '$1 < 0'),
      swap(/(if) \w+ != \d+/, '$1 false'),
      swap(/\tassert.*\n/, ''),
      swap(/assert.Equal\(t, \d+, (.*)\)/, 'assert.NotNil(t, $1)'),
      swap('\tassert', '\treturn\n\tassert'),
    ],
    alike: ['skip := "t.Skip()"', 'Skip := len(skip)', 'log.Println("t.SkipNow", Skip)'],
  },
  rust: {
    path: 'tests/sum.rs',
    file: tests => `use sum::add;\n${tests.join('\n')}\n`,
    test: (name, value, x) =>
      `#[test]\nfn ${name}() {\n    let ${x} = add(${value}, 1);\n    assert_eq!(${x}, ${value + 1});\n    assert!(add(${x}, 0) == 1${value});\n}`,
    comment: slashes,
    isFree: true,
    skips: [
      swap('#[test]', '#[test]\n#[ignore]'),
      swap('#[test]', '#[ignore = "later"]\n#[test]'),
      swap('#[test]', '#[cfg(any())]\n#[test]'),
      swap('#[test]\n', ''),
    ],
    weakens: [
      swap(/ {4}assert_eq.*\n/, ''),
      swap(/assert_eq!\((\w+), \d+\)/, 'assert!(true)'),
      swap(/assert!\((.*) == \d+\)/, 'assert!($1 >= 0)'),
      swap('#[test]', '#[test]\n#[should_panic]'),
      swap('    assert_eq', '    return;\n    assert_eq'),
      swap(/ {4}(assert_eq.*)\n/, '    if false {\n        $1\n    }\n'),
    ],
    alike: ['let ignore = "#[ignore]";', 'let skip = ignore.len();', 'println!("assert!(true) {}", skip);'],
  },
  java: {
    path: 'src/test/java/SumTest.java',
    file: tests => `import org.junit.jupiter.api.*;\nclass SumTest {\n${tests.join('\n')}\n}\n`,
    test: (name, value, x) =>
      `  @Test\n  void ${name}() {\n    int ${x} = add(${value}, 1);\n    assertEquals(${value + 1}, ${x});\n    assertThat(add(${x}, 0)).isEqualTo(1${value});\n  }`,
    comment: slashes,
    isFree: true,
    skips: [
      swap('@Test', '@Test @Disabled'),
      swap('@Test', '@Disabled("later")\n  @Test'),
      swap('@Test', '@org.junit.Ignore\n  @Test'),
      swap('@Test', '@Test(enabled = false)'),
      swap('  @Test\n', ''),
      swap('{\n', '{\n    assumeTrue(false);\n'),
    ],
    weakens: [
      swap(/ {4}assertEquals.*\n/, ''),
      swap(/assertEquals\(\d+, (\w+)\)/, 'assertNotNull($1)'),
      swap(/assertEquals\(\d+, (\w+)\)/, 'assertTrue(true)'),
      swap(/ {4}(assertEquals.*)\n/, '    try { $1 } catch (Throwable e) { }\n'),
      swap(/ {4}(assertEquals.*)\n/, '    if (maybe) { $1 }\n'),
      swap(/isEqualTo\(.*\)/, 'isNotNull()'),
    ],
    alike: ['String skip = "@Disabled";', 'int Ignore = skip.length();', 'log("assertTrue(true)" + Ignore);'],
  },
  kotlin: {
    path: 'src/test/kotlin/SumTest.kt',
    file: tests => `import kotlin.test.*\nclass SumTest {\n${tests.join('\n')}\n}\n`,
    test: (name, value, x) =>
      `  @Test\n  fun ${name}() {\n    val ${x} = add(${value}, 1)\n    assertEquals(${value + 1}, ${x})\n    add(${x}, 0) shouldBe 1${value}\n  }`,
    comment: slashes,
    isFree: false,
    skips: [
      swap('@Test', '@Test @Ignore'),
      swap('@Test', '@Disabled("later")\n  @Test'),
      swap('  @Test\n', ''),
      swap('{\n', '{\n    assumeTrue(false)\n'),
    ],
    weakens: [
      swap(/ {4}assertEquals.*\n/, ''),
      swap(/assertEquals\(\d+, (\w+)\)/, 'assertNotNull($1)'),
      swap(/assertEquals\(\d+, (\w+)\)/, 'assertTrue(true)'),
      swap(/ {4}(assertEquals.*)\n/, '    try { $1 } catch (e: Throwable) { }\n'),
      swap(/ {4}(assertEquals.*)\n/, '    if (maybe) { $1 }\n'),
      swap(/ shouldBe \d+/, ' shouldNotBe null'),
    ],
    alike: ['val skip = "@Disabled"', 'val Ignore = skip.length', 'log("assertTrue(true)" + Ignore)'],
  },
  csharp: {
    path: 'tests/SumTests.cs',
    file: tests => `using Xunit;\npublic class SumTests\n{\n${tests.join('\n')}\n}\n`,
    test: (name, value, x) =>
      `  [Fact]\n  public void ${name}()\n  {\n    var ${x} = Add(${value}, 1);\n    Assert.Equal(${value + 1}, ${x});\n    Add(${x}, 0).Should().Be(1${value});\n  }`,
    comment: slashes,
    isFree: true,
    skips: [
      swap('[Fact]', '[Fact(Skip = "later")]'),
      swap('[Fact]', '[Test, Ignore("later")]'),
      swap('  [Fact]\n', ''),
      swap('{\n', '{\n    Assert.Ignore("later");\n'),
    ],
    weakens: [
      swap(/ {4}Assert.*\n/, ''),
      swap(/Assert.Equal\(\d+, (\w+)\)/, 'Assert.NotNull($1)'),
      swap(/Assert.Equal\(\d+, (\w+)\)/, 'Assert.True(true)'),
      swap(/ {4}(Assert.*)\n/, '    try { $1 } catch (Exception) { }\n'),
      swap(/ {4}(Assert.*)\n/, '    try { $1 } catch { }\n'),
      swap(/ {4}(Assert.*)\n/, '    if (maybe) { $1 }\n'),
      swap(/\.Be\(.*\)/, '.NotBeNull()'),
    ],
    alike: ['var skip = "[Fact(Skip)]";', 'var Ignore = skip.Length;', 'Log("Assert.True(true)" + Ignore);'],
  },
  ruby: {
    path: 'spec/sum_spec.rb',
    file: tests => `require "sum"\nRSpec.describe "sum" do\n${tests.join('\n')}\nend\n`,
    test: (name, value, x) =>
      `  it "${name}" do\n    ${x} = add(${value}, 1)\n    expect(${x}).to eq(${value + 1})\n    assert_equal 1${value}, add(${x}, 0)\n  end`,
    comment: hash,
    isFree: false,
    skips: [
      swap('it "', 'xit "'),
      swap(' do', ', skip: true do'),
      swap(' do', ', :skip do'),
      swap(' do\n', ' do\n    skip\n'),
      swap(' do\n', ' do\n    pending "later"\n'),
    ],
    weakens: [
      swap(/ {4}expect.*\n/, ''),
      swap(/to eq\(\d+\)/, 'not_to be_nil'),
      swap(/expect.*$/m, 'expect(true).to eq(true)'),
      swap(/ {4}(expect.*)\n/, '    begin\n      $1\n    rescue Exception\n    end\n'),
      swap(/(expect.*)\n/, '$1 if maybe\n'),
      swap(/assert_equal \d+, (.*)/, 'assert $1'),
    ],
    alike: ['skipped = "skip: true"', 'only = skipped.size', 'log("pending #{only}")'],
  },
  php: {
    path: 'tests/SumTest.php',
    file: tests => `<?php\nfinal class SumTest extends TestCase {\n${tests.join('\n')}\n}\n`,
    test: (name, value, x) =>
      `  public function test${name}(): void {\n    $${x} = add(${value}, 1);\n    $this->assertSame(${value + 1}, $${x});\n    self::assertEquals(1${value}, add($${x}, 0));\n  }`,
    comment: slashes,
    isFree: true,
    skips: [
      swap('{\n', '{\n    $this->markTestSkipped("later");\n'),
      swap('{\n', '{\n    self::markTestIncomplete();\n'),
      swap('function test', 'function no'),
    ],
    weakens: [
      swap(/ {4}\$this.*\n/, ''),
      swap(/assertSame\(\d+, (\S+)\)/, 'assertNotNull($1)'),
      swap(/assertSame\(.*\)/, 'assertTrue(true)'),
      swap(/ {4}(\$this.*)\n/, '    try { $1 } catch (Throwable $e) { }\n'),
      swap(/ {4}(\$this.*)\n/, '    if ($maybe) { $1 }\n'),
    ],
    alike: ['$skip = "markTestSkipped()";', '$only = strlen($skip);', 'log("assertTrue(true)" . $only);'],
  },
  swift: {
    path: 'Tests/SumTests.swift',
    file: tests => `import XCTest\nfinal class SumTests: XCTestCase {\n${tests.join('\n')}\n}\n`,
    test: (name, value, x) =>
      `  func test${name}() throws {\n    let ${x} = add(${value}, 1)\n    XCTAssertEqual(${x}, ${value + 1})\n    XCTAssertTrue(add(${x}, 0) == 1${value})\n  }`,
    comment: slashes,
    isFree: false,
    skips: [
      swap('{\n', '{\n    throw XCTSkip("later")\n'),
      swap('{\n', '{\n    try XCTSkipIf(true)\n'),
      swap('func test', 'func no'),
    ],
    weakens: [
      swap(/ {4}XCTAssertEqual.*\n/, ''),
      swap(/XCTAssertEqual\((\w+), \d+\)/, 'XCTAssertNotNil($1)'),
      swap(/XCTAssertEqual.*$/m, 'XCTAssertTrue(true)'),
      swap(/ {4}(XCTAssertEqual.*)\n/, '    if maybe { $1 }\n'),
    ],
    alike: ['let skip = "XCTSkip()"', 'let only = skip.count', 'log("XCTAssertTrue(true)", only)'],
  },
  'c++': {
    path: 'test/sum_test.cc',
    file: tests => `#include <gtest/gtest.h>\n${tests.join('\n')}\n`,
    test: (name, value, x) =>
      `TEST(Sum, ${name}) {\n  int ${x} = add(${value}, 1);\n  EXPECT_EQ(${value + 1}, ${x});\n  ASSERT_TRUE(add(${x}, 0) == 1${value});\n}`,
    comment: slashes,
    isFree: true,
    skips: [swap('Sum, ', 'Sum, DISABLED_'), swap('{\n', '{\n  GTEST_SKIP();\n'), test => `#if 0\n${test}\n#endif`],
    weakens: [
      swap(/ {2}EXPECT.*\n/, ''),
      swap(/EXPECT_EQ\(\d+, (\w+)\)/, 'EXPECT_NE(nullptr, $1)'),
      swap(/EXPECT_EQ\(.*\)/, 'EXPECT_TRUE(true)'),
      swap(/ {2}(EXPECT.*)\n/, '  if (maybe) { $1 }\n'),
      swap('  EXPECT', '  return;\n  EXPECT'),
    ],
    alike: [
      'const char* skip = "GTEST_SKIP()";',
      'int DISABLED = strlen(skip);',
      'log("EXPECT_TRUE(true)", DISABLED);',
    ],
  },
}
