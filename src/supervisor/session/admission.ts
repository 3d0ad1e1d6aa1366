import { AppError } from '../../base/errors.ts'
import { windowName } from '../../domain/option-values.ts'
import { type QuotaWindow, startsAllowed } from '../../domain/quota.ts'
import { asksFor } from './asks.ts'
import type { LiveSession, SessionDeps } from './context.ts'
import type { PreparedSession } from './prepare.ts'
import { record } from './record.ts'

/** A session that waits in the line. */
interface QueuedEntrant extends QueueEntrant {
  knowsItIsNext: boolean
  admit: (leave: (() => void) | undefined) => void
}

/** What a session waits for. */
export type MissingResource = 'slot' | 'allowance' | 'turn'

interface QueueEntrant {
  id: string
  /** How many sessions may run at once, by this session's settings. */
  max: number
  /** Higher comes first. */
  priority?: number | undefined
  /** Sessions of the same account share an allowance. */
  account?: string | null | undefined
  /** How many sessions of the account may run, as its allowance stands now. */
  allowed?: (() => number) | undefined
  /** Reads again what `allowed` goes by: the settings may have changed, and what was used an hour ago no longer counts. */
  refresh?: (() => Promise<void>) | undefined
  /** Sessions that work in one directory enter one at a time. One that is over and only has to leave does not count. */
  turn?: { of: string; isOver: () => boolean } | undefined
  /** Called when the session must wait: for a slot, for its account's allowance, or for its turn. */
  waits: (what: MissingResource) => void
  /** Called when the session is next: it will be admitted as soon as a slot is free. */
  next: () => void
}

/** An allowance is renewed by the clock alone, without an event, so the line is checked again after this time. */
const CHECK_AGAIN_MS = 15_000

/** Bounds how many sessions run at once; the rest wait by priority and then in the order they came. */
export class AdmissionQueue {
  readonly #line: QueuedEntrant[] = []
  readonly #byAccount = new Map<string, number>()
  readonly #turns = new Map<string, NonNullable<QueueEntrant['turn']>>()
  #inside = 0
  #timer: NodeJS.Timeout | undefined

  /** How many sessions wait in the line. */
  get waiting(): number {
    return this.#line.length
  }

  /** Resolves with a function that gives the slot back, or with undefined when the entrant was withdrawn. */
  async enter(entrant: QueueEntrant): Promise<(() => void) | undefined> {
    const lacking = this.#missingFor(entrant)
    if (lacking === undefined && !this.#line.some(other => comesBefore(other, entrant) && !this.#isHeldBack(other))) {
      return this.#take(entrant)
    }
    entrant.waits(lacking ?? 'slot')
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>()
    const waiting = { ...entrant, knowsItIsNext: false, admit: resolve }
    const behind = this.#line.findIndex(other => !comesBefore(other, entrant))
    this.#line.splice(behind < 0 ? this.#line.length : behind, 0, waiting)
    this.admitReady()
    return promise
  }

  /** Takes a session out of the line and returns true; a session that has its slot already keeps it. */
  withdraw(id: string): boolean {
    const index = this.#line.findIndex(waiting => waiting.id === id)
    if (index < 0) return false
    this.#line.splice(index, 1)[0]?.admit(undefined)
    this.admitReady()
    return true
  }

