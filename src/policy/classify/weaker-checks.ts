import { explainLostGuard } from './lost-guards.ts'
import { findAdded, type WrittenChange } from './written-text.ts'

// What makes the checks of a project weaker: settings that are less strict, tests that are left out, and comments that switch a check off.

/** Settings of type checkers, linters, test runners and hooks. */
export const CHECK_FILE =
  /(^|\/)(tsconfig[\w.-]*\.json|jsconfig\.json|\.eslintrc(\.\w+)?|eslint\.config\.[cm]?[jt]s|biome\.jsonc?|\.?oxlintrc\.json|\.stylelintrc(\.\w+)?|stylelint\.config\.[cm]?js|\.flake8|\.?ruff\.toml|\.?mypy\.ini|\.?pylintrc|pyrightconfig\.json|pytest\.ini|tox\.ini|\.coveragerc|(jest|vitest|karma|playwright|cypress|nyc|ava|mocha)[\w.-]*\.config\.[cm]?[jt]s|\.mocharc(\.\w+)?|\.nycrc(\.json)?|\.c8rc\.json|\.pre-commit-config\.ya?ml|\.?golangci\.(ya?ml|toml|json)|\.?clippy\.toml|\.rubocop\.yml|phpstan[\w.-]*\.neon(\.dist)?|phpunit\.xml(\.dist)?|\.swiftlint\.yml|detekt\.yml|checkstyle\.xml|\.?commitlint(rc|\.config)(\.\w+)?|\.gitleaks\.toml|\.gitleaksignore|\.trivyignore(\.ya?ml)?|trivy\.yaml|\.snyk|\.semgrepignore|\.secretlint(rc\S*|ignore)|\.bandit|\.secrets\.baseline|\.talismanrc|\.?osv-scanner\.toml|\.grype\.yaml|\.?audit-ci\.jsonc?|\.nsprc|\.checkov\.ya?ml|\.tfsec\S*|\.hadolint\.ya?ml|sonar-project\.properties|\.?(phpcs|psalm|pmd|spotbugs|ruleset)[\w.-]*\.xml(\.dist)?|\.credo\.exs|\.scalafix\.conf|\.clang-tidy|analysis_options\.ya?ml|\.luacheckrc|\.yamllint(\.ya?ml)?|\.markdownlint[\w.-]*|revive\.toml|\.ansible-lint|\.tflint\.hcl|\.(reek|standard|erb-lint|haml-lint|slim-lint)\.ya?ml)$/
/** Settings of what looks for secrets and known holes: they say what it leaves out. */
const SCANNER =
  /(^|\/)(\.gitleaks\.toml|\.gitleaksignore|\.trivyignore(\.ya?ml)?|\.snyk|\.semgrepignore|\.secretlintignore|\.secrets\.baseline|\.talismanrc|\.?osv-scanner\.toml|\.?audit-ci\.jsonc?|\.nsprc)$/
/** Files for other things that may hold such settings too. */
const MAY_CHECK = /(^|\/)(package\.json|pyproject\.toml|setup\.cfg|Cargo\.toml|vite\.config\.[cm]?[jt]s)$/

/** Files that say how a build runs its tests, and what in them makes it go on after one that fails, or run none. */
const BUILD_FILE =
  /(^|\/)((build|settings)\.gradle(\.kts)?|gradle\.properties|pom\.xml|\.mvn\/[\w.]+|build\.(sbt|xml|sc)|mix\.exs|test_helper\.exs|Cargo\.toml|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|Rakefile|[\w.-]+\.(rake|[cf]sproj|gradle(\.kts)?|cmake|props|targets)|CMakeLists\.txt|BUILD(\.bazel)?|Package\.swift|rebar\.config|project\.clj|composer\.json)$/
