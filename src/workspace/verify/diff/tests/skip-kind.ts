import type { Skip } from './test-case.ts'

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
