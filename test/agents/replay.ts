import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { checkedAsks } from '../../src/agents/checked-asks.ts'
import { ClaudeConversation } from '../../src/agents/claude/conversation.ts'
import { EventQueue } from '../../src/agents/session-output.ts'
import { messageOf } from '../../src/base/errors.ts'
import {
  Answer,
  type Driver,
  Failure,
  type OpenSession,
  type Park,
  Question,
  Request,
  type Session,
  type SessionEvent,
  Verdict,
} from '../../src/domain/session.ts'

const RecordedPark = z.object({ park: z.literal(true), reason: z.string() })

/** Our own lines between the vendor's messages, as `openRecorder` writes them. */
const NoteLine = z.union([
  z.object({ pcc: z.literal('open'), agent: z.string(), resumed: z.boolean() }),
  z.object({ pcc: z.literal('past'), spent: z.unknown() }),
  z.object({ pcc: z.literal('prompt'), text: z.string() }),
  z.object({ pcc: z.literal('pause') }),
  z.object({ pcc: z.literal('interrupt') }),
  z.object({ pcc: z.literal('call'), request: Request }),
  z.object({ pcc: z.literal('gave-up'), request: Request }),
  z.object({
    pcc: z.literal('ask'),
    kind: z.literal('permission'),
    request: Request,
    reply: z.union([RecordedPark, Verdict]),
  }),
  z.object({
    pcc: z.literal('ask'),
    kind: z.literal('question'),
    request: Question,
    reply: z.union([RecordedPark, Answer]),
  }),
  z.object({ pcc: z.literal('ended'), by: z.enum(['owner', 'agent']), failure: Failure.optional() }),
])
export type NoteLine = z.infer<typeof NoteLine>
type AskLine = Extract<NoteLine, { pcc: 'ask' }>

export type RecordedLine = { note: NoteLine } | { message: unknown }

/** One session of a recording. */
interface RecordedSession {
  resumed: boolean
  lines: RecordedLine[]
}

/** Reads a recording; a file that was recorded into several times holds several sessions. */
function readRecording(file: string): RecordedSession[] {
  const sessions: RecordedSession[] = []
  const texts = readFileSync(file, 'utf8').split('\n')
  for (const [at, text] of texts.entries()) {
    if (text.trim() === '') continue
    const line = readLine(text)
    if (!line) throw new Error(`${file}:${at + 1}: is not a line of a recording`)
    if ('note' in line && line.note.pcc === 'open') sessions.push({ resumed: line.note.resumed, lines: [] })
    else sessions.at(-1)?.lines.push(line)
  }
  if (sessions.length === 0) throw new Error(`${file}: holds no recorded session`)
  return sessions
}

function readLine(text: string): RecordedLine | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    if (!('pcc' in value)) return { message: value }
    const note = NoteLine.safeParse(value).data
    return note && { note }
  } catch {
    return undefined
  }
}

/** An ask whose answer differs from the recorded one. */
export interface Difference {
  kind: AskLine['kind']
  callId: string
  recorded: Verdict | Answer | Park
  given: Verdict | Answer | Park
}

export interface ReplayDriver extends Driver {
  /** Grows while sessions are played. */
  readonly differences: readonly Difference[]
}

/** Nobody sits at a replay. */
const REPLAY_DEADLINE_MS = 60_000

/**
 * Plays a recording as if the agent ran: the same events, the same asks, nothing executed. The recording goes on after an ask
 * whatever the answer is now; a different answer is kept in `differences`. Each `open` plays the next session of the file, and
 * each `prompt` its next turn.
 */
export function replayDriver(file: string): ReplayDriver {
  const differences: Difference[] = []
  let played = 0
  return {
    agent: 'replay',
    differences,
    open: async open => new ReplaySession(open, () => nthSession(file, played++), differences),
    warm: async () => undefined,
    cool: async () => undefined,
    close: async () => undefined,
  }
}

function nthSession(file: string, at: number): RecordedSession {
  const session = readRecording(file)[at]
  if (!session) throw new Error(`${file}: holds ${at} sessions, and all were played`)
  return session
}

