import { describe } from 'node:test'
import type { Adapter } from './conformance/adapter.ts'
import { askCases } from './conformance/asks.ts'
import { failureCases } from './conformance/failures.ts'
import { ownToolCases } from './conformance/own-tools.ts'
import { processCases } from './conformance/processes.ts'
import { stopCases } from './conformance/stops.ts'
import { turnCases } from './conformance/turns.ts'

const GROUPS = {
  turns: turnCases,
  asks: askCases,
  tools: ownToolCases,
  stops: stopCases,
  failures: failureCases,
  processes: processCases,
}
type Group = keyof typeof GROUPS

/**
 * The contract of `domain/session.ts`, stated once and held against every driver with its real agent. Each point holds, or falls
 * short exactly as the agent's manifest says. A driver is done when it passes; what only one agent does belongs into that driver's
 * own tests. An agent that is slow to start may be looked at in several files, some groups in each.
 */
export function conformance(name: string, adapter: Adapter, groups = Object.keys(GROUPS) as Group[]): void {
  // Two at a time: most of a case is the agent starting up and waiting.
  describe(`${name} keeps the contract of a session`, { concurrency: 2 }, () => {
    for (const group of groups) GROUPS[group](adapter)
  })
}
