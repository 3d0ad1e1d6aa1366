import type { OpenAsk } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { RemoteError } from '../report.ts'
import type { Person, Reply } from './person.ts'

interface Open {
  ask: OpenAsk
  callId: string
  gone: AbortController
}

export interface AskDesk extends AsyncDisposable {
  /** Takes note of an event: something is asked, or what was asked is settled. */
  see(event: StoredEvent): void
  /** Something that was asked before we came. */
  put(ask: OpenAsk, callId: string): void
}

export interface DeskOptions {
  person: Person
  post(askId: string, reply: Reply): Promise<void>
  /** An answer could not be delivered. */
  tell(error: unknown): void
}

/**
 * Puts what a session asks to a person, one thing at a time. What is settled elsewhere (another terminal, the end of the
 * session) is taken away from the person, also in the middle of typing.
 */
export function openAsks({ person, post, tell }: DeskOptions): AskDesk {
  const open: Open[] = []
  let work: Promise<void> | undefined

  const withdraw = (matches: (entry: Open) => boolean) => {
    for (const entry of open.filter(matches)) {
      open.splice(open.indexOf(entry), 1)
      entry.gone.abort()
    }
  }
  const answerOpen = async () => {
    for (let entry = open[0]; entry; entry = open[0]) {
      const current = entry
      try {
        const reply = await person.answer(current.ask, current.gone.signal)
        if (reply) await post(current.ask.ask_id, reply)
      } catch (error) {
        if (!isSettledElsewhere(error)) tell(error)
      }
      withdraw(other => other === current)
    }
    work = undefined
  }
  const put = (ask: OpenAsk, callId: string) => {
    if (open.some(entry => entry.ask.ask_id === ask.ask_id)) return
    open.push({ ask, callId, gone: new AbortController() })
    work ??= answerOpen()
  }

  return {
    put,
    see(event) {
      if (event.kind === 'permission.asked') put({ ...event.body, kind: 'permission' }, event.body.call_id)
      if (event.kind === 'question.asked') put({ ...event.body, kind: 'question' }, event.body.call_id)
      if (
        event.kind === 'permission.decided' ||
        event.kind === 'question.answered' ||
        event.kind === 'question.parked'
      ) {
        withdraw(entry => entry.callId === event.body.call_id)
      }
      if (event.kind === 'session.ended') withdraw(() => true)
    },
    async [Symbol.asyncDispose]() {
      withdraw(() => true)
      await work
    },
  }
}

/** Of two people who answer at once one is late: that is no error. */
function isSettledElsewhere(error: unknown): boolean {
  return error instanceof RemoteError && error.code === 'ask_unknown'
}
