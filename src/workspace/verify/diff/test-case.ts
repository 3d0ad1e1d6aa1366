import type { Language } from './file-kind.ts'

/** `always`: nothing can make it run. `elsewhere`: it runs on other machines than this one may be. `condition`: who knows. */
export type Skip = 'always' | 'elsewhere' | 'condition'

/** Something in a test that can make it fail. */
export interface Assertion {
  /** In one spelling: blanks put together, comments taken out. */
  text: string
  line: number
  /** How much of what could be wrong it would see: 0 cannot fail, 1 is there at all, 2 in part, 3 exactly. */
  strength: number
  /** What is compared: the name of the matcher, or the sign. */
  matcher: string
  /** Numbers, texts and words such as `null` that it holds, as written. */
  literals: string[]
  /** Names that it holds, but for those of the test library. */
  words: string[]
  /** How it came that it may not count: caught by the test itself, after a return, under a condition. */
  trouble?: 'swallowed' | 'unreached' | 'guarded'
}

/** One test as its file has it, with all that counts for whether it was made weaker. */
export interface TestCase {
  name: string
  file: string
  line: number
  language: Language
  skip?: Skip
  /** What says so, for the report. */
  skipText?: string
  isFocused: boolean
  /** Without comments, blanks put together. */
  body: string
  assertions: Assertion[]
  /** Rows of its table of cases, as written. */
  cases: string[]
  /** A function that tests call, and no test itself. */
  isHelper: boolean
}

/** What a condition under which a test does not run amounts to, here where the gates run. */
export function skipKind(condition: string): Skip {
  const text = condition.trim().replace(/^\((.*)\)$/s, '$1')
  if (text === '' || /^(!0|!false|not False|1|true|True|["'`].*["'`])$/s.test(text)) return 'always'
  // The gates run with CI set, and so does whoever checks afterwards.
  if (/\bCI\b|CONTINUOUS_INTEGRATION|GITHUB_ACTIONS/.test(text)) return isTurned(text) ? 'condition' : 'always'
  if (/linux|posix/i.test(text) && !/!=|!==|not |!\s*is/i.test(text)) return 'condition'
  return ELSEWHERE.test(text) ? 'elsewhere' : 'condition'
}

/** Machines differ in these; what is left out on one of them runs on another. */
const ELSEWHERE =
  /platform|win32|windows|darwin|macos|linux|posix|GOOS|GOARCH|\barch\b|version|semver|testing\.Short|\bshort\b|which\(|LookPath|existsSync|exists\(|docker|is_available|importorskip|getuid|geteuid|is_root|isRoot|locale|find_spec|has_\w+|hasIntl|HAS_/i

function isTurned(text: string): boolean {
  return /!\s*(process\.env|Boolean)|\bnot\b|==\s*""|===?\s*undefined|is None/.test(text)
}

/** The one that leaves out more. */
export function worseSkip(one: Skip | undefined, other: Skip | undefined): Skip | undefined {
  for (const kind of ['always', 'condition', 'elsewhere'] as const) if (one === kind || other === kind) return kind
  return undefined
}
