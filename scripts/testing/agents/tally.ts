import { existsSync, readFileSync } from 'node:fs'

/** One point of the contract that a live test has checked, as `test/agents/conformance/point.ts` writes it. */
export interface TallyLine {
  agent: string
  point: string
  /** Whether it holds completely, or deviates exactly as the agent's manifest says. */
  held: 'asserted' | 'degraded'
}

export interface AgentTally {
  asserted: number
  degraded: number
  /** The points of the contract that were checked, completely or partly. */
  points: Set<string>
}

/** The records of live tests, counted for each agent. A point that was checked twice counts once. */
export function readTally(file: string): Map<string, AgentTally> {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  const points = new Map(
    lines.map(line => {
      const one = JSON.parse(line) as TallyLine
      return [`${one.agent} ${one.point}`, one]
    }),
  )
  const agents = new Map<string, AgentTally>()
  for (const { agent, held, point } of points.values()) {
    const tally = agents.get(agent) ?? { asserted: 0, degraded: 0, points: new Set<string>() }
    tally[held] += 1
    tally.points.add(point.replace(/ \(.*$/s, ''))
    agents.set(agent, tally)
  }
  return agents
}

/** The counts as a table. */
export function tallyTable(tallies: Map<string, AgentTally>, supervisor: Record<string, number>): string {
  const rows = [...tallies]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([agent, { asserted, degraded }]) => {
      const least = String(supervisor[agent] ?? 0)
      return `${agent.padEnd(14)} ${String(asserted).padStart(8)} ${String(degraded).padStart(8)} ${least.padStart(8)}\n`
    })
  return ['agent          asserted degraded  at least\n', ...rows].join('')
}

/** The agents that keep fewer points than the committed file says. `all`: every agent in it must have been checked. */
export function fallen(
  tallies: Map<string, AgentTally>,
  supervisor: Record<string, number>,
  { all }: { all: boolean },
): string[] {
  return Object.entries(supervisor).flatMap(([agent, least]) => {
    const tally = tallies.get(agent)
    if (!tally) return all ? [`${agent}: nothing was looked at; ${least} points must hold`] : []
    return tally.asserted < least ? [`${agent}: ${tally.asserted} points hold; ${least} must`] : []
  })
}

/** The points of the contract that were not checked, for each checked agent. */
export function unseen(tallies: Map<string, AgentTally>, contract: readonly string[]): string[] {
  return [...tallies].flatMap(([agent, { points }]) =>
    contract.filter(point => !points.has(point)).map(point => `${agent}: nobody looked at ${point}`),
  )
}
