import type { TaskWork } from '../../domain/workspace/landing/work-view.ts'
import { counted, duration } from '../render/format.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { firstLine, neutral } from '../render/text.ts'

/** What is known of a task's work: where it lies, how far its merge is, what gates saw of it. */
export function workLines({ task, evidence, merge, worktree, review }: TaskWork, terminal: Terminal): string[] {
  return [
    ...(worktree?.state === 'live' ? [`Worktree: ${neutral(worktree.directory)} (${worktree.branch})`] : []),
    ...(merge
      ? [`Merge: ${merge.state}${merge.reason ? `, ${firstLine(merge.reason)}` : ''} (into ${merge.target})`]
      : []),
    ...(review === null ? [] : [`Waits for you: pcc review ${task}`]),
    ...evidenceLines(evidence, terminal),
  ]
}

type Check = TaskWork['evidence'][number]

const LOOKS: Record<Check['status'], { glyph: string; tone: Tone }> = {
  passed: { glyph: '✓', tone: 'green' },
  flaky: { glyph: '~', tone: 'yellow' },
  failed: { glyph: '✗', tone: 'red' },
  broken: { glyph: '!', tone: 'red' },
  skipped: { glyph: '–', tone: 'dim' },
}

/** What the gates of the newest verification saw, a line each and what they found under it. */
export function evidenceLines(evidence: readonly Check[], { paint }: Pick<Terminal, 'paint'>): string[] {
  const [first] = evidence
  if (!first) return []
  const tree = first.tree === null ? '' : `, tree ${first.tree.slice(0, 10)}`
  return [
    `Evidence (attempt ${first.attempt}, verification ${first.round}${tree}):`,
    ...evidence.flatMap(check => {
      const { glyph, tone } = LOOKS[check.status]
      const found = check.findings.map(({ text, file, line }) => {
        const at = file === undefined ? '' : `${neutral(file)}${line === undefined ? '' : `:${line}`}: `
        return `      ${at}${firstLine(text)}`
      })
      return [`  ${paint(tone, glyph)} ${check.gate}${detailOf(check)}`, ...found]
    }),
  ]
}

function detailOf({ command, exit, duration_ms, cached, status, tests }: Check): string {
  const many = tests === null ? [] : [counted(tests.length, 'test')]
  const parts = [
    ...(command === null ? [] : [neutral(command)]),
    ...(exit === null || exit === 0 ? [] : [`exit ${exit}`]),
    ...many,
    ...(status === 'flaky' ? ['passed when tried again'] : []),
    ...(cached ? ['cached'] : duration_ms >= 1_000 ? [duration(duration_ms)] : []),
  ]
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`
}
