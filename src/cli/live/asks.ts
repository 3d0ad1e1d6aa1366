import type { OpenAsk } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { nameOfAsk } from '../render/lines/ask-lines.ts'
import { INDENT } from '../render/paint.ts'
import { RemoteError } from '../report.ts'
import type { Person, Reply } from './person.ts'

/** Something to answer, and how it is shown. */
export interface Asked {
  ask: OpenAsk
  /** The call by which we learn that it is settled. */
  callId: string
  lines: string[]
}

interface Open extends Asked {
  gone: AbortController
  /** Nobody answered in time: it waits without an agent, and can be answered here as before. */
  parked: boolean
}

export interface AskDesk extends AsyncDisposable {
  /** Takes note of an event: what was asked is settled, or something is asked, which is then shown as these lines when its turn comes. */
  see(event: StoredEvent, lines: string[]): void
  /** Something that was asked before we came. */
  put(asked: Asked): void
  /** Whether something is still to be answered here, although its session waits without an agent. */
  waits(): boolean
}

export interface DeskOptions {
  person: Person
  /** Shows what is asked right above the prompt; without lines it is let go. */
  pin(lines: string[] | undefined): void
  post(askId: string, reply: Reply): Promise<void>
  /** An answer could not be delivered. */
  tell(error: unknown): void
}

/**
 * Puts what a session asks to a person: one thing at a time, shown whole above its prompt, the rest only counted, so that
 * a key can never answer another thing than the one in sight. What is settled elsewhere (another terminal, the end of the
 * session) is taken away from the person, also in the middle of typing.
 */
export function openAsks({ person, pin, post, tell }: DeskOptions): AskDesk {
  const open: Open[] = []
  let work: Promise<void> | undefined
  let showCurrent = () => {}

  const withdraw = (matches: (entry: Open) => boolean) => {
    const shown = open[0]
    for (const entry of open.filter(matches)) {
      open.splice(open.indexOf(entry), 1)
      entry.gone.abort()
    }
    if (open[0] === shown) showCurrent()
    else pin(undefined)
  }
  const answer = async (current: Open) => {
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
  const put = (asked: Asked) => {
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

function waitingLine(behind: Open[]): string[] {
  const [next] = behind
  if (!next) return []
  const count = behind.length === 1 ? '1 more waits' : `${behind.length} more wait`
  return [`${' '.repeat(INDENT)}(${count}: ${nameOfAsk(next.ask)}${behind.length > 1 ? ', …' : ''})`]
}

/** Of two people who answer at once one is late: that is no error. */
function isSettledElsewhere(error: unknown): boolean {
  return error instanceof RemoteError && (error.code === 'ask_unknown' || error.code === 'escalation_answered')
}
