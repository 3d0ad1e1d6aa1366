import { AppError } from '../../base/errors.ts'
import type { Admission, Entrant } from '../admission.ts'
import { asksFor } from '../asks.ts'
import { record } from '../record.ts'
import type { Parts, Run } from '../run.ts'
import type { Preparation } from './preparation.ts'
import { renew } from './renew.ts'

interface AdmitOptions {
  ready: Preparation
  admission: Admission
  max: number
  parts: Parts
}

/**
 * Waits for a free place. The session that is next in line gets its agent's process started ahead of time: only while such
 * a one is known is a process kept warm. Nothing comes back when the session was stopped while it waited.
 */
export async function admit(run: Run, { admission, max, ready, parts }: AdmitOptions): Promise<Disposable | undefined> {
  const open = () => ({ ...run.open, asks: asksFor(run, parts) })
  let current = ready
  const bringUpToDate = async () => {
    current = await renew(run, current, parts)
  }
  let waited: Promise<void> | undefined
  let warming: Promise<void> | undefined
  await parts.accounts.level(run) // known from here on, so that `allowed` need not wait for it
  if (isCalledOff(run)) return undefined // nobody stands in a line that they have left already
  const leave = await admission.enter({
    id: run.id,
    max,
    priority: run.row.priority,
    account: run.row.account,
    allowed: () => parts.accounts.allowed(run, max),
    turn: turnOf(run),
    waits: what => {
      waited = tellWaiting(run, parts, WAITS[what](max)).finally(run.placed.resolve)
    },
    next: () => {
      run.log.info({}, 'next in line, its agent is started ahead of time')
      // A process reads the project's settings when it starts, so they are looked at before it does.
      warming = bringUpToDate().then(
        () => run.driver.warm(open()),
        error => run.log.warn({ error }, 'not started ahead of time'),
      )
    },
  })
  run.placed.resolve()
  await waited
  if (leave && !isCalledOff(run)) {
    if (waited) {
      await warming
      run.renew = bringUpToDate
      await record(run, parts, { events: [], patch: { state: 'starting', status_reason: null } })
    }
    return { [Symbol.dispose]: leave }
  }
  leave?.()
  await warming
  await run.driver.cool(open())
  return undefined
}

/** One more would wait for a place than may: it is refused before anything of it exists. */
export function refuseWhenFull(live: readonly Run[], { maxConcurrent, maxWaiting }: Preparation): void {
  const waiting = live.filter(({ row }) => row.state !== 'ended').length - maxConcurrent
  if (waiting < maxWaiting) return
  throw new AppError('line_full', { waiting: Math.max(0, waiting), raised: maxWaiting * 2 || 10 })
}

/** Sessions of runs take turns in a project: a question that is answered must not bring a second agent into it. A worktree has one. */
function turnOf(run: Run): Entrant['turn'] {
  const { project, options } = run.row
  return options.run && !options.place ? { of: project, isOver: () => run.row.state === 'ended' } : undefined
}

/** A person does not want it to begin any more. */
export function isCalledOff({ stopping, pausing }: Run): boolean {
  return stopping !== undefined || pausing === 'person'
}

const WAITS = {
  place: (max: number) => ({
    reason: 'waits for a free place',
    text: `Waits for a free place: ${max} at once (sessions.max_concurrent).`,
  }),
  turn: () => ({
    reason: 'waits for its turn: another session of a run works in this directory',
    text: 'Waits for its turn: another session of a run works in this directory.',
  }),
  allowance: () => ({
    reason: "waits until the account's allowance is fresh (pcc quota)",
    text: "Waits: the account's allowance is nearly used up, so fewer sessions start (pcc quota).",
  }),
}

async function tellWaiting(run: Run, parts: Parts, { reason, text }: { reason: string; text: string }): Promise<void> {
  const event = { actor: 'daemon', subject: run.id, kind: 'session.noted', body: { text } } as const
  await record(run, parts, { events: [event], patch: { state: 'queued', status_reason: reason } })
}
