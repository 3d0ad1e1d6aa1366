import { dirname } from 'node:path'
import type { GroupOutcome } from './run-group.ts'
import { seconds } from './told.ts'

const SHOWN = 40

/** Where the time of a run went: folders first, then the costliest files. */
export function profileOf(outcomes: GroupOutcome[]): string {
  const files = outcomes.map(one => ({ name: one.group.name, cpuMs: one.verdict?.cpuMs ?? 0, wallMs: one.durationMs }))
  const folders = Map.groupBy(files, ({ name }) => dirname(name).split('/').slice(0, 2).join('/'))
  const perFolder = [...folders].map(([name, members]) => ({
    name: `${name}/ (${members.length})`,
    cpuMs: members.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    wallMs: members.reduce((sum, { wallMs }) => sum + wallMs, 0),
  }))
  const everything = perFolder.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
  return [
    '\nprocessor     wall\n',
    ...byCost(perFolder).map(line),
    '\n',
    ...byCost(files).slice(0, SHOWN).map(line),
    `\n${seconds(everything)} of processor time, without that of daemons which outlived the command that started them\n`,
  ].join('')
}

interface Cost {
  name: string
  cpuMs: number
  wallMs: number
}

function byCost(costs: Cost[]): Cost[] {
  return costs.toSorted((a, b) => b.cpuMs - a.cpuMs)
}

function line({ name, cpuMs, wallMs }: Cost): string {
  return `${seconds(cpuMs).padStart(9)} ${seconds(wallMs).padStart(8)}  ${name}\n`
}
