import { findAdded, type WrittenChange } from './written-text.ts'

// What makes the checks of a project weaker: settings that are less strict, tests that are left out, and comments that switch a check off.

/** Settings of type checkers, linters, test runners and hooks. */
export const CHECK_FILE =
  /(^|\/)(tsconfig[\w.-]*\.json|jsconfig\.json|\.eslintrc(\.\w+)?|eslint\.config\.[cm]?[jt]s|biome\.jsonc?|\.?oxlintrc\.json|\.stylelintrc(\.\w+)?|stylelint\.config\.[cm]?js|\.flake8|\.?ruff\.toml|\.?mypy\.ini|\.?pylintrc|pyrightconfig\.json|pytest\.ini|tox\.ini|\.coveragerc|(jest|vitest|karma|playwright|cypress|nyc|ava|mocha)[\w.-]*\.config\.[cm]?[jt]s|\.mocharc(\.\w+)?|\.nycrc(\.json)?|\.c8rc\.json|\.pre-commit-config\.ya?ml|\.?golangci\.(ya?ml|toml|json)|\.?clippy\.toml|\.rubocop\.yml|phpstan[\w.-]*\.neon(\.dist)?|phpunit\.xml(\.dist)?|\.swiftlint\.yml|detekt\.yml|checkstyle\.xml|\.?commitlint(rc|\.config)(\.\w+)?)$/
/** Files for other things that may hold such settings too. */
const MAY_CHECK = /(^|\/)(package\.json|pyproject\.toml|setup\.cfg|Cargo\.toml|vite\.config\.[cm]?[jt]s)$/

/** Comments that switch a check off for a whole file, and a list of tests that pytest leaves out. Those for one line, or the next, are not meant. */
const SILENCES =
  /@ts-nocheck\b|\/\*\s*(eslint|oxlint|stylelint|tslint)[-:]disable(?!-)\b|\bbiome-ignore-all\b|#\s*(mypy:\s*ignore-errors|pyright:\s*(ignore|basic|off)|pyre-ignore-all-errors|pylint:\s*(skip-file|disable=all)|(flake8|ruff):\s*noqa\s*$|rubocop:disable\s+all\b|shellcheck\s+disable=all)|\/\/\s*nolint(:all)?\s*$|#!\[allow\(|\b(istanbul|c8|v8) ignore file\b|@?phpcs:(ignoreFile|disable)|@phpstan-ignore-file|swiftlint:disable all|markdownlint-disable-file|(^|\s)collect_ignore(_glob)?\s*\+?=/m

