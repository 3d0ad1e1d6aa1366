import { AppError } from '../base/errors.ts'
import type { AnswerAsk, OpenAsk } from '../domain/api.ts'
import type { EscalationAnswer } from '../domain/escalation.ts'

/** What came back: a person's answer, or why there is none. */
export type TerminalReply = { answered: TerminalAnswer } | { unanswered: 'nobody' | 'silence' | 'withdrawn' }

/** How an ask waits at a terminal. */
export interface TerminalWait {
  signal: AbortSignal
  /** Nobody has touched a key for so long: the ask comes back as `silence`, so that it can wait without an agent. */
  graceMs?: number | undefined
  /** What cannot wait elsewhere stays open instead, and this is called once, so that somebody hears of it. */
  unheard?: (() => void) | undefined
}

/** An answer from a terminal, or one by number, which may be said to count always, or was settled where the same is asked. */
type TerminalAnswer = AnswerAsk & Pick<EscalationAnswer, 'always'> & { settled?: true | undefined }

/** What cannot wait elsewhere waits this long. Shorter than the driver's own hour, whose end is a plain refusal. */
export const PATIENCE_MS = 50 * 60_000

/** Longer than any client needs to open its stream, short enough that a lost one does not hold an agent up. */
const ARRIVAL_MS = 10_000

interface PendingAsk {
  ask: OpenAsk
  settle(reply: TerminalReply): void
  /** Somebody is there: the time of silence begins anew. */
  stir(): void
  /** Nobody is there. */
  hush(): void
}

interface SessionTerminals {
  /** Open connections that count as a person, and promises to be one soon. */
  people: Set<symbol>
  /** Take back promises to come. */
  expected: Set<() => void>
  waiting: Map<string, PendingAsk>
}

/**
 * People at terminals, by session. An ask lives here only while somebody is attached who could answer it: when the last one
 * leaves, every open ask comes back as `nobody`, and when nobody touches a key as `silence`; the supervisor denies or parks it.
 */
export class AttachedTerminals {
  readonly #desks = new Map<string, SessionTerminals>()
  readonly #patienceMs: number
  readonly #leftListeners: ((session: string) => void)[] = []

  constructor({ patienceMs = PATIENCE_MS }: { patienceMs?: number } = {}) {
    this.#patienceMs = patienceMs
  }

  /** Counts a person in; the returned function counts them out, once. */
  attach(session: string): () => void {
    const leave = this.#enter(session)
    // Whoever was expected is here.
    const { expected } = this.#desk(session)
    for (const forget of expected) forget()
    expected.clear()
    this.stir(session)
    return leave
  }

  /** Counts a person in who has announced to come, while their terminal connects. */
  expect(session: string): () => void {
    const leave = this.#enter(session)
    this.#desk(session).expected.add(leave)
    setTimeout(leave, ARRIVAL_MS).unref()
    return leave
  }

  /** Hears of every session from which the last person goes. */
  onLeft(listener: (session: string) => void): void {
    this.#leftListeners.push(listener)
  }

