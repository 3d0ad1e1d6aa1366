import { AppError } from '../base/errors.ts'
import type { AnswerAsk, OpenAsk } from '../domain/api.ts'
import type { EscalationAnswer } from '../domain/escalation.ts'

/** The outcome of an ask: a person's answer, or why there is none. */
export type TerminalReply = { answered: TerminalAnswer } | { unanswered: 'nobody' | 'silence' | 'withdrawn' }

/** How an ask waits at a terminal. */
export interface TerminalWait {
  signal: AbortSignal
  /** After so long without a key press the ask returns `silence`, so that it can be parked. */
  graceMs?: number | undefined
  /** Set for an ask that cannot be parked: it stays open after the silence, and this is called once to report it. */
  unheard?: (() => void) | undefined
}

/**
 * An answer from a terminal, or one given by the number of an escalation. The latter may count always (`always`), or may have been
 * settled elsewhere, by another session that asked the same (`settled`).
 */
type TerminalAnswer = AnswerAsk & Pick<EscalationAnswer, 'always'> & { settled?: true | undefined }

/** How long an ask that cannot be parked waits. This is less than the driver's own hour, which ends in a plain refusal. */
export const PATIENCE_MS = 50 * 60_000

/** Longer than any client needs to open its stream, short enough that a lost client does not delay an agent. */
const ARRIVAL_MS = 10_000

interface PendingAsk {
  ask: OpenAsk
  settle(reply: TerminalReply): void
  /** Somebody is there: the grace period starts again. */
  restartGrace(): void
  /** Nobody is there: the grace period is over. */
  endGrace(): void
}

interface SessionTerminals {
  /** One for each open connection that counts as a person, and for each person who is expected soon. */
  people: Set<symbol>
  /** Each function counts out one expected person. */
  expected: Set<() => void>
  waiting: Map<string, PendingAsk>
}

/**
 * People at terminals, by session. An ask is open here only while somebody is attached who could answer it. When the last person
 * leaves, every open ask returns `nobody`; when nobody presses a key, `silence`. The supervisor then denies or parks it.
 */
export class AttachedTerminals {
  readonly #terminals = new Map<string, SessionTerminals>()
  readonly #patienceMs: number
  readonly #leftListeners: ((session: string) => void)[] = []

  constructor({ patienceMs = PATIENCE_MS }: { patienceMs?: number } = {}) {
    this.#patienceMs = patienceMs
  }

  /** Counts a person in; the returned function counts them out, once. */
  attach(session: string): () => void {
    const leave = this.#enter(session)
    // The expected person is here now.
    const { expected } = this.#terminalsOf(session)
    for (const forget of expected) forget()
    expected.clear()
    this.stir(session)
    return leave
  }

  /** Counts an expected person in while their terminal connects. */
  expect(session: string): () => void {
    const leave = this.#enter(session)
    this.#terminalsOf(session).expected.add(leave)
    setTimeout(leave, ARRIVAL_MS).unref()
    return leave
  }

  /** Registers a listener for every session that its last person leaves. */
  onLeft(listener: (session: string) => void): void {
    this.#leftListeners.push(listener)
  }

