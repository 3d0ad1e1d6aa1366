import { INVARIANTS } from './invariants/violation.ts'
import { FAULT_KINDS, FAULTS, type FaultKind } from './plan/fault-kinds.ts'
import type { KeptRound } from './results.ts'

export interface TableData {
  rounds: KeptRound[]
  notRun: { kind: FaultKind; why: string }[]
}

/** A table of the injected faults and the violations. */
export function table({ rounds, notRun }: TableData): string {
  const faults = FAULT_KINDS.map(kind => {
    const why = notRun.find(fault => fault.kind === kind)?.why
    const hits = rounds.flatMap(({ hit }) => hit).filter(text => text.split(' ', 1)[0] === kind).length
    const bad = rounds.filter(({ hit, violations }) => violations.length > 0 && hit.some(text => text.startsWith(kind)))
    return [kind, why === undefined ? String(hits) : `not run: ${why}`, String(bad.length), FAULTS[kind]]
  })
  const broken = Object.entries(INVARIANTS).map(([name, about]) => {
    const count = rounds.flatMap(({ violations }) => violations).filter(text => text.startsWith(`${name}:`)).length
    return [name, String(count), about]
  })
  const sessions = rounds.reduce((sum, round) => sum + round.sessions, 0)
  const bad = rounds.filter(({ violations }) => violations.length > 0).length
  return [
    ...alignColumns([['fault', 'injected', 'bad rounds', ''], ...faults]),
    '',
    ...alignColumns([['promise', 'violations', ''], ...broken]),
    '',
    ...outlivedLine(rounds),
    `${rounds.length} rounds, ${sessions} sessions, ${rounds.flatMap(({ hit }) => hit).length} faults, ${bad} rounds with violations`,
  ].join('\n')
}

function outlivedLine(rounds: KeptRound[]): string[] {
  const measured = rounds.flatMap(({ outlived_ms }) => outlived_ms ?? [])
  if (measured.length === 0) return []
  const worst = (Math.max(...measured) / 1000).toFixed(1)
  return [`agents outlived a killed daemon by ${worst} s at most (${measured.length} rounds; promised: 2 s)`]
}

function alignColumns(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
