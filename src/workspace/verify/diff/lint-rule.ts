import type { DiffChange, DiffFile } from './change.ts'
import { isDocument, isGenerated, languageOf } from './file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

interface Silencer {
  /** The text that the checker reads, in a comment or an attribute. */
  shape: RegExp
  /** Whether it silences a whole file, or all rules at once. */
  isWide(text: string): boolean
}

/** Comments that tell a checker to be silent. */
const SILENCERS: Silencer[] = [
  {
    shape: /eslint-disable(-next-line|-line)?\b[^\n]*/,
    isWide: text => !/-(next-)?line/.test(text) || /-line\s*(\*\/|$|--)/.test(text),
  },
  { shape: /biome-ignore(-all|-start)?\b[^\n]*/, isWide: text => /-all|-start/.test(text) },
  {
    shape: /(oxlint|tslint|stylelint|jshint|jslint|standard|prettier)[-: ](disable|ignore)\b[^\n]*/,
    isWide: text => !/line/.test(text) && !/prettier/.test(text),
  },
  { shape: /@ts-(ignore|nocheck|expect-error)\b[^\n]*/, isWide: text => /nocheck/.test(text) },
  { shape: /#\s*noqa\b[^\n]*/, isWide: text => !/noqa\s*:\s*[A-Z]+\d+/.test(text) },
  { shape: /#\s*(flake8|ruff)\s*:\s*noqa[^\n]*/, isWide: () => true },
  { shape: /#\s*type:\s*ignore[^\n]*/, isWide: text => !/ignore\[[\w-, ]+\]/.test(text) },
  {
    shape: /#\s*(mypy:\s*ignore-errors|pyright:\s*(ignore|basic)|pylint:\s*(disable|skip-file))[^\n]*/,
    isWide: text => /ignore-errors|skip-file|basic|disable\s*=\s*all/.test(text),
  },
  { shape: /#\s*(nosec|pragma:\s*no\s*cover)\b[^\n]*/, isWide: () => false },
  { shape: /#!\[allow\([^)]*\)\]/, isWide: () => true },
  {
    shape: /#\[(cfg_attr\([^)]*,\s*)?(allow|expect)\([^)]*\)+\]/,
    isWide: text => /\b(warnings|clippy::all|unused|clippy::pedantic)\b/.test(text),
  },
  { shape: /\/\/\s*nolint\b[^\n]*/, isWide: text => !/nolint:\s*[\w,-]+/.test(text) },
  { shape: /\/\/\s*lint:ignore\b[^\n]*/, isWide: () => false },
  {
    shape: /(istanbul|c8|v8|node:coverage)\s+(ignore|disable)\b[^\n]*/,
    isWide: text => /ignore\s+file|disable/.test(text),
  },
  { shape: /(rubocop:disable|@SuppressWarnings|NOSONAR|@phpstan-ignore|coverage:ignore)\b[^\n]*/, isWide: () => false },
]

/** New comments that silence a checker. */
export const lintRule: DiffRule = change => {
  const known = new Map<string, number>()
  for (const file of change.files)
    for (const { text } of file.removed) for (const one of found(text)) count(known, one.key)
  return change.files.flatMap(file => (isLooked(file, change) ? silencersOf(file, known) : []))
}

function isLooked({ path, kind }: DiffFile, _change: DiffChange): boolean {
  return (
    kind === 'text' &&
    !isDocument(path) &&
    !isGenerated(path) &&
    (languageOf(path) !== undefined || /\.(css|scss|rb|php|java|kt)$/.test(path))
  )
}

function silencersOf(file: DiffFile, known: Map<string, number>): DiffFinding[] {
  const findings: DiffFinding[] = []
  for (const { line, text } of file.added)
    for (const one of found(text)) {
      const left = known.get(one.key) ?? 0
      if (left > 0) {
        known.set(one.key, left - 1)
        continue
      }
      const above = file.after?.split('\n')[line - 2] ?? ''
      findings.push(findingOf(one, file, line, hasReason(one, text, above)))
    }
  return findings
}

interface FoundSilencer {
  text: string
  key: string
  isWide: boolean
}

function found(line: string): FoundSilencer[] {
  const isComment = /\/\/|\/\*|#|^\s*\*|<!--|@Suppress/.test(line)
  if (!isComment) return []
  for (const { shape, isWide } of SILENCERS) {
    const text = shape.exec(line)?.[0]
    if (text === undefined || isQuoted(line, text)) continue
    return [
      {
        text,
        key: text
          .replace(/\s+/g, ' ')
          .replace(/\s*\*\/.*$/, '')
          .trim(),
        isWide: isWide(text),
      },
    ]
  }
  return []
}

/** In a string the directive is only mentioned and has no effect. */
function isQuoted(line: string, text: string): boolean {
  const before = line.slice(0, line.indexOf(text))
  return (
    /["'`][^"'`]*$/.test(before.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '')) &&
    /["'`]/.test(line.slice(line.indexOf(text) + 3))
  )
}

/** Whether a rule is named together with a reason why it does not apply. */
function hasReason({ text }: FoundSilencer, line: string, above: string): boolean {
  if (/--\s+\S{3,}|:\s+[^:\s]\S*\s+\S+\s+\S+/.test(text) && !/^#\s*noqa:\s*\w+\s*$/.test(text)) return true
  if (/@ts-(expect-error|ignore)\s*[-:–]*\s*\S+\s+\S+\s+\S+/.test(text)) return true
  if (/reason\s*=\s*"[^"]{5,}"/.test(line)) return true
  if (/nolint:[\w,-]+\s*\/\/\s*\S+\s+\S+/.test(text)) return true
  if (
    /(noqa:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*|ignore\[[\w-, ]+\]|disable\s*=\s*[\w,-]+|no\s*cover|nosec(\s+B\d+)?|\)\])\s*(#|--|-|\/\/)\s*\S+\s+\S+/.test(
      line,
    )
  )
    return true
  return /^\s*(\/\/|#)\s*\S+(\s+\S+){3,}/.test(above) && !/^\s*#\[/.test(above)
}

function findingOf({ text, isWide }: FoundSilencer, file: DiffFile, line: number, hasWhy: boolean): DiffFinding {
  const at = { file: file.path, line }
  const shown = text
    .replace(/\s*(\*\/|-->).*$/, '')
    .slice(0, 80)
    .trim()
  if (isWide)
    return block('lint.disabled', `${file.path} silences a checker about too much (${shown}): fix what it reports.`, at)
  if (hasWhy) return note('lint.disabled', `${file.path} silences a checker and says why: ${shown}`, at)
  return block(
    'lint.disabled',
    `${file.path} silences a checker (${shown}): fix what it reports, or name the rule and the reason.`,
    at,
  )
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
