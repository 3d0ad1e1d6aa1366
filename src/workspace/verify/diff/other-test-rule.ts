import { literalsIn, overlap, wordsIn } from './assertions.ts'
import type { DiffChange, DiffFile, DiffLine } from './change.ts'
import { isProductCode, languageOf, nameOf } from './file-kind.ts'
import { removedNames, speaksOf } from './removed-code.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/**
 * Tests in languages whose tests are not parsed are compared line by line: skip marks, assertions, and how exact they are. A line
 * that only moved, within the file or to another, is no change.
 */
export const otherTestRule: DiffRule = change => {
  const files = change.files.filter(file => file.kind === 'text' && isOtherTest(file.path))
  if (files.length === 0) return []
  const removed = namesGone(change)
  const lines = { gone: linesOf(files, 'removed'), come: linesOf(files, 'added') }
  const { gone, come } = withoutSame(lines.gone, lines.come)
  return [
    ...files.flatMap(skips),
    ...unmarked(gone, come, removed),
    ...weaker(gone, come),
    ...fewer(gone, come, removed),
  ]
}

/** File names that runners look for: Java, Kotlin, Scala, Groovy, C#, Ruby, PHP, Swift, C and C++, Elixir, Dart, bats. */
function isOtherTest(path: string): boolean {
  const name = nameOf(path)
  return (
    /(Tests?|Spec|IT|TestCase)\.(java|kt|scala|groovy|cs|php|swift|cpp|cc|cxx|mm?)$/.test(name) ||
    /^Test\w+\.(java|kt|cs|cpp|cc)$/.test(name) ||
    /_(spec|test)\.(rb|exs|dart|cc|cpp|cxx|c)$/.test(name) ||
    /^test_\w+\.(rb|c|cc|cpp|cxx)$/.test(name) ||
    /\.bats$/.test(name)
  )
}

