import { AppError } from '../../base/errors.ts'
import { asksFor } from './asks.ts'
import type { LiveSession, SessionDeps } from './context.ts'
import type { PreparedSession } from './prepare.ts'
import { record } from './record.ts'

/** Somebody in the line. */
interface QueuedEntrant extends QueueEntrant {
  toldNext: boolean
  admit: (leave: (() => void) | undefined) => void
}

/** What somebody waits for. */
export type MissingResource = 'place' | 'allowance' | 'turn'

interface QueueEntrant {
  id: string
  /** How many may run at once, in this one's eyes. */
  max: number
  /** Higher comes first. */
  priority?: number | undefined
  /** Who shares an allowance with it. */
  account?: string | null | undefined
  /** How many of the same account may run, as its allowance stands now. */
  allowed?: (() => number) | undefined
  /** Those of one place of work go in one at a time. One that is over, and only has to leave, is in nobody's way. */
  turn?: { of: string; isOver: () => boolean } | undefined
  /** It must wait: for a place, for its account's allowance, or for its turn. */
  waits: (what: MissingResource) => void
  /** It waits for a place, and will be let in as soon as one leaves. */
  next: () => void
}

/** An allowance grows fresh by the clock alone, which nobody tells of. */
const LOOK_AGAIN_MS = 15_000

/** At most so many sessions run at once; the rest wait by priority and then in the order they came. */
export class AdmissionQueue {
  readonly #line: QueuedEntrant[] = []
  readonly #byAccount = new Map<string, number>()
  readonly #turns = new Map<string, NonNullable<QueueEntrant['turn']>>()
  #inside = 0
  #timer: NodeJS.Timeout | undefined

  /** How many stand in the line. */
  get waiting(): number {
    return this.#line.length
  }

  /** Resolves with the way out when there is a place, or with nothing when the entrant was withdrawn. */
  async enter(entrant: QueueEntrant): Promise<(() => void) | undefined> {
    const lacking = this.#lacks(entrant)
    if (lacking === undefined && !this.#line.some(other => comesBefore(other, entrant) && !this.#isHeldBack(other))) {
      return this.#place(entrant)
    }
    entrant.waits(lacking ?? 'place')
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>()
    const waiting = { ...entrant, toldNext: false, admit: resolve }
    const behind = this.#line.findIndex(other => !comesBefore(other, entrant))
    this.#line.splice(behind < 0 ? this.#line.length : behind, 0, waiting)
    this.look()
    return promise
  }

  /** Takes one out of the line; nothing happens to one that is inside. True where it stood there. */
  withdraw(id: string): boolean {
    const index = this.#line.findIndex(each => each.id === id)
    if (index < 0) return false
    this.#line.splice(index, 1)[0]?.admit(undefined)
    this.look()
    return true
  }

