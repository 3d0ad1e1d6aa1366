import { describe } from 'node:test'
import type { Adapter } from './conformance/adapter.ts'
import { askCases, failClosedCases, SOON } from './conformance/cases/asks.ts'
import { crashCases, failureCases, startCases } from './conformance/cases/failures.ts'
import { limitCases, refusedForNowCases } from './conformance/cases/limits.ts'
import { OWN_TOOLS, ownToolCases } from './conformance/cases/own-tools.ts'
import { forkCases, parkBatchCases, parkCases, parkQuestionCases } from './conformance/cases/parks.ts'
import {
  closeCases,
  disposeCases,
  environmentCases,
  GIVEN,
  leftoverCases,
  reuseCases,
  warmCases,
} from './conformance/cases/processes.ts'
import { stopCases } from './conformance/cases/stops.ts'
import { capCases, turnCases } from './conformance/cases/turns.ts'
import { type Live, type LiveOptions, liveSuite } from './conformance/live.ts'

interface Shared {
  options: LiveOptions
  /** In order. Cases that end the session come last, because the next case then costs a start. */
  cases: ((live: Live) => void)[]
}

/** Points that are checked in one live session, and its options. The slowest come first. */
const SHARED = {
  'what goes wrong': { options: {}, cases: [refusedForNowCases, failureCases, crashCases] },
  'pause, interrupt and park': { options: {}, cases: [stopCases, parkCases, forkCases] },
  'turns and questions': { options: {}, cases: [turnCases, askCases, parkQuestionCases, disposeCases] },
  'nobody answers in time': { options: { driver: SOON }, cases: [failClosedCases, closeCases] },
  'tools of ours': { options: { open: { ownTools: OWN_TOOLS } }, cases: [ownToolCases] },
  'the limit of a subscription': { options: { login: 'subscription' }, cases: [limitCases, parkBatchCases] },
  'what it is given': { options: { env: GIVEN }, cases: [environmentCases, live => leftoverCases(live, 'auto')] },
  'without a namespace': {
    options: { open: { isolation: 'marker' } },
    cases: [live => leftoverCases(live, 'marker')],
  },
} satisfies Record<string, Shared>
/** Points that need a start of their own. */
const ALONE = [capCases, startCases, warmCases, reuseCases]

type Part = keyof typeof SHARED | 'starts of its own'
const PARTS = [...Object.keys(SHARED), 'starts of its own'] as Part[]

/**
 * The contract of `domain/session.ts`, written once and checked for every driver with its real agent. Each point holds, or falls
 * short exactly as the agent's manifest says. A driver is done when it passes; behaviour of a single agent belongs into that driver's
 * own tests. An agent that is slow to start may be checked in several files, some parts in each.
 */
export function conformance(name: string, adapter: Adapter, parts = PARTS): void {
  // Two at a time: a good part of a case is the agent waiting.
  describe(`${name} keeps the contract of a session`, { concurrency: 2 }, () => {
    for (const part of parts)
      if (part === 'starts of its own') for (const one of ALONE) one(adapter)
      else checkShared(adapter, part)
  })
}

function checkShared(adapter: Adapter, part: keyof typeof SHARED): void {
  const { options, cases }: Shared = SHARED[part]
  liveSuite(adapter, part, options, live => {
    for (const one of cases) one(live)
  })
}