const SKIPS: RegExp[] = [
  /^\s*@(Disabled|Ignore)\b(?!If|On|For|Unless)/,
  /\b(Fact|Theory)\s*\([^)]*\bSkip\s*=/,
  /^\s*\[\s*Ignore\b/,
  /^\s*(xit|xdescribe|xcontext|xspecify|xexample|pending|skip)\b(?!\s*[:=.])/,
  /^\s*(it|describe|context)\b.*,\s*(:skip|skip:\s*(true|['"]))/,
  /\bmarkTest(Skipped|Incomplete)\s*\(/,
  /\b(TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(\s*\w+\s*,\s*DISABLED_|\b(TEST|TEST_F|TEST_P)\s*\(\s*DISABLED_|\bGTEST_SKIP\s*\(/,
  /^\s*@(module)?tag\s+(:skip|skip:\s*(true|"))/,
  /\bthrow\s+XCTSkip\b|\bXCTSkip\(|@Test\([^)]*\.disabled\(/,
  /\bAssume\.|\bassume(True|False|That)\s*\(\s*(false|true)\s*\)/,
  /\bskip:\s*(true|['"])/,
]

/** Machines differ in these: a test that is skipped on one of them runs on another. */
const ELSEWHERE = /platform|windows|darwin|mac_?os|linux|jruby|version|skip_?(if|unless)|\bif\b|\bunless\b/i

function skips(file: DiffFile): DiffFinding[] {
  const before = new Set((file.before ?? '').split('\n').map(line => line.trim()))
  return file.added.flatMap(({ line, text: whole }) => {
    const text = whole.slice(0, LONGEST)
    if (before.has(text.trim()) || isComment(text) || !SKIPS.some(shape => shape.test(text))) return []
    const at = { file: file.path, line }
    const what = text.trim().slice(0, 80)
    if (file.status === 'added') return [note('test.skipped', `A new test does not run: ${what}`, at)]
    if (ELSEWHERE.test(text)) return [note('test.skipped', `A test is left out on some machines now: ${what}`, at)]
    return [block('test.skipped', `A test that ran is skipped now: ${what}. Let it run.`, at)]
  })
}

/** Longer lines were not written by a person. */
const LONGEST = 1_000

interface ChangedLine extends DiffLine {
  file: string
}

function linesOf(files: readonly DiffFile[], side: 'added' | 'removed'): ChangedLine[] {
  return files.flatMap(file =>
    file[side]
      .filter(({ text }) => !isComment(text) && text.trim() !== '')
      .map(({ line, text }) => ({ line, text: text.slice(0, LONGEST), file: file.path })),
  )
}

function withoutSame(
  gone: readonly ChangedLine[],
  come: readonly ChangedLine[],
): { gone: ChangedLine[]; come: ChangedLine[] } {
  return { gone: without(gone, come), come: without(come, gone) }
}

/** The entries of the first list without a counterpart in the other. */
function without(some: readonly ChangedLine[], others: readonly ChangedLine[]): ChangedLine[] {
  const left = new Map<string, number>()
  for (const { text } of others) left.set(squeezed(text), (left.get(squeezed(text)) ?? 0) + 1)
  return some.filter(({ text }) => {
    const count = left.get(squeezed(text)) ?? 0
    left.set(squeezed(text), count - 1)
    return count <= 0
  })
}

/** Marks by which a runner recognises a function as a test. */
const MARKS = /^\s*(@(Test|ParameterizedTest|RepeatedTest)\b|\[\s*(Fact|Theory|Test|TestCase|TestMethod)\b|#\[Test\])/

/** The function still exists, but no runner recognises it as a test. */
function unmarked(
  gone: readonly ChangedLine[],
  come: readonly ChangedLine[],
  removed: ReadonlySet<string>,
): DiffFinding[] {
  const were = gone.filter(({ text }) => MARKS.test(text))
  const isLess = were.length > come.filter(({ text }) => MARKS.test(text)).length
  const [first] = were
  if (!first || !isLess || removed.size > 0 || come.some(({ text }) => TABLES.test(text))) return []
  const text = `A test no longer runs: ${short(first.text)} was removed.`
  return [block('test.deleted', text, { file: first.file })]
}

const ASSERTS =
  /\b(assert\w*|XCTAssert\w*|#expect|(EXPECT|ASSERT)_\w+|Assert\.\w+|REQUIRE(_\w+)?|CHECK(_\w+)?|refute\w*|verify)\s*\(|\bassert(_\w+)?\s|\bexpect\s*[({]|\.should\b|\bshould(Be|Equal|Throw)\w*|->(assert|expect)\w+\(|^\s*\[\[?\s.*\]\]?\s*$/
const EXACT =
  /\b(assert(Equals|Same|Equal|ArrayEquals|Json\w*|_equal|_same)|XCTAssertEqual|(EXPECT|ASSERT)_(EQ|STREQ|FLOAT_EQ|DOUBLE_EQ)|Assert\.(Equal|AreEqual|Same|AreSame|That)|shouldBe|shouldEqual)\s*\(?|\.to\s+(eq|eql|equal|match_array|be ==)\b|isEqualTo\(|\bassert\b.*==|->assert(Same|Equals)\(|\s(=|==|-eq)\s.*\]/
const VAGUE =
  /\b(assertNotNull|assertNotEmpty|assertIs\w+|assertInstanceOf|assert_not_nil|refute_nil|XCTAssertNotNil|XCTAssertNoThrow|XCTAssertTrue\(\s*true|assertTrue\(\s*true|EXPECT_TRUE\(\s*true|Assert\.(NotNull|IsNotNull|NotEmpty|True\(\s*true)|assertDoesNotThrow|EXPECT_NO_THROW)\b|\b(be_truthy|be_present|be_a|be_an|be_kind_of|not_to be_nil|not_to raise_error|isNotNull|isNotEmpty|shouldNotBe)\b|\[\[?\s+-n\s/

/** A value that was compared is now only checked for existence. */
function weaker(gone: readonly ChangedLine[], come: readonly ChangedLine[]): DiffFinding[] {
  const [were, are] = [gone.filter(({ text }) => EXACT.test(text)), come.filter(({ text }) => EXACT.test(text))]
  const first = come.find(
    ({ text }) => !EXACT.test(text) && (VAGUE.test(text) || were.some(one => says(one.text, text))),
  )
  if (!first || were.length <= are.length) return []
  const was = were.find(({ file }) => file === first.file) ?? were[0]
  const text = `An assertion was replaced by a weaker one: ${short(was?.text)} became ${short(first.text)}.`
  return [block('test.weakened', text, { file: first.file, line: first.line })]
}

/** Whether another assertion is about the same things, without the exact values. */
function says(exact: string, other: string): boolean {
  if (!ASSERTS.test(other)) return false
  const values = literalsIn(exact).filter(each => !/^(true|false|null|nil|[01]|"")$/.test(each))
  const isAbout = overlap(wordsIn(exact), wordsIn(other)) >= 0.5
  return isAbout && values.some(each => !literalsIn(other).includes(each))
}

/** A parametrised test has many cases: its rows are not counted here. */
const TABLES =
  /DataProvider|@dataProvider|ParameterizedTest|\[Theory|InlineData|CsvSource|MethodSource|shared_examples|it_behaves_like|\bwhere:|INSTANTIATE_TEST|\.each\b|\bfor\b|\bforEach\b/

/** Fewer assertions than before, neither because their subject was removed nor because they were reworded. */
function fewer(
  gone: readonly ChangedLine[],
  come: readonly ChangedLine[],
  removed: ReadonlySet<string>,
): DiffFinding[] {
  const isAsserting = ({ text }: ChangedLine) => ASSERTS.test(text)
  const [were, are] = [gone.filter(isAsserting), come.filter(isAsserting)]
  const isTable = come.some(({ text }) => TABLES.test(text))
  const isHelper = come.some(({ text }) => /^\s*\w*(expect|assert|check|verify|should)[A-Z_]\w*\s*\(/.test(text))
  if (were.length <= are.length || isTable || isHelper) return []
  const lost = were.find(({ text }) => !speaksOf(text, removed)) ?? were[0]
  if (!lost) return []
  const isGone = were.every(({ text }) => speaksOf(text, removed))
  const text = `An assertion is gone: ${short(lost.text)}`
  const at = { file: lost.file }
  if (isGone || removed.size > 0) return [note('test.assertion-removed', `${text}, with what it was about.`, at)]
  return [block('test.assertion-removed', `${text}: bring it back.`, at)]
}

function isComment(text: string): boolean {
  return /^\s*(\/\/|\*|\/\*|--)/.test(text) || /^\s*#(?!\[|expect)/.test(text)
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function short(text = ''): string {
  return squeezed(text).slice(0, 80)
}

const CODE = /\.(java|kt|scala|groovy|cs|rb|php|swift|cpp|cc|cxx|c|h|hpp|mm?|exs?|dart|sh)$/
const DEFINED =
  /\b(?:class|interface|struct|enum|record|module|defmodule|defp?|func|fun|function|trait|object|extension|protocol)\s+(?:self\.)?([A-Za-z_]\w{2,})|\b[\w<>[\]?*&]+\s+([a-zA-Z_]\w{2,})\s*\([^;{}]*\)\s*(?:const\s*)?\{/g

/** Names that were removed from the program, in any language. */
function namesGone(change: DiffChange): Set<string> {
  const names = removedNames(change)
  const files = change.files.filter(isOtherCode)
  const after = files.map(file => file.after ?? '').join('\n')
  for (const file of files) {
    const isMoved = files.some(({ status, path }) => status === 'added' && nameOf(path) === nameOf(file.path))
    if (file.status === 'deleted' && !isMoved) names.add(nameOf(file.path).replace(/\.\w+$/, ''))
    for (const [, first, second] of file.removed
      .map(({ text }) => text)
      .join('\n')
      .matchAll(DEFINED)) {
      const name = first ?? second ?? ''
      if (name !== '' && !new RegExp(`\\b${name}\\b`).test(after)) names.add(name)
    }
  }
  return names
}

function isOtherCode({ path, kind }: DiffFile): boolean {
  return kind === 'text' && CODE.test(path) && languageOf(path) === undefined && isProductCode(path)
}
