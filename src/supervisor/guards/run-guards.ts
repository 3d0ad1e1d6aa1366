import type { Request, Verdict } from '../../domain/session.ts'
import type { GuardSettings } from '../settings/guard-settings.ts'
import { Breakers } from './breakers/breakers.ts'
import { ActivityBook } from './watch/activity.ts'
import { MemoryCap } from './watch/memory.ts'

/** Refuses a call, or has nothing to say to it. */
type Refuse = (request: Request) => Promise<Verdict | undefined>

/** The guards of one life of a session. A life that a person began has a fresh allowance. */
export interface RunGuards {
  readonly settings: GuardSettings
  readonly breakers: Breakers
  readonly activity: ActivityBook
  readonly memory: MemoryCap
  /** When the project's files were last looked at for changes. */
  changesSeenAt: number
  /** Asks the breakers before whoever else may refuse a call. */
  before(guard: Refuse): Refuse
}

export function openRunGuards(settings: GuardSettings, now: number): RunGuards {
  const breakers = new Breakers(settings)
  return {
    settings,
    breakers,
    activity: new ActivityBook(now),
    memory: new MemoryCap(settings.maxMemoryBytes),
    changesSeenAt: Date.now(),
    before: guard => async request => breakers.verdict(request) ?? guard(request),
  }
}
