import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { VerificationResult } from '../../domain/workspace/evidence.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { SessionRow } from '../../store/tables.ts'
import { openProposer } from '../../workspace/merge/pull-request/propose.ts'
import { continueRebase } from '../../workspace/merge/work/continue.ts'
import { keepJudge } from '../../workspace/verify/diff/worker/judge-apart.ts'
import { commitLeftovers } from '../../workspace/verify/tree/commit-leftovers.ts'
import { removePlace } from '../../workspace/worktrees/remove-place.ts'
import type { Floor } from '../floor.ts'
import type { Proposals } from '../proposals/proposals.ts'
import { Landing } from './landing.ts'
import type { Finished, LandingSettings } from './parts.ts'
import { openMergeDesk } from './queues/merge-desk.ts'
import { configOf } from './settings.ts'
import { verifyWork } from './verify-work.ts'
import { isVerified, type Work } from './work.ts'

export interface OpenLanding {
  ask: Proposals['ask']
  agentEnv: Record<string, string>
  wake(): void
  ended(run: string): void
  nudge(session: string): Promise<void>
}

/** Landing over the sessions of a floor: real gates, real git. */
export function openLanding(floor: Floor, { ask, agentEnv, wake, nudge, ended }: OpenLanding): Landing {
  const { store, clock } = floor.parts
  const { log } = floor
  const verifying = { floor, guard: openGuard(), judgeDiff: keepJudge(), ask, envOf }
  const again = new Map<string, AbortController>()
  const merges = openMergeDesk({
    floor,
    settingsOf: ({ session }) => settingsOf(session),
    verifyAgain: (work, place) => verifyAgain(work, place),
    interrupt: task => again.get(task)?.abort(),
    removePlace: async (place, options) => {
      const config = await configOfPlace(place)
      const root = config.worktrees.directory ?? join(floor.prepareParts.places.home, 'worktrees')
      const parts = { store, clock, log, root, env: floor.prepareParts.env, settings: config.worktrees }
      return removePlace(place, parts, options)
    },
    propose: openProposer(floor.prepareParts.env),
    batch: async lane => {
      const [first] = await store.merges.list({ lane, states: ['queued', 'waiting'] })
      return first ? (await configFor(first.project)).merge.batch : 1
    },
  })
  return new Landing({
    ...{ floor, merges, settingsOf, wake, nudge, ended, finishRebase, commit },
    verify: (work, round, signal) => verifyWork(work, { round, signal }, verifying),
    atOnce: Math.max(1, Math.floor(availableParallelism() / 2)),
  })

  async function settingsOf(session: SessionRow): Promise<LandingSettings> {
    const { gates, merge } = await configOf(session, floor.prepareParts)
    const { mode, strategy, review } = merge
    return { rounds: gates.rounds, merge: { mode, strategy, review: review === 'required' } }
  }

  /** What its agent and its run were started with: a run has what other agents need, too. */
  function envOf({ session, task }: Work): Record<string, string> {
    const ofRun = task.run_id === null ? undefined : floor.kept.of(task.run_id)
    const own = floor.kept.of(session.id)
    return ofRun || own ? { ...ofRun, ...own } : agentEnv
  }

  /** On what the queue has made of it; a verification of its own, by number. */
  async function verifyAgain(work: Work, place: Place): Promise<VerificationResult> {
    if (!isVerified(work)) return UNLOOKED
    const round = await store.transaction(async tx => {
      const session = (await store.sessions.get(work.session.id, tx)) ?? work.session
      const landing = { ...work.note, ...session.options.landing }
      const verified = landing.verified + 1
      await store.sessions.update(
        session.id,
        { options: { ...session.options, landing: { ...landing, verified } } },
        tx,
      )
      return verified
    })
    const ending = new AbortController()
    again.set(work.task.id, ending)
    const signal = AbortSignal.any([ending.signal, floor.closing])
    const result = await verifyWork({ ...work, place }, { round, signal }, verifying).finally(() =>
      again.delete(work.task.id),
    )
    // It stays in the queue, and is tried again.
    if ('later' in result) throw new AppError('account_limited', { until: '' })
    return result
  }

  function configFor(project: string) {
    return configOf({ project, options: { project, task: '' } }, floor.prepareParts)
  }

  async function configOfPlace(place: Place) {
    const row = await store.worktrees.get(place)
    return configFor(row?.project ?? place.directory)
  }
}

/** Of work that is not to be verified nobody asks more in the queue either. */
const UNLOOKED: VerificationResult = {
  ...{ status: 'passed', isProven: false, commit: null, tree: null, checks: [], findings: [], next_steps: [] },
}

async function finishRebase({ place }: Work): Promise<Finished> {
  const done = place ? await continueRebase(place) : ({ kind: 'none' } as const)
  switch (done.kind) {
    case 'conflict':
      return { kind: 'conflict', conflict: done.conflict, missing: [] }
    case 'unresolved':
      return { kind: 'conflict', conflict: done.conflict, missing: done.missing }
    case 'broken':
      return { kind: 'broken', why: done.why }
    default:
      return { kind: 'whole' }
  }
}

async function commit({ place, task }: Work): Promise<{ head: string } | { problem: string }> {
  if (!place) return { problem: 'it has no worktree, so there is nothing to merge' }
  const done = await commitLeftovers(place, task.title)
  return done.ok ? { head: done.commit } : { problem: done.finding.text }
}
