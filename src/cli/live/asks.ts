import type { AnswerAsk, OpenAsk } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { RemoteError } from '../errors.ts'
import { nameOfAsk } from '../render/ask-lines.ts'
import { cut, INDENT } from '../render/text.ts'

/** What was answered, without the id of the ask. */
export type AskReply = Omit<AnswerAsk, 'ask_id' | 'by' | 'env'> & { by?: string }

/** What the one who is asked gets beside the ask. */
export interface AskContext {
  /** Raised when the ask is withdrawn (somebody else answered, the session ended). */
  signal: AbortSignal
  /** Shows a line under what is asked: a part of the answer, before the rest of it. */
  echo(line: string): void
}

/** Whoever answers what a session asks: somebody at the terminal, or the scripted person of the demo. */
export interface Person {
  /** Nothing when the ask was withdrawn meanwhile. */
  answer(ask: OpenAsk, moment: AskContext): Promise<AskReply | undefined>
}

/** Something to answer, and how it is shown. */
export interface ShownAsk {
  ask: OpenAsk
  /** The call by which we learn that it is settled. */
  callId: string
  lines: string[]
}

interface QueuedAsk extends ShownAsk {
  gone: AbortController
  /** Nobody answered in time: it waits without an agent, and can be answered here as before. */
  parked: boolean
}

export interface AskQueue extends AsyncDisposable {
  /** Takes note of an event: what was asked is settled, or something is asked, which is then shown as these lines when its turn comes. */
  see(event: StoredEvent, lines: string[]): void
  /** Something that was asked before we came. */
  put(asked: ShownAsk): void
  /** Whether something is still to be answered here, although its session waits without an agent. */
  waits(): boolean
}

export interface AskQueueDeps {
  person: Person
  /** Shows what is asked right above the prompt; without lines it is let go. */
  pin(lines: string[] | undefined): void
  post(askId: string, reply: AskReply): Promise<void>
  /** An answer could not be delivered. */
  tell(error: unknown): void
}

/**
 * Puts what a session asks to a person: one thing at a time, shown whole above its prompt, the rest only counted, so that
 * a key can never answer another thing than the one in sight. What is settled elsewhere (another terminal, the end of the
 * session) is taken away from the person, also in the middle of typing.
 */
export function openAskQueue({ person, pin, post, tell }: AskQueueDeps): AskQueue {
  const open: QueuedAsk[] = []
  let work: Promise<void> | undefined
  let showCurrent = () => {}

  const withdraw = (matches: (entry: QueuedAsk) => boolean) => {
    const shown = open[0]
    for (const entry of open.filter(matches)) {
      open.splice(open.indexOf(entry), 1)
      entry.gone.abort()
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
      const reply = await person.answer(current.ask, { signal: current.gone.signal, echo })
      showCurrent = () => {} // answered: it scrolls away, while the answer is on its way
      pin(undefined)
      if (reply) await post(current.ask.ask_id, reply)
    } catch (error) {
      if (!isSettledElsewhere(error)) {
        tell(error)
        // Its session waits however long: it is asked again.
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
    open.push({ ...asked, gone: new AbortController(), parked: false })
    if (work) showCurrent()
    else work = answerOpen()
  }

  /** What the person is reading, or has begun to answer, stays before them. */
  const keep = ({ ask_id, call_id }: { ask_id: string; call_id: string }) => {
    const same = open.find(({ ask }) => ask.ask_id === ask_id)
    if (same) same.parked = true
    else withdraw(entry => entry.callId === call_id)
  }

  return {
    put,
    see(event, lines) {
      if (event.kind === 'permission.asked')
        put({ ask: { ...event.body, kind: 'permission' }, callId: event.body.call_id, lines })
      if (event.kind === 'question.asked')
        put({ ask: { ...event.body, kind: 'question' }, callId: event.body.call_id, lines })
      if (event.kind === 'permission.decided' || event.kind === 'question.answered') {
        withdraw(entry => entry.callId === event.body.call_id)
      }
      if (event.kind === 'question.parked' || event.kind === 'permission.parked') keep(event.body)
      if (event.kind === 'session.ended') withdraw(entry => !entry.parked || event.body.status !== 'waiting_input')
    },
    waits: () => open.some(({ parked }) => parked),
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
  return [`${' '.repeat(INDENT)}(${count}: ${nameOfAsk(next.ask)}${behind.length > 1 ? ', …' : ''})`]
}

/** Of two people who answer at once one is late: that is no error. */
function isSettledElsewhere(error: unknown): boolean {
  return error instanceof RemoteError && (error.code === 'ask_unknown' || error.code === 'escalation_answered')
}

/** An answer to a MEDIUM call counts for the same one later, too; that to another is for this call alone. */
const permissionKeys = (ask: OpenAsk) => {
  const once = ask.kind === 'permission' && ask.risk === 'MEDIUM' ? '' : ' once'
  return `[y] allow${once}  [n] deny  [t] deny and say why  > `
}
/** A name cut shorter than this says nothing. */
const SHORTEST_NAME = 12

/** What a permission is for and the keys that answer it, in so many columns. */
export function permissionPrompt(ask: OpenAsk, width: number): string {
  const keys = permissionKeys(ask)
  const room = Math.max(SHORTEST_NAME, width - keys.length - 2)
  return `${cut(nameOfAsk(ask), room)}  ${keys}`
}

/** Asked after `t`. */
export const REASON_PROMPT = 'Why not? > '

/** Options beyond this have no key of their own: their number is typed. */
const KEYED_OPTIONS = 9

/** Whether one key answers a question. Otherwise a line is typed. */
export function hasOptionKeys({ options }: QuestionItem): boolean {
  return options.length > 0 && options.length <= KEYED_OPTIONS
}

/** The keys that answer a question; with a suggestion, also the one that takes it. */
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
