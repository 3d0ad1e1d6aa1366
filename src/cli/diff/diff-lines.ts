import type { ChangedFile, TaskDiff } from '../../domain/workspace/landing/work-view.ts'
import { counted } from '../render/format.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { neutral, pad } from '../render/text.ts'

/** A diff as lines, coloured where the terminal shows colours. What it holds cannot move the cursor or disguise itself. */
export function diffLines({ diff = '' }: Pick<TaskDiff, 'diff'>, { paint }: Pick<Terminal, 'paint'>): string[] {
  const lines = diff.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(line => {
    const shown = neutral(line)
    const tone = toneOf(line)
    return tone === undefined ? shown : paint(tone, shown)
  })
}

/** Which files, and how many lines of each. */
export function statLines(
  { files, cut }: Pick<TaskDiff, 'files' | 'cut'>,
  { paint }: Pick<Terminal, 'paint'>,
): string[] {
  const names = files.map(({ path }) => neutral(path))
  const width = Math.min(60, Math.max(0, ...names.map(name => name.length)))
  const lines = files.map((file, index) => {
    const numbers =
      file.added === null ? 'binary' : `${paint('green', `+${file.added}`)} ${paint('red', `-${file.removed}`)}`
    return ` ${pad(names[index] ?? '', width)}  ${numbers}`
  })
  const total = `${counted(files.length, 'file')}, ${counted(sum(files, 'added'), 'line')} added, ${sum(files, 'removed')} removed`
  return [...lines, ` ${files.length === 0 ? 'nothing was changed' : total}`, ...(cut ? [paint('yellow', CUT)] : [])]
}

const CUT = ' It is too long to be shown whole.'

/** Whose it is and where it was found. */
export function diffHeading(
  { task, title, attempt, source, branch, target }: TaskDiff,
  { paint }: Pick<Terminal, 'paint'>,
): string {
  const where = { worktree: `${branch}, not merged`, merged: `merged into ${target}`, archived: 'archived' }[source]
  return `${paint('bold', `${task}  ${neutral(title)}`)} (attempt ${attempt}, ${where})`
}

function sum(files: readonly ChangedFile[], of: 'added' | 'removed'): number {
  return files.reduce((total, file) => total + (file[of] ?? 0), 0)
}

function toneOf(line: string): Tone | undefined {
  if (/^(diff --git|index |--- |\+\+\+ |new file|deleted file|rename |similarity )/.test(line)) return 'bold'
  if (line.startsWith('@@')) return 'cyan'
  if (line.startsWith('+')) return 'green'
  return line.startsWith('-') ? 'red' : undefined
}
