import { describe } from 'node:test'
import type { Adapter } from './conformance/adapter.ts'
import { askCases } from './conformance/asks.ts'
import { failureCases } from './conformance/failures.ts'
import { processCases } from './conformance/processes.ts'
import { stopCases } from './conformance/stops.ts'
import { turnCases } from './conformance/turns.ts'

/**
 * The contract of `domain/session.ts`, stated once and held against every driver with its real agent. A driver is done when
 * it passes; what only one agent does belongs into that driver's own tests.
 */
export function conformance(name: string, adapter: Adapter): void {
  // Two at a time: most of a case is the agent starting up and waiting.
  describe(`${name} keeps the contract of a session`, { concurrency: 2 }, () => {
    turnCases(adapter)
    askCases(adapter)
    stopCases(adapter)
    failureCases(adapter)
    processCases(adapter)
  })
}
