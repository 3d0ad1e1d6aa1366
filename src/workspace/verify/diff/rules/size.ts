import type { Change } from '../change/change.ts'
import { isGenerated } from '../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule } from './rule.ts'

/** A change that is larger than a person said. */
export const sizeRule: DiffRule = (change, { maxChangedLines }) => {
  const findings: DiffFinding[] = change.unread.map(file =>
    block('diff.unread', `${file} is too large to be looked at, or one of too many files.`, { file }),
  )
  const lines = changedLines(change)
  if (maxChangedLines > 0 && lines > maxChangedLines)
    findings.push(
      block(
        'diff.size',
        `${lines} lines were changed, ${maxChangedLines} are allowed: leave out what the task does not need, or say in your report how it can be split.`,
      ),
    )
  return findings
}

/** Lines that came and went, but for what programs write. */
function changedLines({ files }: Change): number {
  let lines = 0
  for (const file of files) if (!isGenerated(file.path)) lines += file.added.length + file.removed.length
  return lines
}