  /** Admits every session that can enter now. One that waits for its turn or its allowance holds up nobody behind it. */
  admitReady(): void {
    clearTimeout(this.#timer)
    for (const waiting of [...this.#line]) {
      const lacking = this.#missingFor(waiting)
      if (lacking === 'allowance' || lacking === 'turn') continue
      if (lacking === 'slot') {
        if (!waiting.knowsItIsNext) waiting.next()
        waiting.knowsItIsNext = true
        break
      }
      this.#line.splice(this.#line.indexOf(waiting), 1)
      waiting.admit(this.#take(waiting))
    }
    if (this.#line.length > 0) this.#timer = setTimeout(() => void this.#checkAgain(), CHECK_AGAIN_MS).unref()
  }

  async #checkAgain(): Promise<void> {
    const held = this.#line.filter(waiting => this.#lacksAllowance(waiting))
    await Promise.all(held.map(waiting => waiting.refresh?.()))
    this.admitReady()
  }

  #missingFor(entrant: QueueEntrant): MissingResource | undefined {
    if (this.#lacksTurn(entrant)) return 'turn'
    if (this.#inside >= entrant.max) return 'slot'
    return this.#lacksAllowance(entrant) ? 'allowance' : undefined
  }

  #isHeldBack(entrant: QueueEntrant): boolean {
    return this.#lacksTurn(entrant) || this.#lacksAllowance(entrant)
  }

  #lacksTurn({ turn }: QueueEntrant): boolean {
    return turn !== undefined && this.#turns.get(turn.of)?.isOver() === false
  }

  #lacksAllowance({ account, allowed }: QueueEntrant): boolean {
    if (account == null || !allowed) return false
    return (this.#byAccount.get(account) ?? 0) >= allowed()
  }

  #take({ account, turn }: QueueEntrant): () => void {
    this.#count(account, 1)
    if (turn) this.#turns.set(turn.of, turn)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#count(account, -1)
      if (turn && this.#turns.get(turn.of) === turn) this.#turns.delete(turn.of)
      this.admitReady()
    }
  }

  #count(account: string | null | undefined, by: 1 | -1): void {
    this.#inside += by
    if (account == null) return
    const count = (this.#byAccount.get(account) ?? 0) + by
    if (count > 0) this.#byAccount.set(account, count)
    else this.#byAccount.delete(account)
  }
}

/** Whether a session in the line stays ahead of one that arrives now. */
function comesBefore(queued: QueueEntrant, arriving: QueueEntrant): boolean {
  return (queued.priority ?? 0) >= (arriving.priority ?? 0)
}

interface AdmitOptions {
  ready: PreparedSession
  admission: AdmissionQueue
  max: number
  deps: SessionDeps
}

/**
 * Waits for a free slot. The agent's process of the session that is next in line is started ahead of time; no other process
 * is kept warm here. Returns undefined when the session was stopped while it waited.
 */
export async function admit(
  live: LiveSession,
  { admission, max, ready, deps }: AdmitOptions,
): Promise<Disposable | undefined> {
  const open = () => ({ ...live.settings.open, asks: asksFor(live, deps) })
  let current = ready
  const renew = async () => {
    current = await refreshPreparation(live, current, deps)
  }
  let waited: Promise<void> | undefined
  let warming: Promise<void> | undefined
  const quota = await deps.accounts.level(live) // reads the level, so that `allowed` can answer without waiting
  if (isCalledOff(live)) return undefined // the session was stopped or paused before it entered the line
  const leave = await admission.enter({
    id: live.id,
    max,
    priority: live.row.priority,
    account: live.row.account,
    allowed: () => deps.accounts.allowed(live, max),
    refresh: () => refreshQuota(live, current, deps),
    turn: turnOf(live),
    waits: what => {
      const why = what === 'allowance' && startsAllowed(quota.level, max) >= max ? 'trial' : what
      waited = noteWaiting(live, deps, WAIT_NOTES[why](max, quota.fullest)).finally(live.control.admitted.resolve)
    },
    next: () => {
      live.log.info({}, 'next in line, its agent is started ahead of time')
      // A process reads the project's settings when it starts, so they are checked before that.
      warming = renew().then(
        () => live.settings.driver.warm(open()),
        error => live.log.warn({ error }, 'not started ahead of time'),
      )
    },
  })
  live.control.admitted.resolve()
  await waited
  if (leave && !isCalledOff(live)) {
    if (waited) {
      await warming
      live.settings.renew = renew
      await record(live, deps, { events: [], patch: { state: 'starting', status_reason: null } })
    }
    return { [Symbol.dispose]: leave }
  }
  leave?.()
  await warming
  await live.settings.driver.cool(open())
  return undefined
}

/** Refuses a session when too many wait for a slot already, before anything of it exists. */
export function refuseWhenQueueFull(all: readonly LiveSession[], { maxConcurrent, maxWaiting }: PreparedSession): void {
  const waiting = all.filter(({ row }) => row.state !== 'ended').length - maxConcurrent
  if (waiting < maxWaiting) return
  throw new AppError('line_full', { waiting: Math.max(0, waiting), raised: maxWaiting * 2 || 10 })
}

/**
 * Sessions of runs take turns in a project: an answered question must not bring a second agent into it. A worktree has only
 * one session.
 */
function turnOf(live: LiveSession): QueueEntrant['turn'] {
  const { project, options } = live.row
  return options.run && !options.place ? { of: project, isOver: () => live.row.state === 'ended' } : undefined
}

/** Whether a person no longer wants the session to begin. */
export function isCalledOff({ control: { stopping, pausing } }: LiveSession): boolean {
  return stopping !== undefined || pausing === 'person'
}

const WAIT_NOTES = {
  slot: (max: number) => ({
    reason: 'waits for a free slot',
    text: `Waits for a free slot: ${max} at once (sessions.max_concurrent).`,
  }),
  turn: () => ({
    reason: 'waits for its turn: another session of a run works in this directory',
    text: 'Waits for its turn: another session of a run works in this directory.',
  }),
  trial: () => ({
    reason: 'waits until another session has tried the account (pcc quota)',
    text: 'Waits until another session has tried the account, which could not be used at its last use (pcc quota).',
  }),
  allowance: (_max: number, fullest: QuotaWindow | undefined) => ({
    reason: `waits until the account's allowance is fresh: ${describeWindow(fullest)} (pcc quota)`,
    text: `Waits: the account's allowance is nearly used up, so fewer sessions start: ${describeWindow(fullest)} (pcc quota).`,
  }),
}

/** `92% of the 5-hour window is used, until 2026-11-17T04:00:00.000Z` */
function describeWindow(window: QuotaWindow | undefined): string {
  if (!window) return 'it is nearly used up'
  const percent = `${Math.round(window.utilization * 100)}%`
  if (window.source === 'estimate') return `by our own estimate ${percent} of quota.max_tokens_per_hour is used`
  const until = window.resets_at === null ? '' : `, until ${new Date(window.resets_at).toISOString()}`
  return `${percent} of the ${windowName(window.window)} window is used${until}`
}

/** A session that waits for its allowance goes by the settings as they are now. What cannot be read stays as it was. */
async function refreshQuota(live: LiveSession, ready: PreparedSession, deps: SessionDeps): Promise<void> {
  try {
    live.settings.quota = (await ready.prepareAgain()).quota
    await deps.accounts.level(live)
  } catch (error) {
    live.log.debug({ error }, 'its quota settings could not be read again')
  }
}

async function noteWaiting(
  live: LiveSession,
  deps: SessionDeps,
  { reason, text }: { reason: string; text: string },
): Promise<void> {
  const event = { actor: 'daemon', subject: live.id, kind: 'session.noted', body: { text } } as const
  await record(live, deps, { events: [event], patch: { state: 'queued', status_reason: reason } })
}

/**
 * Reads settings and trust again for a session that waited in line: a pull or a checkout may have changed the project since.
 * A process that was started with the old settings no longer fits, and the driver ends it. Returns the new preparation.
 */
async function refreshPreparation(
  live: LiveSession,
  old: PreparedSession,
  deps: SessionDeps,
): Promise<PreparedSession> {
  const cool = () => live.settings.driver.cool({ ...live.settings.open, asks: asksFor(live, deps) })
  const ready = await old.prepareAgain().catch(async error => {
    await cool()
    throw error
  })
  if (ready.driver !== live.settings.driver) await cool()
  live.settings.driver = ready.driver
  live.settings.open = { ...live.settings.open, ...ready.open }
  live.settings.policy = ready.policy
  live.settings.mayRunUnattended = ready.mayRunUnattended
  live.settings.guard = live.meters.guards.before(ready.guard)
  const newNotes = ready.notes.filter(text => !old.notes.includes(text))
  const noteEvent = (text: string) => ({
    actor: 'daemon',
    subject: live.id,
    kind: 'session.noted' as const,
    body: { text },
  })
  if (newNotes.length > 0) await record(live, deps, { events: newNotes.map(noteEvent), patch: {} })
  return ready
}
