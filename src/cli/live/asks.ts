import type { AnswerAsk, OpenAsk } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { RemoteError } from '../errors.ts'
import { describeAsk, NOT_WHOLE } from '../render/ask-lines.ts'
import { cut, INDENT } from '../render/text.ts'

/** An answer, without the id of the ask. */
export type AskReply = Omit<AnswerAsk, 'ask_id' | 'by' | 'env'>

/** What a person gets together with the ask. */
export interface AskContext {
  /** Aborted when the ask is withdrawn (somebody else answered, or the session ended). */
  signal: AbortSignal
  /** Shows a line under the ask: one part of an answer, while the other parts are still open. */
  echo(line: string): void
  /** Whether all that is asked for is on the screen. What is not cannot be allowed. */
  whole: boolean
}

/** Answers what a session asks: a person at the terminal, or the scripted person of the demo. */
export interface Person {
  /** Returns `undefined` when the ask was withdrawn meanwhile. */
  answer(ask: OpenAsk, context: AskContext): Promise<AskReply | undefined>
}

/** An open ask and how it is shown. */
export interface ShownAsk {
  ask: OpenAsk
  /** The tool call whose later events settle the ask. */
  callId: string
  lines: string[]
}

interface QueuedAsk extends ShownAsk {
  withdrawal: AbortController
  /** Nobody answered in time: the session waits without an agent, and the ask can still be answered here. */
  parked: boolean
}

export interface AskQueue extends AsyncDisposable {
  /** Applies an event: it settles an ask, or adds one, which is shown as these lines when its turn comes. */
  apply(event: StoredEvent, lines: string[]): void
  /** Adds an ask that was open before the watching began. */
  put(asked: ShownAsk): void
  /** Whether a parked ask is still to be answered here. */
  hasParked(): boolean
}

export interface AskQueueDeps {
  person: Person
  /** Keeps the ask right above the prompt; `undefined` releases it. */
  pin(lines: string[] | undefined): void
  post(askId: string, reply: AskReply): Promise<void>
  /** Reports that an answer could not be delivered. */
  reportFailure(error: unknown): void
}

/**
 * Puts the asks of a session to a person: one at a time, shown in full above its prompt, the others only counted, so that a
 * key can never answer an ask that is not in sight. An ask that is settled elsewhere (another terminal, the end of the
 * session) is taken away from the person, even in the middle of typing.
 */
export function openAskQueue({ person, pin, post, reportFailure }: AskQueueDeps): AskQueue {
  const open: QueuedAsk[] = []
  let work: Promise<void> | undefined
  let showCurrent = () => {}

  const withdraw = (matches: (entry: QueuedAsk) => boolean) => {
    const shown = open[0]
    for (const entry of open.filter(matches)) {
      open.splice(open.indexOf(entry), 1)
      entry.withdrawal.abort()
    }
    if (open[0] === shown) showCurrent()
    else pin(undefined)
  }
  const answer = async (current: QueuedAsk) => {
    const echoed: string[] = []
    showCurrent = () => {
      if (open[0] === current) pin([...current.lines, ...echoed, ...waitingLine(open.slice(1))])
    }
    const echo = (line: string) => {
      echoed.push(line)
      showCurrent()
    }
    showCurrent()
    try {
      const whole = !current.lines.some(line => line.includes(NOT_WHOLE))
      const reply = await person.answer(current.ask, { signal: current.withdrawal.signal, echo, whole })
      showCurrent = () => {} // answered: the ask scrolls away while the answer is sent
      pin(undefined)
      if (reply) await post(current.ask.ask_id, reply)
    } catch (error) {
      if (!isSettledElsewhere(error)) {
        reportFailure(error)
        // The session of a parked ask keeps waiting, so the ask is put to the person again.
        if (current.parked) return
      }
    }
    withdraw(other => other === current)
  }
  const answerOpen = async () => {
    for (let entry = open[0]; entry; entry = open[0]) await answer(entry)
    work = undefined
  }
  const put = (asked: ShownAsk) => {
    if (open.some(entry => entry.ask.ask_id === asked.ask.ask_id)) return
    open.push({ ...asked, withdrawal: new AbortController(), parked: false })
    if (work) showCurrent()
    else work = answerOpen()
  }

  /** A parked ask that the person is reading, or has begun to answer, stays in sight. */
  const markParked = ({ ask_id, call_id }: { ask_id: string; call_id: string }) => {
    const same = open.find(({ ask }) => ask.ask_id === ask_id)
    if (same) same.parked = true
    else withdraw(entry => entry.callId === call_id)
  }

  return {
    put,
    apply(event, lines) {
      if (event.kind === 'permission.asked')
        put({ ask: { ...event.body, kind: 'permission' }, callId: event.body.call_id, lines })
      if (event.kind === 'question.asked')
        put({ ask: { ...event.body, kind: 'question' }, callId: event.body.call_id, lines })
      if (event.kind === 'permission.decided' || event.kind === 'question.answered') {
        withdraw(entry => entry.callId === event.body.call_id)
      }
      if (event.kind === 'question.parked' || event.kind === 'permission.parked') markParked(event.body)
      if (event.kind === 'session.ended') withdraw(entry => !entry.parked || event.body.status !== 'waiting_input')
    },
    hasParked: () => open.some(({ parked }) => parked),
    async [Symbol.asyncDispose]() {
      withdraw(() => true)
      await work
    },
  }
}