/** Tests that are left out whatever happens, and those beside which all others are, in the languages that people write tests in. */
const SKIPS =
  /\b(it|test|tests|describe|context|suite|specify|bench|feature|scenario)(\.(concurrent|sequential|serial|parallel|each|describe|failing))*\.(skip|only|fixme)(\.each\s*[(`]|\s*\(\s*(['"`]|$|\w+\s*,\s*(async\b|\(|function\b)))|(?<![.\w$])(x|f)(it|test|describe|context|specify|scenario)\s*(\(|\.each|\s['"])|@(pytest\.mark\.(skip\b(?!if)|xfail\b(?![^\n]*strict\s*=\s*True))|unittest\.(skip|expectedFailure)\b|Disabled\b|Ignore\b(?!d)|(module)?tag :?skip\b)|\bpytestmark\s*=\s*\[?\s*pytest\.mark\.skip\b(?!if)|\bpytest\.skip\([^)]*allow_module_level|__test__\s*=\s*False|#\[ignore\b|(?<!\bif\b[^\n]*\{\s*)\b[tb]\.Skip(Now|f)?\(|^\s*\/\/\s*(go:build|\+build)\s+ignore\b|\[(Ignore|Explicit)(\(|\])|\bSkip\s*=\s*"|\bmarkTest(Skipped|Incomplete)\(|\bXCTSkip\(/gm

/** Comments that switch a check off at one place. Put in by a substitution they are at many. */
const SILENCES_ONE =
  /@ts-(ignore|expect-error|nocheck)|\b(eslint|oxlint|stylelint|tslint|biome)-(disable|ignore)|#\s*(noqa|nosec|nosem\w*)\b|\btype:\s*ignore|\bpy(right|lint|re):\s*(ignore|disable|fixme)|\bno(lint|sonar|inspection)\b|\bpragma: no (cover|mutate)|\b(istanbul|c8|v8) ignore|@suppress|#!?\[allow\(|\brubocop:disable|shellcheck disable|phpcs:ignore|@phpstan-ignore/i

/** Whether a text leaves out tests, or holds a comment for a whole file. What is in the file already is not new. */
export function silencesChecks(text: string): boolean {
  return SILENCES.test(text) || countSkips(text) > 0
}

function countSkips(text: string): number {
  return text.slice(0, MAX_TEXT).match(SKIPS)?.length ?? 0
}

const MAX_TEXT = 200_000

/** What a change of a file makes that checks less than before. */
export function explainWeakerChecks(path: string, change: WrittenChange): string[] {
  const { before = '', after, added = '', inserted } = change
  const found: string[] = []
  const weaker = CHECK_FILE.test(path) || MAY_CHECK.test(path) ? explainWeaker(change) : undefined
  if (weaker) found.push(weaker)
  const silenced = [...findAdded(change), ...(inserted?.split('\n') ?? [])].find(line => SILENCES.test(line))
  if (silenced) found.push(`${silenced.trim().slice(0, 60)} switches a check off for the whole file`)
  else if (inserted && SILENCES_ONE.test(inserted)) found.push('it switches a check off wherever the pattern fits')
  const isSkipped = after === undefined ? countSkips(inserted ?? added) > 0 : countSkips(after) > countSkips(before)
  if (isSkipped) found.push('it leaves out tests')
  const guard = findLostGuard(change)
  if (guard && !isTestPath(path)) found.push(`${guard} would be gone, which protects it`)
  return found
}

/** Calls in code that compare secrets, or keep attacks and secrets out. */
const GUARDS =
  /\b(timingSafeEqual|compare_digest|ConstantTimeCompare|constant_time_compare|secure_compare|hash_equals|csrf\w*|helmet|rateLimit\w*|verifySignature|requireAuth\w*|isAuthenticated|ensureAuthenticated|authenticateToken|login_required|permission_required|DOMPurify\.sanitize|sanitizeHtml)\s*\(|\b(redact)\s*[:=]|@(login_required|permission_required|PreAuthorize|Secured|csrf_protect)\b/g

/** Whether a text names one. */
export function namesGuard(text: string): boolean {
  return text.search(GUARDS) >= 0
}

/** A guard that a change takes out of a file, or that a program replaces by something else. */
function findLostGuard({ before, after, added, inserted, copied }: WrittenChange): string | undefined {
  const list = (text = '') =>
    [...text.slice(0, MAX_TEXT).matchAll(GUARDS)].map(([name]) => name.replace(/\s*[(:=]$/, ''))
  if (before !== undefined && after !== undefined && !copied) {
    const kept = list(after)
    return list(before).find(name => !kept.includes(name))
  }
  if (after !== undefined || inserted === undefined) return undefined
  const put = list(inserted)
  return list(added?.replaceAll('\\', '')).find(name => !put.includes(name))
}

/** Whether a path is by its name a test, or a folder of tests. */
export function isTestPath(path: string): boolean {
  return (
    /(^|\/)(tests?|specs?|__tests__|e2e|testdata|cypress)(\/|$)/.test(path) ||
    /([._-](test|spec)|(?<=^|\/)test_[^/]*|Tests?|IT)\.\w+$|(^|\/)conftest\.py$/.test(path.replaceAll('*', 'x'))
  )
}

/** What a change of such settings checks no more: a rule that was on, a limit that was higher, or a preset. */
function explainWeaker({ before, after }: WrittenChange): string | undefined {
  if (before === undefined || after === undefined) return undefined
  const [had, has] = [listChecks(before), listChecks(after)]
  const lost = [...had].find(([name, strength]) => (has.get(name) ?? 0) < strength)
  if (lost) return `${lost[0]} would be checked no more, or less`
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
  for (const [name] of text.matchAll(/\b[\w.]+\.configs(\.\w+|\[["'][^"']+["']\])+/g)) found.set(name, 1)
  for (const [, name = ''] of text.matchAll(/^\s*-\s+(?:id|repo):\s*["']?([^"'\s#]+)/gm)) found.set(name, 1)
  return found
}

const LEVELS: Record<string, number | undefined> = { error: 2, deny: 2, forbid: 3, warn: 1, warning: 1, on: 2 }
/** `'no-eval': 'error'`, `"noVar": ["error", …]`, `{ "level": "error" }` and lints of Cargo. */
const RULE =
  /["']?([\w@][\w@/.-]*)["']?\s*[:=]\s*(?:\[\s*|\{\s*["']?level["']?\s*[:=]\s*)?["'](error|deny|forbid|warn|warning|on)["']/g
const STRICT =
  /["']?\b(strict(?!Port)\w*|no(?:Implicit|Unused|Unchecked|Fallthrough|PropertyAccess|EmitOnError)\w*|alwaysStrict|exactOptionalPropertyTypes|useUnknownInCatchVariables|forceConsistentCasingInFileNames|checkJs|erasableSyntaxOnly|disallow_\w+|warn_\w+|check_untyped_defs|no_implicit_\w+|recommended|failOnWarnings|forbidOnly)["']?\s*[:=]\s*(?:true|True|["']?strict["']?|!!process)/g
const LIMIT =
  /["']?\b(lines|branches|functions|statements|fail_under|fail-under|cov-fail-under)["']?\s*[:=]\s*(\d+(?:\.\d+)?)/g
const PRESETS = /\b(?:extends|select|extend-select|enable)["']?\s*[:=]\s*(\[[^\]]*\]|["'][^"'\n]+["'])/g
const SWITCHED_OFF =
  /["']?[\w@][\w@/.-]*["']?\s*[:=]\s*\[?\s*["']off["']|["'](?:no-[\w-]+|@?[\w-]+\/[\w-]+)["']\s*:\s*\[?\s*0\b|\b(noCheck|passWithNoTests|suppressImplicitAnyIndexErrors|ignoreBuildErrors|ignoreDuringBuilds|ignore_errors|disable-all|disable_all|ignore_missing_imports)["']?\s*[:=]\s*(true|True)|\b(strict|noImplicitAny|strictNullChecks|noEmitOnError|recommended)["']?\s*[:=]\s*(false|False)|\b(disable|ignore|extend-ignore)\s*=\s*\[?\s*["']?(all|ALL)\b/
