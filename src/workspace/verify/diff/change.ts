import type { Config } from '../../../domain/config/settings.ts'

/** An added or removed line, with its number in the new or old file. */
export interface DiffLine {
  line: number
  text: string
}

/** One file of a change. A moved file counts as a removed and an added one: names say nothing about content. */
export interface DiffFile {
  /** The path from the top of the repository, with `/`. */
  path: string
  status: 'added' | 'deleted' | 'modified'
  kind: 'text' | 'binary' | 'link' | 'submodule'
  /** The modes as git writes them (`100644`); absent if the file does not exist on that side. */
  oldMode?: string
  newMode?: string
  /** The whole text, without carriage returns; absent if there is none, or if it is too long to be read whole. */
  before?: string
  after?: string
  /** Added and removed lines. */
  added: DiffLine[]
  removed: DiffLine[]
  /** Whether only the parts around the changes were read. */
  isPartial?: true
}

/** The change between two commits, as far as it was read. */
export interface DiffChange {
  files: DiffFile[]
  /** Files that were left out because they are too many or too large. */
  unread: string[]
  /** The text of an unchanged file; undefined if there is none, or it is too long. */
  unchanged: ReadonlyMap<string, string>
}

/** What a person set for the diff rules. */
export interface DiffSettings {
  /** How many lines may be added and removed; 0 for no limit. */
  maxChangedLines: number
  /** Patterns of paths that only a person may change. */
  forbiddenPaths: readonly string[]
  /** Codes of allowed findings, each alone (`path.ci`) or with a pattern of paths (`test.skipped:test/old/**`). */
  allow: readonly string[]
}

type DiffPart = Pick<Config['gates'], 'max_changed_lines' | 'forbidden_paths' | 'allow'>

/** What a person set for the diff rules. */
export function diffSettingsIn({ gates }: { gates: DiffPart }): DiffSettings {
  return { maxChangedLines: gates.max_changed_lines, forbiddenPaths: gates.forbidden_paths, allow: gates.allow }
}

/** Parses the output of `git diff --no-renames --no-color --full-index`. With whole files as context, the texts are whole too. */
export function parseDiff(text: string, { isWhole = true } = {}): DiffFile[] {
  const lines = text.split('\n')
  const files: DiffFile[] = []
  let place = 0
  while (place < lines.length) {
    const header = lines[place] ?? ''
    place += 1
    if (!header.startsWith('diff --git ')) continue
    const file = begin(header)
    if (file === undefined) continue
    files.push(file)
    place = readHeader(file, lines, place)
    place = readHunks(file, lines, place, isWhole)
  }
  return files
}

function begin(header: string): DiffFile | undefined {
  const path = pathOf(header.slice('diff --git '.length))
  return path === undefined ? undefined : { path, status: 'modified', kind: 'text', added: [], removed: [] }
}

/** Both names are the same, since renames are not shown: each is half of the line. */
function pathOf(names: string): string | undefined {
  const half = names.slice(0, (names.length - 1) / 2)
  const path = half.startsWith('"') ? unquoted(half) : half
  return path.startsWith('a/') ? path.slice(2) : undefined
}

/** git quotes unusual names like C: `"a/\303\244.txt"`. */
function unquoted(name: string): string {
  const bytes: number[] = []
  const inner = name.slice(1, -1)
  for (let at = 0; at < inner.length; at++) {
    const octal = /^\\([0-7]{3})/.exec(inner.slice(at, at + 4))?.[1]
    if (octal !== undefined) {
      bytes.push(Number.parseInt(octal, 8))
      at += 3
    } else if (inner[at] === '\\') {
      at += 1
      bytes.push(...Buffer.from(ESCAPES[inner[at] ?? ''] ?? inner[at] ?? ''))
    } else {
      bytes.push(...Buffer.from(inner[at] ?? ''))
    }
  }
  return Buffer.from(bytes).toString('utf8')
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', v: '\v', f: '\f' }

/** The lines between `diff --git` and the first hunk. */
function readHeader(file: DiffFile, lines: readonly string[], from: number): number {
  let place = from
  for (; place < lines.length; place++) {
    const line = lines[place] ?? ''
    if (line.startsWith('diff --git ') || line.startsWith('@@ ')) break
    const [, what, mode] = /^(new file|deleted file|old|new) mode (\d+)$/.exec(line) ?? []
    if (what === 'new file') file.status = 'added'
    if (what === 'deleted file') file.status = 'deleted'
    if (mode !== undefined && (what === 'new file' || what === 'new')) file.newMode = mode
    if (mode !== undefined && (what === 'deleted file' || what === 'old')) file.oldMode = mode
    const same = /^index \S+ (\d+)$/.exec(line)?.[1]
    if (same !== undefined) {
      file.oldMode = same
      file.newMode = same
    }
    if (line.startsWith('Binary files ') || line === 'GIT binary patch') file.kind = 'binary'
  }
  const mode = file.newMode ?? file.oldMode
  if (mode === '160000') file.kind = 'submodule'
  if (mode === '120000') file.kind = 'link'
  return place
}

/** The line counts decide and not the signs: a line of the file may itself look like the beginning of a diff. */
function readHunks(file: DiffFile, lines: readonly string[], from: number, isWhole: boolean): number {
  const before: string[] = []
  const after: string[] = []
  let place = from
  for (;;) {
    const [, oldStart, oldCount = '1', newStart, newCount = '1'] = HUNK.exec(lines[place] ?? '') ?? []
    if (oldStart === undefined || newStart === undefined) break
    place += 1
    const hunk = { old: Number(oldStart), oldLeft: Number(oldCount), new: Number(newStart), newLeft: Number(newCount) }
    for (; place < lines.length && (hunk.oldLeft > 0 || hunk.newLeft > 0); place++)
      readLine(file, lines[place] ?? '', hunk, { before, after })
    while (lines[place]?.startsWith('\\')) place += 1
  }
  if (file.kind === 'text' && isWhole) {
    if (file.status !== 'added') file.before = before.join('\n')
    if (file.status !== 'deleted') file.after = after.join('\n')
  }
  if (!isWhole) file.isPartial = true
  return place
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

interface Hunk {
  old: number
  oldLeft: number
  new: number
  newLeft: number
}

function readLine(file: DiffFile, line: string, hunk: Hunk, texts: { before: string[]; after: string[] }): void {
  const sign = line[0]
  if (sign === '\\') return
  const text = line.slice(1).replace(/\r$/, '')
  if (sign !== '+') {
    texts.before.push(text)
    if (sign === '-') file.removed.push(entry(hunk.old, text))
    hunk.old += 1
    hunk.oldLeft -= 1
  }
  if (sign !== '-') {
    texts.after.push(text)
    if (sign === '+') file.added.push(entry(hunk.new, text))
    hunk.new += 1
    hunk.newLeft -= 1
  }
}

function entry(line: number, text: string): DiffLine {
  return { line, text }
}