function waitingLine(behind: QueuedAsk[]): string[] {
  const [next] = behind
  if (!next) return []
  const count = behind.length === 1 ? '1 more waits' : `${behind.length} more wait`
  return [`${' '.repeat(INDENT)}(${count}: ${describeAsk(next.ask)}${behind.length > 1 ? ', …' : ''})`]
}

/** When two people answer at the same time, the later answer is rejected, which is not an error. */
function isSettledElsewhere(error: unknown): boolean {
  return error instanceof RemoteError && (error.code === 'ask_unknown' || error.code === 'escalation_answered')
}

/** An answer to a MEDIUM call also counts for the same call later; an answer to any other call counts only once. */
const permissionKeys = (ask: OpenAsk, whole: boolean) => {
  const once = ask.kind === 'permission' && ask.risk === 'MEDIUM' ? '' : ' once'
  return `${whole ? `[y] allow${once}  ` : ''}[n] deny  [t] deny and say why  > `
}
/** A name cut shorter than this is meaningless. */
const SHORTEST_NAME = 12

/** The name of the call and the keys that answer it, fitted to the width. */
export function permissionPrompt(ask: OpenAsk, width: number, whole = true): string {
  const keys = permissionKeys(ask, whole)
  const room = Math.max(SHORTEST_NAME, width - keys.length - 2)
  return `${cut(describeAsk(ask), room)}  ${keys}`
}

/** The prompt after `t`. */
export const REASON_PROMPT = 'Why not? > '

/** With more options than this, options have no keys of their own: the number is typed. */
const KEYED_OPTIONS = 9

/** Whether a single key answers the question. Otherwise a line is typed. */
export function hasOptionKeys({ options }: QuestionItem): boolean {
  return options.length > 0 && options.length <= KEYED_OPTIONS
}

/** The keys that answer a question; with a suggestion, also the key that accepts it. */
export function questionKeys(item: QuestionItem, suggested = false): string {
  const { options, multiSelect } = item
  const range = options.length === 1 ? '[1]' : `[1-${options.length}]`
  const accept = suggested ? '[A]ccept brain  ' : ''
  if (hasOptionKeys(item)) {
    return `${accept}${multiSelect ? `${range} Toggle  [Enter] Done` : `${range} Select`}  [T]ype custom  > `
  }
  if (suggested) return `${accept}[T]ype ${options.length > 0 ? `${range} or ` : ''}custom  > `
  return options.length > 0 ? `${range} Select, or type an answer  [Enter] Send  > ` : '[Enter] Send  > '
}