  /** Lets in whoever can enter now. One that lacks something else than a place holds up nobody. */
  look(): void {
    clearTimeout(this.#timer)
    for (const waiting of [...this.#line]) {
      const lacking = this.#lacks(waiting)
      if (lacking === 'allowance' || lacking === 'turn') continue
      if (lacking === 'place') {
        if (!waiting.toldNext) waiting.next()
        waiting.toldNext = true
        break
      }
      this.#line.splice(this.#line.indexOf(waiting), 1)
      waiting.admit(this.#place(waiting))
    }
    if (this.#line.length > 0) this.#timer = setTimeout(() => this.look(), LOOK_AGAIN_MS).unref()
  }

  #lacks(entrant: QueueEntrant): MissingResource | undefined {
    if (this.#lacksTurn(entrant)) return 'turn'
    if (this.#inside >= entrant.max) return 'place'
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

  #place({ account, turn }: QueueEntrant): () => void {
    this.#count(account, 1)
    if (turn) this.#turns.set(turn.of, turn)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#count(account, -1)
      if (turn && this.#turns.get(turn.of) === turn) this.#turns.delete(turn.of)
      this.look()
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

/** Whether one that stands in the line stays before one that comes now. */
function comesBefore(standing: QueueEntrant, coming: QueueEntrant): boolean {
  return (standing.priority ?? 0) >= (coming.priority ?? 0)
}

interface AdmitOptions {
  ready: PreparedSession
  admission: AdmissionQueue
  max: number
  deps: SessionDeps
}

/**
 * Waits for a free place. The session that is next in line gets its agent's process started ahead of time: only while such
 * a one is known is a process kept warm. Nothing comes back when the session was stopped while it waited.
 */
export async function admit(
  live: LiveSession,
  { admission, max, ready, deps }: AdmitOptions,
): Promise<Disposable | undefined> {
  const open = () => ({ ...live.open, asks: asksFor(live, deps) })
  let current = ready
  const bringUpToDate = async () => {
    current = await refreshPreparation(live, current, deps)
  }
  let waited: Promise<void> | undefined
  let warming: Promise<void> | undefined
  await deps.accounts.level(live) // known from here on, so that `allowed` need not wait for it
  if (isCalledOff(live)) return undefined // nobody stands in a line that they have left already
  const leave = await admission.enter({
    id: live.id,
    max,
    priority: live.row.priority,
    account: live.row.account,
    allowed: () => deps.accounts.allowed(live, max),
    turn: turnOf(live),
    waits: what => {
      waited = noteWaiting(live, deps, WAIT_NOTES[what](max)).finally(live.placed.resolve)
    },
    next: () => {
      live.log.info({}, 'next in line, its agent is started ahead of time')
      // A process reads the project's settings when it starts, so they are looked at before it does.
      warming = bringUpToDate().then(
        () => live.driver.warm(open()),
        error => live.log.warn({ error }, 'not started ahead of time'),
      )
    },
  })
  live.placed.resolve()
  await waited
  if (leave && !isCalledOff(live)) {
    if (waited) {
      await warming
      live.renew = bringUpToDate
      await record(live, deps, { events: [], patch: { state: 'starting', status_reason: null } })
    }
    return { [Symbol.dispose]: leave }
  }
  leave?.()
  await warming
  await live.driver.cool(open())
  return undefined
}

/** One more would wait for a place than may: it is refused before anything of it exists. */
export function refuseWhenQueueFull(all: readonly LiveSession[], { maxConcurrent, maxWaiting }: PreparedSession): void {
  const waiting = all.filter(({ row }) => row.state !== 'ended').length - maxConcurrent
  if (waiting < maxWaiting) return
  throw new AppError('line_full', { waiting: Math.max(0, waiting), raised: maxWaiting * 2 || 10 })
}

/** Sessions of runs take turns in a project: a question that is answered must not bring a second agent into it. A worktree has one. */
function turnOf(live: LiveSession): QueueEntrant['turn'] {
  const { project, options } = live.row
  return options.run && !options.place ? { of: project, isOver: () => live.row.state === 'ended' } : undefined
}

/** A person does not want it to begin any more. */
export function isCalledOff({ stopping, pausing }: LiveSession): boolean {
  return stopping !== undefined || pausing === 'person'
}

const WAIT_NOTES = {
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

async function noteWaiting(
  live: LiveSession,
  deps: SessionDeps,
  { reason, text }: { reason: string; text: string },
): Promise<void> {
  const event = { actor: 'daemon', subject: live.id, kind: 'session.noted', body: { text } } as const
  await record(live, deps, { events: [event], patch: { state: 'queued', status_reason: reason } })
}

/**
 * Looks at settings and trust once more for a session that waited in line: a pull or a checkout may have changed the project
 * since. A process that was started for what held before no longer fits, and the driver ends it. What holds now is returned.
 */
async function refreshPreparation(
  live: LiveSession,
  before: PreparedSession,
  deps: SessionDeps,
): Promise<PreparedSession> {
  const cool = () => live.driver.cool({ ...live.open, asks: asksFor(live, deps) })
  const now = await before.again().catch(async error => {
    await cool()
    throw error
  })
  if (now.driver !== live.driver) await cool()
  live.driver = now.driver
  live.open = { ...live.open, ...now.open }
  live.policy = now.policy
  live.heldEnough = now.heldEnough
  live.guard = live.guards.before(now.guard)
  const news = now.notes.filter(text => !before.notes.includes(text))
  const noted = (text: string) => ({
    actor: 'daemon',
    subject: live.id,
    kind: 'session.noted' as const,
    body: { text },
  })
  if (news.length > 0) await record(live, deps, { events: news.map(noted), patch: {} })
  return now
}
