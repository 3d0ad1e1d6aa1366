import type { Rebuilt } from '../../store/integrity/rebuild.ts'
import { counted } from '../render/format.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { neutral } from '../render/text.ts'
import type { Finding } from './finding.ts'

const LOOKS: Record<Finding['level'], { sign: string; tone: Tone }> = {
  ok: { sign: '✓', tone: 'green' },
  warning: { sign: '!', tone: 'yellow' },
  problem: { sign: '✗', tone: 'red' },
}

/** One line for each finding, and under what is not well how to mend it. */
export function findingLines(findings: Finding[], { paint }: Terminal): string[] {
  const width = Math.max(...findings.map(({ area }) => area.length))
  const lines = findings.flatMap(({ area, level, says, mend }) => {
    const { sign, tone } = LOOKS[level]
    const line = `${paint(tone, sign)} ${area.padEnd(width)}  ${neutral(says)}`
    return mend === undefined ? [line] : [line, `${' '.repeat(width + 4)}${paint('dim', `→ ${neutral(mend)}`)}`]
  })
  return [...lines, '', summary(findings)]
}

/** What a repair came to. */
export function rebuiltLines({ kept, rows, dropped }: Rebuilt): string[] {
  const lost = Object.entries(dropped).map(([table, count]) => `${count} of ${table}`)
  return [
    'The store was damaged and is rebuilt from what could be read:',
    ...Object.entries(rows).map(([table, count]) => `  ${table.padEnd(20)} ${counted(count, 'row')}`),
    ...(lost.length > 0 ? [`Rows that were read but made no sense: ${lost.join(', ')}.`] : []),
    `The damaged file is kept: ${kept}`,
  ]
}

function summary(findings: Finding[]): string {
  const of = (level: Finding['level']) => findings.filter(finding => finding.level === level).length
  if (of('problem') > 0) return `${counted(of('problem'), 'problem')}, ${counted(of('warning'), 'warning')}.`
  return of('warning') > 0 ? `No problem, ${counted(of('warning'), 'warning')}.` : 'All is well.'
}