  isAttached(session: string): boolean {
    return (this.#desks.get(session)?.people.size ?? 0) > 0
  }

  /** The sessions that somebody is attached to. */
  attached(): string[] {
    return [...this.#desks].filter(([, { people }]) => people.size > 0).map(([session]) => session)
  }

  /** What a session asks right now, oldest first. */
  open(session: string): OpenAsk[] {
    return [...(this.#desks.get(session)?.waiting.values() ?? [])].map(({ ask }) => ask)
  }

  /** Puts an ask before whoever is attached and waits for the first answer. */
  ask(session: string, ask: OpenAsk, wait: TerminalWait): Promise<TerminalReply> {
    const { signal } = wait
    if (signal.aborted) return Promise.resolve({ unanswered: 'withdrawn' })
    if (!this.isAttached(session)) return Promise.resolve({ unanswered: 'nobody' })
    const { waiting } = this.#desk(session)
    return new Promise(resolve => {
      const withdraw = () => settle({ unanswered: 'withdrawn' })
      const silence = this.#silence(wait, reply => {
        settle(reply)
        // Whoever is not there for one is there for none: the agent need not wait for each in turn.
        if ('unanswered' in reply && reply.unanswered === 'silence') {
          for (const other of [...waiting.values()]) other.hush()
        }
      })
      const settle = (reply: TerminalReply) => {
        silence.end()
        waiting.delete(ask.ask_id)
        signal.removeEventListener('abort', withdraw)
        this.#tidy(session)
        resolve(reply)
      }
      signal.addEventListener('abort', withdraw)
      waiting.set(ask.ask_id, { ask, settle, stir: silence.begin, hush: silence.pass })
    })
  }

  /** A key was touched at a terminal of this session: whoever is there gets the whole grace again, for all that is open. */
  stir(session: string): void {
    for (const { stir } of this.#desks.get(session)?.waiting.values() ?? []) stir()
  }

  /** Tells those who look what number an open ask has got. */
  number(session: string, askId: string, number: number): void {
    const found = this.#desks.get(session)?.waiting.get(askId)
    if (found) found.ask = { ...found.ask, number }
  }

  /** The first answer wins; a later one, or one that does not fit the ask, is refused. */
  answer(session: string, answer: TerminalAnswer): void {
    const found = this.#desks.get(session)?.waiting.get(answer.ask_id)
    if (!found) throw new AppError('ask_unknown', { id: session, ask: answer.ask_id })
    const problem = findAnswerProblem(found.ask, answer)
    if (problem) throw new AppError('bad_request', { route: `/sessions/${session}/answers`, problem })
    found.settle({ answered: answer })
    // What stood behind it comes into sight only now.
    this.stir(session)
  }

  #silence({ graceMs, unheard }: TerminalWait, settle: (reply: TerminalReply) => void) {
    let timers: NodeJS.Timeout[] = []
    let isToldOf = false
    const pass = () => {
      if (graceMs === undefined) return
      if (!unheard) return settle({ unanswered: 'silence' })
      if (!isToldOf) unheard()
      isToldOf = true
    }
    const end = () => timers.forEach(clearTimeout)
    const begin = () => {
      end()
      const patience = setTimeout(() => settle({ unanswered: 'nobody' }), this.#patienceMs)
      timers = [patience, ...(graceMs === undefined ? [] : [setTimeout(pass, graceMs)])]
      for (const timer of timers) timer.unref()
    }
    begin()
    return { begin, end, pass }
  }

  #desk(session: string): SessionTerminals {
    const desk = this.#desks.get(session) ?? { people: new Set(), expected: new Set(), waiting: new Map() }
    this.#desks.set(session, desk)
    return desk
  }

  #enter(session: string): () => void {
    const person = Symbol(session)
    this.#desk(session).people.add(person)
    return () => this.#leave(session, person)
  }

  #leave(session: string, person: symbol): void {
    const desk = this.#desks.get(session)
    if (!desk?.people.delete(person)) return
    if (desk.people.size === 0) {
      for (const { settle } of [...desk.waiting.values()]) settle({ unanswered: 'nobody' })
      for (const tell of this.#leftListeners) tell(session)
    }
    this.#tidy(session)
  }

  #tidy(session: string): void {
    const desk = this.#desks.get(session)
    if (desk && desk.people.size === 0 && desk.waiting.size === 0) this.#desks.delete(session)
  }
}

/** Longer ones are no answers but documents; the agent can be told where to read one. */
export const LONGEST_ANSWER_BYTES = 65_536
export const TOO_LONG = 'longer than 64 KB; put it into a file and name that'

/** What is wrong with an answer to this ask, in words for whoever sent it. */
export function findAnswerProblem(ask: OpenAsk, answer: AnswerAsk): string | undefined {
  if (ask.kind === 'permission') {
    return answer.verdict ? undefined : 'verdict: this is a permission, answer allow or deny'
  }
  if (!answer.answers) {
    return answer.verdict === 'deny' ? undefined : 'answers: this is a question, give an answer for each part'
  }
  const open = ask.questions.filter(({ question }) => isBlank(answer.answers?.[question]))
  if (open.length > 0) return `answers: nothing is said to ${JSON.stringify(open[0]?.question)}`
  const bytes = Buffer.byteLength(Object.values(answer.answers).flat().join(''))
  return bytes > LONGEST_ANSWER_BYTES ? `answers: ${TOO_LONG}` : undefined
}

function isBlank(value: string | string[] | undefined): boolean {
  return value === undefined || (typeof value === 'string' ? value.trim() === '' : value.length === 0)
}