class ReplaySession implements Session {
  readonly id: string
  readonly events = new EventQueue()
  readonly #open: OpenSession
  readonly #differences: Difference[]
  readonly #closed = new AbortController()
  readonly #over: Promise<void>
  readonly #prompts: string[] = []
  #prompted: () => void = () => undefined
  #conversation: ClaudeConversation

  constructor(open: OpenSession, session: () => RecordedSession, differences: Difference[]) {
    this.id = open.id
    this.#open = open
    this.#differences = differences
    this.#conversation = new ClaudeConversation({ resumed: open.resume !== undefined })
    if (open.prompt !== undefined) this.#prompts.push(open.prompt)
    this.#over = this.#play(session)
  }

  get vendorId(): string | undefined {
    return this.#conversation.vendorId
  }

  async prompt(text: string): Promise<void> {
    this.#prompts.push(text)
    this.#prompted()
  }

  /** A replay cannot be stopped early: it stops where the recording did. */
  async pause(): Promise<void> {}
  async interrupt(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
    this.#prompted()
    await this.#over
  }

  async #play(session: () => RecordedSession): Promise<void> {
    try {
      const { resumed, lines } = session()
      this.#conversation = new ClaudeConversation({ resumed })
      for (const line of lines) {
        if (this.#closed.signal.aborted) break
        if ('message' in line) this.#emit(this.#conversation.read(line.message))
        else if (await this.#applyNote(line.note)) return
      }
      await this.#waitForClose()
      this.#emit(this.#conversation.end({ by: 'owner' }))
    } catch (error) {
      this.#emit(this.#conversation.end({ by: 'agent', failure: { kind: 'other', message: messageOf(error) } }))
    }
  }

  /** Applies a note; true when the session is over. */
  async #applyNote(note: NoteLine): Promise<boolean> {
    switch (note.pcc) {
      case 'prompt':
        await this.#nextPrompt()
        this.#conversation.prompted()
        return false
      case 'past':
        this.#conversation.setPast(note.spent)
        return false
      case 'pause':
        this.#conversation.pausing()
        return false
      case 'interrupt':
        this.#conversation.interrupting()
        return false
      case 'call':
        this.#emit(this.#conversation.called(note.request))
        return false
      case 'gave-up':
        this.#conversation.gaveUp(note.request)
        return false
      case 'ask':
        await this.#ask(note)
        return false
      case 'ended':
        if (note.by === 'owner') return false
        this.#emit(this.#conversation.end({ by: 'agent', failure: note.failure }))
        return true
      default:
        return false
    }
  }

  async #ask(line: AskLine): Promise<void> {
    const asks = checkedAsks(this.#open.asks, REPLAY_DEADLINE_MS)
    const { kind, request, reply: recorded } = line
    const { callId } = request
    const given =
      kind === 'permission'
        ? await asks.permission(request, this.#closed.signal)
        : await asks.question(request, this.#closed.signal)
    const isSame = isDeepStrictEqual(decisive(given), decisive(recorded))
    if (!isSame && !this.#closed.signal.aborted) this.#differences.push({ kind, callId, recorded, given })
  }

  async #nextPrompt(): Promise<void> {
    while (this.#prompts.length === 0 && !this.#closed.signal.aborted) {
      await new Promise<void>(resolve => {
        this.#prompted = resolve
      })
    }
    this.#prompts.shift()
  }

  async #waitForClose(): Promise<void> {
    const { signal } = this.#closed
    if (signal.aborted) return
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  }

  #emit(events: SessionEvent[]): void {
    for (const event of events) this.events.push(event)
  }
}

/** The part of a reply that has an effect: reasons and confidence may differ. */
function decisive(reply: Verdict | Answer | Park): unknown {
  if ('park' in reply) return 'park'
  if ('verdict' in reply) return reply.verdict === 'allow' ? 'allow' : 'deny'
  return 'declined' in reply ? 'declined' : reply.answers
}
