import type { CodePiece } from './code-piece.ts'
import type { Language } from './file-kind.ts'

/** `always`: it is always skipped. `elsewhere`: it is skipped on some machines only. `condition`: it depends on something unknown. */
export type Skip = 'always' | 'elsewhere' | 'condition'

/** An assertion: something in a test that can make it fail. */
export interface Assertion extends CodePiece {
  line: number
  /** How strong it is: 0 cannot fail, 1 checks existence, 2 checks in part, 3 checks exactly. */
  strength: number
  /** The comparison: the name of the matcher, or the operator. */
  matcher: string
  /** Why it may not count: caught by the test itself, after a return, under a condition. */
  trouble?: 'swallowed' | 'unreached' | 'guarded'
}

/** One test of a file, with everything that shows whether it was weakened. */
export interface TestCase {
  name: string
  file: string
  line: number
  language: Language
  skip?: Skip
  /** The text that skips it, for the report. */
  skipText?: string
  isFocused: boolean
  body: CodePiece
  assertions: Assertion[]
  /** The rows of its table of cases. */
  cases: CodePiece[]
  /** What its variables were set to. */
  locals: ReadonlyMap<string, CodePiece>
  /** Values that it takes where something failed: `?? 3`, `.catch(() => 3)`. */
  fallbacks: CodePiece[]
  /** Whether it is a helper function that tests call, and not a test. */
  isHelper: boolean
}

/** What a skip condition means where the gates run. */
export function skipKind(condition: string): Skip {
  const text = condition.trim().replace(/^\((.*)\)$/s, '$1')
  if (text === '' || /^(!0|!false|not False|1|true|True|["'`].*["'`])$/s.test(text)) return 'always'
  // The gates run with CI set, and so do later checks.
  if (/\bCI\b|CONTINUOUS_INTEGRATION|GITHUB_ACTIONS/.test(text)) return isTurned(text) ? 'condition' : 'always'
  if (/linux|posix/i.test(text) && !/!=|!==|not |!\s*is/i.test(text)) return 'condition'
  return ELSEWHERE.test(text) ? 'elsewhere' : 'condition'
}

/** Machines differ in these; a test that is skipped on one of them runs on another. */
const ELSEWHERE =
  /platform|win32|windows|darwin|macos|linux|posix|GOOS|GOARCH|\barch\b|version|semver|testing\.Short|\bshort\b|which\(|LookPath|existsSync|exists\(|docker|is_available|importorskip|getuid|geteuid|is_root|isRoot|locale|find_spec|has_\w+|hasIntl|HAS_|jruby|DisabledOn|EnabledOn|DisabledForJre|EnabledForJre|Requires(Php|Operating)/i

function isTurned(text: string): boolean {
  return /!\s*(process\.env|Boolean)|\bnot\b|==\s*""|===?\s*undefined|is None/.test(text)
}

/** The skip that leaves out more. */
export function worseSkip(one: Skip | undefined, other: Skip | undefined): Skip | undefined {
  for (const kind of ['always', 'condition', 'elsewhere'] as const) if (one === kind || other === kind) return kind
  return undefined
}