const GOES_ON =
  /\b(is)?ignoreFailures\b(\.set\(|\s*=?)\s*true|\b(testFailureIgnore|test\.failure\.ignore|skipTests|skipITs|test\.skip|skip\.(unit|integration)?\.?tests?)\b\s*[>=:(]\s*["']?true|\b(failOnViolation|failOnError|fail_on_error|abortOnError|haltonfailure|failonerror|halt_on_failure|fail_on_violation)\b["']?\s*[=(:]?\s*["']?(false|no)\b|\bonlyIf\s*\{\s*false|\b(ignore_(outcome|errors|exit_status))\s*=\s*[tT]rue|^[ \t]*(commands\s*=\s*)?-\s*(\{envpython\} -m )?(pytest|python -m (pytest|unittest)|unittest|nose2?|ruff|mypy|flake8|coverage)\b|\btest\s*(:=|in\s+assembly\s*:=)\s*\{\s*\}|\bTests\.Filter\(\s*_\s*=>\s*false|\bskip\s*:=\s*true|\btest:\s*\[\s*\]|^[ \t]*test\s*=\s*false|\btest\s*=\s*false\s*[,}]|\bContinueOnError\s*=\s*"(true|WarnAndContinue)|<IsTestProject>\s*false|\bVSTestContinueOnError|\bWILL_FAIL\s+(TRUE|ON|1)|\bDISABLED\s+(TRUE|ON|1)|\bsuccess_codes\s*=\s*\[[^\]]{0,40}1|\bTreatWarningsAsErrors>\s*false|\bwarnings_as_errors:\s*false|\bexclude\s*\(?\s*["']\*\*\/\*?(Test\w*|\*Tests?|Tests?)?\*?["']/im

/** Comments that switch a check off for a whole file, and a list of tests that pytest leaves out. Those for one line, or the next, are not meant. */
const SILENCES =
  /@ts-nocheck\b|\/\*\s*(eslint|oxlint|stylelint|tslint)[-:]disable(?!-)\b|\bbiome-ignore-all\b|#\s*(mypy:\s*ignore-errors|pyright:\s*(ignore|basic|off)|pyre-ignore-all-errors|pylint:\s*(skip-file|disable=all)|(flake8|ruff):\s*noqa\s*$|rubocop:disable\s+all\b|shellcheck\s+disable=all)|\/\/\s*nolint(:all)?\s*$|#!\[allow\(|\b(istanbul|c8|v8) ignore file\b|@?phpcs:(ignoreFile|disable)|@phpstan-ignore-file|swiftlint:disable all|markdownlint-disable-file|(^|\s)collect_ignore(_glob)?\s*\+?=|\b(items|tests)\s*\[\s*:\s*\]\s*=\s*\[\s*\]|\b(del\s+items\s*\[|items\.clear\(\))|\bexitstatus\s*=\s*0\b|\bos\._exit\(\s*0?\s*\)|\bpytest\.exit\(/m

/** Tests that are left out whatever happens, and those beside which all others are, in the languages that people write tests in. */
const SKIPS =
  /\b(it|test|tests|describe|context|suite|specify|bench|feature|scenario)(\.(concurrent|sequential|serial|parallel|each|describe|failing))*\.(skip|only|fixme)(\.each\s*[(`]|\s*\(\s*(['"`]|$|\w+\s*,\s*(async\b|\(|function\b)))|(?<![.\w$])(x|f)(it|test|describe|context|specify|scenario)\s*(\(|\.each|\s['"])|@(pytest\.mark\.(skip\b(?!if)|xfail\b(?![^\n]*strict\s*=\s*True))|unittest\.(skip|expectedFailure)\b|Disabled\b|Ignore\b(?!d)|(module)?tag :?skip\b)|\bpytestmark\s*=\s*\[?\s*pytest\.mark\.skip\b(?!if)|\bpytest\.skip\([^)]*allow_module_level|__test__\s*=\s*False|#\[ignore\b|(?<!\bif\b[^\n]*\{\s*)\b[tb]\.Skip(Now|f)?\(|^[ \t]*\/\/\s*(go:build|\+build)\s+(ignore|never|none|off|false|disabled?|skip\w*|tools)\b|\[(Ignore|Explicit)(\(|\])|\bSkip\s*=\s*"|\bmarkTest(Skipped|Incomplete)\(|\bXCTSkip\(/gm

/** Comments that switch a check off at one place. Put in by a substitution they are at many. */
const SILENCES_ONE =
  /@ts-(ignore|expect-error|nocheck)|\b(eslint|oxlint|stylelint|tslint|biome)-(disable|ignore)|#\s*(noqa|nosec|nosem\w*)\b|\btype:\s*ignore|\bpy(right|lint|re):\s*(ignore|disable|fixme)|\bno(lint|sonar|inspection)\b|\bpragma: no (cover|mutate)|\b(istanbul|c8|v8) ignore|@suppress|#!?\[allow\(|\brubocop:disable|shellcheck disable|phpcs:ignore|@phpstan-ignore/i

/** The same by words that mean something else in other code. Asking for something first, in the same line or the one above, is everyday. */
const SKIPS_IN_TESTS =
  /^[ \t]*(?:skip|pending)\b(?=[ \t]*\(?[ \t]*(?:['")]|$))(?![^\n]*\b(?:if|unless)\b)(?<!(?:\b(?:if|unless|else|except|rescue|catch)\b[^\n]{0,200}|\))[:{]?\s*(?:skip|pending))|[{,(]\s*:?skip['"]?\s*(?::|=>)\s*(?:true\b|['"`])|@tag\s+skip:|\b(?:this|t|ctx|context|self|pytest|test)\.(?:skip|skipTest|xfail|fixme)\((?=\s*(?:['"`)fr]|true\b|reason))(?<!\b(?:if|unless|else|elif|except|rescue|catch)\b[^\n]{0,200}\s*\b[\w.]+\()|\braise\s+(?:unittest\.)?SkipTest\b(?<!\b(?:if|else|elif|except)\b[^\n]{0,200}\s*raise\s+[\w.]+)|\b[sS]kip_?[iI]f\(\s*(?:[tT]rue|1)\b|\brunIf\(\s*false\b|@skip\b|\bGTEST_SKIP\(\)(?<!\bif\b[^\n]{0,200}\s*GTEST_SKIP\(\))|\bTEST(?:_[FP])?\([^)\n]{0,100}\bDISABLED_|@(?:Test|Suite)\([^)\n]{0,100}(?:\.disabled\b|enabled\s*=\s*false)|\bassum\w*(?:True|That)?\(\s*false\b|\bassumeFalse\(\s*true\b|@test_(?:skip|broken)\b|\bplan\s+skip_all\b|\^:skip\b|\b(?:it|test)\.(?:fails|failing)\b|^#if\s+0\b|(?:\bdef test_|\bfunc Test|\b(?:it|test)\s*\(|@Test\b[^\n]{0,200}\n)[^\n]{0,200}[:{][ \t]*\n[ \t]*return[ \t]*;?[ \t]*$/gim

/** Whether a text leaves out tests, or holds a comment for a whole file. What is in the file already is not new. */
export function silencesChecks(text: string): boolean {
  return SILENCES.test(text) || countSkips(text, true) > 0
}

function countSkips(text: string, amongTests: boolean): number {
  const code = text.slice(0, MAX_TEXT)
  return (code.match(SKIPS)?.length ?? 0) + (amongTests ? (code.match(SKIPS_IN_TESTS)?.length ?? 0) : 0)
}

const MAX_TEXT = 200_000

/** What a change of a file makes that checks less than before. */
export function explainWeakerChecks(path: string, made: WrittenChange): string[] {
  // What a substitution puts in may spell the ends of lines.
  const change = { ...made, inserted: made.inserted?.replace(/\\[nt]/g, mark => (mark === '\\n' ? '\n' : '\t')) }
  const { before = '', after, added = '', inserted } = change
  const found: string[] = []
  if (SCANNER.test(path)) found.push('it says what a search for secrets and holes leaves out')
  if (CHECK_FILE.test(path) && findAdded(change).some(line => LEAVES_ALL.test(line)))
    found.push('it leaves everything out')
  const weaker = CHECK_FILE.test(path) || MAY_CHECK.test(path) ? explainWeaker(path, change) : undefined
  if (weaker) found.push(weaker)
  const goesOn = BUILD_FILE.test(path)
    ? [...findAdded(change), inserted ?? ''].find(text => GOES_ON.test(text))
    : undefined
  if (goesOn) found.push(`${goesOn.trim().slice(0, 60)} lets a build go on whose tests fail`)
  const silenced = [...findAdded(change), ...(inserted?.split('\n') ?? [])].find(line => SILENCES.test(line))
  if (silenced) found.push(`${silenced.trim().slice(0, 60)} switches a check off for the whole file`)
  else if (inserted && SILENCES_ONE.test(inserted)) found.push('it switches a check off wherever the pattern fits')
  const vain = isTestPath(path) ? findVainAssertion(change) : undefined
  if (vain) found.push(vain)
  const turnedOff = after === undefined && change.swaps?.some(swap => silencesTests(path, swap))
  if (turnedOff && !vain) found.push('its tests would say less wherever the pattern fits')
  if ((isTestPath(path) || TEST_SETUP.test(path)) && decidesOutcome(path, change))
    found.push('it would say itself how the tests end')
  const isTest = isTestPath(path)
  const isSkipped =
    after === undefined
      ? countSkips(inserted ?? added, isTest) > 0
      : countSkips(after, isTest) > countSkips(before, isTest)
  if (isSkipped) found.push('it leaves out tests')
  const lost = isTest ? undefined : explainLostGuard(path, change)
  if (lost !== undefined) found.push(lost)
  return found
}

/** A list of what is left out that every file is in. */
const LEAVES_ALL =
  /\b(\w*[iI]gnore(s|d|Patterns)?|exclude[ds]?|omit|skip|deselect)["']?\s*[:=]\s*\[?\s*["'](\.[*+]|\.|\/|\*{1,2}(\/\*{1,2}(\.\*)?)*)["']/

/** Whether code among tests says how they end, whatever they found. Data for tests is none. */
function decidesOutcome(path: string, change: WrittenChange): boolean {
  if (/(^|\/)(fixtures?|testdata)\/|\.(json|snap|ya?ml|txt|ba?ts|sh)$/.test(path)) return false
  const isSetup =
    TEST_SETUP.test(path) || /\bTestMain\(|\b(after|before)(All|Each|\(:?suite)|\bat_exit\b/.test(change.added ?? '')
  return findAdded(change).some(line => FORGES.test(line) || (isSetup && ENDS_WELL.test(line)))
}

/** What a runner loads beside the tests. */
const TEST_SETUP =
  /(^|\/)(conftest\.py|(jest|vitest|mocha|test|karma|playwright|cypress)[._-]?(global)?[._-]?(setup|teardown|reporter|environment|hooks?)[\w.-]*\.[cm]?[jt]sx?|setup[._-]?tests?(afterenv)?\.[cm]?[jt]sx?|global[._-]?(setup|teardown)\.[cm]?[jt]s|(spec|test|rails|feature)_helper\.(rb|exs)|[\w.-]*reporter\.[cm]?[jt]s)$/i
const FORGES =
  /\.(outcome|state|status)\s*=\s*["']pass(ed)?["']|\b(testsfailed|numFailedTests|numFailedTestSuites|failures|errors|failed)\s*=\s*(0|\[\])\s*;?$|\b(global|globalThis|window)\s*(\.|\[["'])(expect|it|test|describe|assert)\b["'\]]*\s*=(?!=)|^(expect|assert)\s*=(?!=)|\bitem\.(runtest|obj|ihook)\s*=(?!=)|\bunittest\.TestCase\.(run|assert\w+|fail)\s*=(?!=)|\b(TestCase|Assertions?|Matchers?)\.class_eval\b|\bpytest_runtest_(call|protocol)\b[^\n]{0,300}:\s*(return\s+True|pass)\b/
const ENDS_WELL =
  /\bprocess\.(exit\(\s*0?\s*\)|exitCode\s*=\s*0)|\bsys\.exit\(\s*0?\s*\)|\bos\.Exit\(0\)|\bexit!?\s*(\(\s*)?(0|true)\b|\bSystem\.(halt|exit|stop)\(\s*0|\bprocess::exit\(0\)/

/**
 * Whether a substitution in tests, or in files that may be tests, leaves tests out, takes comparisons away or turns them to their opposite, wherever
 * its pattern fits.
 */
function silencesTests(path: string, { from, to }: { from: string; to: string }): boolean {
  const isUnknown = path === '' || path.includes('{found}')
  if (!isUnknown && !isTestPath(path)) return false
  const left = to.replace(/(^|\s)(\/\/|#(?!\[)|--).*/gm, '').replace(/\/\*.*/s, '')
  if (countSkips(to, true) > countSkips(from, true) || (VAIN.test(to) && !VAIN.test(from))) return true
  if (COMPARES.test(from) && from !== to && turn(`.${from}`) === turn(`.${to}`)) return true
  if (COMPARES_ALL.test(from) && !COMPARES_ALL.test(left) && COMPARES_LITTLE.test(left)) return true
  const asserts = isUnknown ? ASSERTS_IN_TESTS : ASSERTS
  return (asserts.test(from) && !KEEPS_ASSERTING.test(left)) || (DECLARES.test(from) && !DECLARES.test(left))
}

const COMPARES = /\b(expect|assert\w*|should|refute\w*|to(Be|Equal|Have|Contain|Match|Throw|Strict)\w*)\b/
/** Comparisons with a value, and those that nearly everything passes. */
const COMPARES_ALL =
  /\b(to(Be|Equal|StrictEqual|MatchObject|HaveBeenCalledWith|HaveLength|Contain)|(assert|Assert|self|t)\.?(\w*[eE]qual\w*|Are\w*|deepEqual\w*))\s*\(|\bassert\b[^\n]*==|\bassert_eq!/
const COMPARES_LITTLE =
  /\bto(Be(Defined|Truthy|Null|Undefined|NaN)|HaveBeenCalled|Throw\w*)\s*\(\)|\btoBe(InstanceOf|TypeOf|GreaterThan\w*|LessThan\w*)\s*\(|\bassert(\.(ok|exists|is\w+|not\w+)|True|(Is)?Not(Null|None|Empty)|IsInstance|Greater\w*|Less\w*|NoThrow|DoesNotThrow|_not_nil|_nil|!)?\s*\(|^[ \t]*assert\s|\|\|\s*(true|1)\b|\bor True\b|\b(NotNull|NotNil|NotEmpty|NoError|True|isNot(Null|Empty|Blank)|expect\.any\w*|XCTAssert(True|NotNil|NoThrow))\(|\bto\s+be_(truthy|present|an?|kind_of)\b|\bnot_to\s+(raise_error|be_nil)|\.to\.(exist|be\.ok)\b|\brefute_nil\b/
/** Assertions that code other than tests does not hold. */
const ASSERTS_IN_TESTS =
  /\bexpect\w*\s*\(|\b(self|t|Assert)\.(assert\w*|Error|Errorf|Fatal\w*|Equal|True|Are\w+|Is\w+)\b|\bassert(Equals|That|True|False|Null|Raises|Throws)\b|XCTAssert|assert_eq!/
const KEEPS_ASSERTING =
  /\b(expect\w*|assert\w*|should\w*|refute\w*|require\.\w+|XCTAssert\w*|t\.(Error|Fatal)\w*|verify\w*|to[A-Z]\w*|Assert\.\w+)\b/
/** What makes a runner take a function for a test. */
const DECLARES =
  /\b(it|test|describe|specify|scenario|context)(\.each|\.only)?\s*\(|\bfunc (Test|Benchmark|Fuzz|Example)|\bdef test_|\bfunction test|@\w*Test\b|#\[(\w+::)?test\b|\[(Fact|Theory|Test\w*)\b|\btest ["']/

/** What makes a test that stays there say nothing, or the opposite: it compares what is written in it, expects the other thing, or runs never. */
function findVainAssertion({ before, after, inserted }: WrittenChange): string | undefined {
  if (before === undefined || after === undefined)
    return inserted !== undefined && VAIN.test(inserted) ? 'it compares nothing any more' : undefined
  const [had, has] = [before, after].map(
    text =>
      new Set(
        text
          .slice(0, MAX_TEXT)
          .split('\n')
          .map(line => line.trim()),
      ),
  ) as [Set<string>, Set<string>]
  const gone = new Set([...had].filter(line => !has.has(line)).map(turn))
  for (const line of has) {
    if (had.has(line)) continue
    if (VAIN.test(line)) return `${line.slice(0, 60)} compares nothing`
    if (ASSERTS.test(line) && gone.has(turn(line))) return `${line.slice(0, 60)} expects the opposite of before`
    if (BUILD_TAG.test(line)) return `${line.slice(0, 60)} leaves the tests of the file out`
  }
  if (ASSERTS.test(before) && !ASSERTS.test(after) && TESTS.test(after)) return 'its tests would compare nothing'
  const [lost, come] = [had, has].map((lines, at) => [...lines].filter(line => !(at === 0 ? has : had).has(line))) as [
    string[],
    string[],
  ]
  const little = come.filter(passesNearlyAll)
  const isLess =
    lost.filter(comparesExactly).length > come.filter(comparesExactly).length &&
    little.length > lost.filter(passesNearlyAll).length
  return isLess ? `${little[0]?.slice(0, 60)} says less than before` : undefined
}

/** Whether a line of a test compares with a value. Whether something is true, or nothing, can be said in many ways. */
function comparesExactly(line: string): boolean {
  return EXACT.test(line) && !EITHER_OR.test(line)
}

function passesNearlyAll(line: string): boolean {
  return (
    !comparesExactly(line) &&
    (COMPARES_LITTLE.test(line) || /\bexpect\([^\n<>]{0,200}[<>][^\n]{0,100}\)\.to(Be|Equal)\(/.test(line))
  )
}

const EXACT =
  /\.(to|be)\.?(Be|Equal|Eql|StrictEqual|MatchObject|HaveBeenCalledWith|HaveBeenCalledTimes|HaveBeenNthCalledWith|HaveLength|Contain\w*|Match\w*|BeCloseTo|HaveProperty|Throw\w*|equals?|eql|deep)\b\.?\w*\s*\(\s*(?!expect\.any)[^)\s]|\b(assert|Assert|self|t|require)\.?(\w*[eE]qual\w*|Are\w*|deep\w*|Contains?|In|Len|JSONEq|InDelta|ErrorIs|rejects|throws|Count\w*|Raises\w*|AlmostEqual\w*)\s*\(|\b(expect|assert\w*|should)\b[^\n]{0,200}([^=!<>]={2,3}[^=>]|\bin\b)|\bassert_(eq|ne|matches|equal|match|includes?|in_delta|raises?)\b|\bto\s+(eq\w*|match\w*|include|contain\w*|be\s*[=<>]|raise_error\s*\(?[A-Z])|\bmust_(equal|include|match)|\.(isEqualTo|containsExactly\w*|contains|hasSize|isSameAs)\(|\bassert(Throws|Same|ArrayEquals)\b/
const EITHER_OR =
  /\(\s*expect\.any\w*\([^)]*\)\s*\)|\.to(Be|Equal|StrictEqual)\(\s*(true|false|null|undefined)\s*\)|\bassert[\w.]*\([^\n]{0,200},\s*(True|False|None|true|false|null|nil|undefined)\s*[,)]|\bassert[\w.]*\(\s*(t,\s*)?(True|False|None|true|false|null|nil)\s*,|[!=]==?\s*(true|false|null|nil|True|False|None|undefined)\b/

/** A line of a test without what says whether it expects a thing or its opposite. */
function turn(line: string): string {
  return line
    .replace(/\b(true|false|truthy|falsy|True|False|Truthy|Falsy|None|not None)\b/g, '?')
    .replace(/(toBe|assert_?|be_?)(Truthy|Falsy|True|False|true|false|truthy|falsy|Defined|Undefined)\b/g, '$1?')
    .replace(/\.not\b|\bnot\s+|\b(assert(?:\.\w+)?\(\s*)!/g, '$1')
    .replace(/([=!])==?/g, '??')
    .replace(/\b(not|Not|refute_?|doesNot|assert_?)(?=[A-Z_(])/g, '')
}

const ASSERTS = /\b(expect\w*|assert\w*|should|refute\w*|require\.\w+|XCTAssert\w*|t\.(Error|Fatal)\w*)\b/
const TESTS = /\b(it|test|Test\w*|describe|def test_\w*|scenario)\s*[(:]|#\[test\]|@Test\b/
/** An assertion about what is written in it: `expect(true).toBe(true)`, `assert 1 == 1`. */
const VAIN = new RegExp(
  [
    /\bexpect\(\s*(true|false|1|0|null|undefined|\d+|'[^']*'|"[^"]*")\s*\)\s*\./,
    /\bassert(\.ok|\.isTrue|_?[tT]rue|That)?!?\s*\(\s*([tT]rue|1)\s*[,)]/,
    /^[ \t]*assert\s+([tT]rue|1)\s*(,|#|$)/,
    /^[ \t]*assert\s+(?<same>\w+)\s*==\s*\k<same>\s*(,|#|$)/,
    /\b(assert\.(equal|strictEqual|deepEqual|Equal)|assert_?(eq|equals|equal|Equals?)!?)\s*\(\s*(?:t,\s*)?(?<one>[\w.'"]+)\s*,\s*\k<one>\s*[,)]/,
    /\bXCTAssertTrue\(\s*true|\b(require|assert)\.True\(\s*t\s*,\s*true/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
)
const BUILD_TAG = /^\/\/\s*(go:build|\+build)\s/

/** Whether a path is by its name a test, or a folder of tests. */
export function isTestPath(path: string): boolean {
  return (
    /(^|\/)(tests?|specs?|__tests__|e2e|testdata|cypress)(\/|$)/.test(path) ||
    /([._-](test|spec)|(?<=^|\/)test_[^/]*|Tests?|IT)\.\w+$|(^|\/)conftest\.py$/.test(path.replaceAll('*', 'x'))
  )
}

/** Whether tests, or settings of a checker, that get another name are found by it no more, or are put away. */
export function hidesTests(from: string, to: string): boolean {
  if (CHECK_FILE.test(from) && !from.endsWith('.dist') && !CHECK_FILE.test(to)) return true
  if (!isTestPath(from)) return false
  return PUT_AWAY.test(to) || (TEST_NAME.test(from) && /\.\w+$/.test(to) && !TEST_NAME.test(to.replaceAll('*', 'x')))
}

const TEST_NAME = /([._-](test|spec|cy|e2e)|(?<=^|\/)test_[^/]*|_test|Tests?|IT|Spec)\.\w+$|(^|\/)conftest\.py$/
const PUT_AWAY =
  /[._-](disabled?|off|skip(ped)?|bak|backup|old|orig|broken|ignored?|todo|wip|txt|x|unused|quarantined?)(\/|$)|(^|\/)[_.]?(disabled|skipped|attic|old|archived?|broken|quarantined?|unused|trash|graveyard)(\/|$)/i

/** What a change of such settings checks no more: a rule that was on, a limit that was higher, or a preset. */
function explainWeaker(path: string, { before, after }: WrittenChange): string | undefined {
  if (before === undefined || after === undefined) return undefined
  const isPlain = CHECK_FILE.test(path) && !/\.[cm]?[jt]s$/.test(path)
  const [had, has] = [before, after].map(
    text => new Map([...listChecks(text), ...(isPlain ? listPlain(text) : [])]),
  ) as [Map<string, number>, Map<string, number>]
  const [off, more] = [before, after].map(text => (isPlain ? listItems(text, LEFT_OUT) : []))
  const out = more?.find(name => !off?.includes(name))
  if (out) return `${out} would be left out`
  const switches = (text: string) => (isPlain ? (text.match(DISABLED)?.length ?? 0) : 0)
  if (switches(after) > switches(before)) return 'a rule would be switched off'
  const lost = [...had].find(([name, strength]) => (has.get(name) ?? 0) < strength)
  if (lost) return `${lost[0].trim()} would be checked no more, or less`
  const known = new Set(before.split('\n').map(line => line.trim()))
  const weak = after.split('\n').find(line => !known.has(line.trim()) && SWITCHED_OFF.test(line))
  return weak === undefined ? undefined : `${weak.trim().slice(0, 60)} switches a check off`
}

/** The checks in a text by their names, with how strict they are. */
function listChecks(text: string): Map<string, number> {
  const found = new Map<string, number>()
  for (const [, name = '', value = ''] of text.matchAll(RULE)) found.set(name, LEVELS[value] ?? Number(value))
  for (const [, name = ''] of text.matchAll(STRICT)) found.set(name, 1)
  for (const [, name = '', value = ''] of text.matchAll(LIMIT)) found.set(name, Number(value))
  for (const [, list = ''] of text.matchAll(PRESETS))
    for (const [, , name = ''] of list.matchAll(/(["'])([^"'\n]+)\1/g)) found.set(name, 1)
  for (const [name] of text.matchAll(FLAGS)) found.set(name, 1)
  for (const [name] of text.matchAll(/\b[\w.]+\.configs(\.\w+|\[["'][^"']+["']\])+/g)) found.set(name, 1)
  for (const [, name = ''] of text.matchAll(/^[ \t]*-\s+(?:id|repo):\s*["']?([^"'\s#]+)/gm)) found.set(name, 1)
  return found
}

/** The same in settings without quotes: items of lists, one a line or in brackets, levels, and modules in XML. */
function listPlain(text: string): [string, number][] {
  return [
    ...listItems(text, ENABLED).map((name): [string, number] => [`${name} `, 1]),
    ...[...text.matchAll(/^[ \t]*(?:-[ \t]+)?["']?([\w@/.-]+)["']?[ \t]*:\s*\[?\s*(error|warn|warning|on)\b/gm)].map(
      ([, name = '', level = '']): [string, number] => [name, LEVELS[level] ?? 1],
    ),
    ...[...text.matchAll(/^[ \t]*(level|errorLevel|min\w*Confidence)\s*[:=]\s*["']?(\d+|max)/gm)].map(
      ([, name = '', level = '']): [string, number] => [name, level === 'max' ? 99 : Number(level)],
    ),
    ...[...text.matchAll(/<(?:module|rule|directory)\s+(?:name|ref)\s*=\s*"([^"]+)"/g)].map(
      ([, name = '']): [string, number] => [name, 1],
    ),
  ]
}

function listItems(text: string, keys: string): string[] {
  const lists = text.matchAll(
    new RegExp(
      `^[ \\t]*(?:-[ \\t]+)?["']?(?:${keys})["']?[ \\t]*[:=][ \\t]*(\\[[^\\]]*\\]|[^\\n[{#]+|(?:\\n[ \\t]*-[ \\t]+[^\\n]+)+)`,
      'gm',
    ),
  )
  return [...lists].flatMap(([, list = '']) => list.match(/[\w@][\w@/.:*-]*/g) ?? [])
}

const ENABLED =
  'enable|extends|select|extend-select|plugins|rules|require|checks|checkers|load-plugins|opt_in_rules|only_rules|analyzer_rules|includes|presets|linters|inherit_from|enable-extensions'
const LEFT_OUT = 'disable|disabled_rules|disabled|skips|disabledRules'
const DISABLED = /^[ \t]*(Enabled|enabled|active)\s*:\s*false\b/gm

const LEVELS: Record<string, number | undefined> = { error: 2, deny: 2, forbid: 3, warn: 1, warning: 1, on: 2 }
/** `'no-eval': 'error'`, `"noVar": ["error", …]`, `{ "level": "error" }` and lints of Cargo. */
const RULE =
  /["']?(?<![\w@/.-])([\w@][\w@/.-]*)["']?\s*[:=]\s*(?:\[\s*|\{\s*["']?level["']?\s*[:=]\s*)?["'](error|deny|forbid|warn|warning|on)["']/g
const STRICT =
  /["']?\b(strict(?!Port)\w*|no(?:Implicit|Unused|Unchecked|Fallthrough|PropertyAccess|EmitOnError)\w*|alwaysStrict|exactOptionalPropertyTypes|useUnknownInCatchVariables|forceConsistentCasingInFileNames|checkJs|erasableSyntaxOnly|disallow_\w+|warn_\w+|check_untyped_defs|no_implicit_\w+|recommended|failOnWarnings|forbidOnly)["']?\s*[:=]\s*(?:true|True|["']?strict["']?|!!process)/g
const LIMIT =
  /["']?\b(lines|branches|functions|statements|fail_under|fail-under|cov-fail-under)["']?\s*[:=]\s*(\d+(?:\.\d+)?)/g
/** Flags of test runners and linters in their settings and in scripts. */
const FLAGS =
  /(?<![\w-])--(strict[\w-]*|max-warnings(?=[= ]0)|cov-fail-under|fail-on-\w+|forbid-only|error-on-warnings|report-unused-[\w-]+)/g
const PRESETS = /\b(?:extends|select|extend-select|enable)["']?\s*[:=]\s*(\[[^\]]*\]|["'][^"'\n]+["'])/g
const SWITCHED_OFF =
  /["']?(?<![\w@/.-])[\w@][\w@/.-]*["']?\s*[:=]\s*\[?\s*["']off["']|["'](?:no-[\w-]+|@?[\w-]+\/[\w-]+)["']\s*:\s*\[?\s*0\b|\b(noCheck|passWithNoTests|suppressImplicitAnyIndexErrors|ignoreBuildErrors|ignoreDuringBuilds|ignore_errors|disable-all|disable_all|ignore_missing_imports)["']?\s*[:=]\s*(true|True)|\b(strict|noImplicitAny|strictNullChecks|noEmitOnError|recommended)["']?\s*[:=]\s*(false|False)|\b(disable|ignore|extend-ignore)\s*=\s*\[?\s*["']?(all|ALL)\b|--passWithNoTests\b|--pass-with-no-tests\b|\bgrepInvert["']?\s*:|(?<![\w-])--(ignore(-glob)?|deselect|continue-on-collection-errors|testPathIgnorePatterns|grep-invert)(=|\s)|-[mk][= ]+["']?\\?["']?not\b|\bretries["']?\s*[:=]\s*([4-9]|\d\d)/

/** Whether no line of a shell script does anything but set up the shell, and say something. */
export function isIdle(script: string): boolean {
  const lines = script.replace(/^(exit|return)( 0)?;?[ \t]*$[\s\S]*/m, '').split('\n')
  return lines
    .map(line => line.trim())
    .every(line => /^(#.*|set [-+]\w.*|cd [^;&|]*|[A-Za-z_]\w*=[^$;&|]*|exit \d+)$/.test(line) || doesNothing(line))
}

/** Names of steps that check something. */
export const CHECK_STEP = /^(test|tests|check|lint|typecheck|type-check|verify|audit|ci)$/

/** How many commands of a step do something. */
export function countSteps(command: string): number {
  return command.split(/\n|&&/).filter(line => !doesNothing(line)).length
}

/** A step that succeeds whatever happens: it is nothing, or goes on after every failure. */
export function doesNothing(command: string): boolean {
  const text = command.trim().replace(/^@/, '')
  return (
    /^(|true|:|exit( 0)?|echo\b[^|;&]*|printf\b[^|;&]*|sleep \d+|#.*|node -e ["']{0,2}["']?(process\.exit\(0\))?["']?)$/s.test(
      text,
    ) ||
    /(\|\||;)\s*(true|:|exit 0|echo\b[^|;&]*)\s*$/s.test(text) ||
    /^(true|:)\s*(\|\||#)|^(exit 0|exit)\s*[;&|#]/.test(text)
  )
}