  isAttached(session: string): boolean {
    return (this.#terminals.get(session)?.people.size ?? 0) > 0
  }

  /** The sessions with somebody attached. */
  attached(): string[] {
    return [...this.#terminals].filter(([, { people }]) => people.size > 0).map(([session]) => session)
  }

  /** The open asks of a session, oldest first. */
  open(session: string): OpenAsk[] {
    return [...(this.#terminals.get(session)?.waiting.values() ?? [])].map(({ ask }) => ask)
  }

  /** Shows an ask to everybody who is attached and waits for the first answer. */
  ask(session: string, ask: OpenAsk, wait: TerminalWait): Promise<TerminalReply> {
    const { signal } = wait
    if (signal.aborted) return Promise.resolve({ unanswered: 'withdrawn' })
    if (!this.isAttached(session)) return Promise.resolve({ unanswered: 'nobody' })
    const { waiting } = this.#terminalsOf(session)
    return new Promise(resolve => {
      const withdraw = () => settle({ unanswered: 'withdrawn' })
      const grace = this.#startGrace(wait, reply => {
        settle(reply)
        // Nobody is there for the other asks either: the agent need not wait for each in turn.
        if ('unanswered' in reply && reply.unanswered === 'silence') {
          for (const other of [...waiting.values()]) other.endGrace()
        }
      })
      const settle = (reply: TerminalReply) => {
        grace.cancel()
        waiting.delete(ask.ask_id)
        signal.removeEventListener('abort', withdraw)
        this.#removeIfUnused(session)
        resolve(reply)
      }
      signal.addEventListener('abort', withdraw)
      waiting.set(ask.ask_id, { ask, settle, restartGrace: grace.restart, endGrace: grace.expire })
    })
  }

  /** A key was pressed at a terminal of this session: the grace of all its open asks starts anew. */
  stir(session: string): void {
    for (const { restartGrace } of this.#terminals.get(session)?.waiting.values() ?? []) restartGrace()
  }

  /** Adds to an open ask the number that it has got, for those who list asks. */
  number(session: string, askId: string, number: number): void {
    const pending = this.#terminals.get(session)?.waiting.get(askId)
    if (pending) pending.ask = { ...pending.ask, number }
  }

  /** The first answer wins; a later one, or one that does not fit the ask, is refused. */
  answer(session: string, answer: TerminalAnswer): void {
    const pending = this.#terminals.get(session)?.waiting.get(answer.ask_id)
    if (!pending) throw new AppError('ask_unknown', { id: session, ask: answer.ask_id })
    const problem = findAnswerProblem(pending.ask, answer)
    if (problem) throw new AppError('bad_request', { problem })
    pending.settle({ answered: answer })
    // The next ask is shown only now, so it gets its whole grace.
    this.stir(session)
  }

  #startGrace({ graceMs, unheard }: TerminalWait, settle: (reply: TerminalReply) => void) {
    let timers: NodeJS.Timeout[] = []
    let isReported = false
    const expire = () => {
      if (graceMs === undefined) return
      if (!unheard) return settle({ unanswered: 'silence' })
      if (!isReported) unheard()
      isReported = true
    }
    const cancel = () => timers.forEach(clearTimeout)
    const restart = () => {
      cancel()
      const patience = setTimeout(() => settle({ unanswered: 'nobody' }), this.#patienceMs)
      timers = [patience, ...(graceMs === undefined ? [] : [setTimeout(expire, graceMs)])]
      for (const timer of timers) timer.unref()
    }
    restart()
    return { restart, cancel, expire }
  }

  #terminalsOf(session: string): SessionTerminals {
    const terminals = this.#terminals.get(session) ?? { people: new Set(), expected: new Set(), waiting: new Map() }
    this.#terminals.set(session, terminals)
    return terminals
  }

  #enter(session: string): () => void {
    const person = Symbol(session)
    this.#terminalsOf(session).people.add(person)
    return () => this.#leave(session, person)
  }

  #leave(session: string, person: symbol): void {
    const terminals = this.#terminals.get(session)
    if (!terminals?.people.delete(person)) return
    if (terminals.people.size === 0) {
      for (const { settle } of [...terminals.waiting.values()]) settle({ unanswered: 'nobody' })
      for (const listener of this.#leftListeners) listener(session)
    }
    this.#removeIfUnused(session)
  }

  #removeIfUnused(session: string): void {
    const terminals = this.#terminals.get(session)
    if (terminals && terminals.people.size === 0 && terminals.waiting.size === 0) this.#terminals.delete(session)
  }
}

/** A longer text is a document, not an answer; the answer can name a file for the agent to read. */
export const LONGEST_ANSWER_BYTES = 65_536
export const TOO_LONG = 'longer than 64 KB; put it into a file and name that'

/** What is wrong with an answer to this ask, as text for the sender. */
export function findAnswerProblem(ask: OpenAsk, answer: AnswerAsk): string | undefined {
  if (ask.kind === 'permission') {
    return answer.verdict ? undefined : 'verdict: this is a permission, answer allow or deny'
  }
  if (!answer.answers) {
    return answer.verdict === 'deny' ? undefined : 'answers: this is a question, give an answer for each part'
  }
  const unanswered = ask.questions.filter(({ question }) => isBlank(answer.answers?.[question]))
  if (unanswered.length > 0) return `answers: nothing is said to ${JSON.stringify(unanswered[0]?.question)}`
  const bytes = Buffer.byteLength(Object.values(answer.answers).flat().join(''))
  return bytes > LONGEST_ANSWER_BYTES ? `answers: ${TOO_LONG}` : undefined
}

function isBlank(value: string | string[] | undefined): boolean {
  return value === undefined || (typeof value === 'string' ? value.trim() === '' : value.length === 0)
}
